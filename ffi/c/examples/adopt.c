// Hands a buffer of the program in, with a deleter of its own, computes on it in place, and gets it back.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stridewise.h"

static void check(sw_status status) {
  if (status != SW_OK) {
    fprintf(stderr, "adopt: %s\n", sw_last_error());
    exit(EXIT_FAILURE);
  }
}

static void expect(bool holds, const char *what) {
  if (!holds) {
    fprintf(stderr, "adopt: expected %s\n", what);
    exit(EXIT_FAILURE);
  }
}

// Any thread may call this, when nothing needs the buffer any more.
static void give_back(void *pointer, void *context) {
  ++*(int *)context;
  free(pointer);
}

int main(void) {
  enum { ROWS = 3, COLUMNS = 4 };
  // Aligned as the elements are; more is not needed.
  float *buffer = malloc(ROWS * COLUMNS * sizeof *buffer);
  expect(buffer != NULL, "memory");
  for (int i = 0; i < ROWS * COLUMNS; ++i) buffer[i] = (float)i;
  int given_back = 0;

  // The host's queue works on memory of the processor in place.
  sw_queue *queue;
  sw_memory *memory;
  check(sw_queue_host(&queue));
  check(sw_memory_adopt(queue, SW_USM_HOST, buffer, ROWS * COLUMNS * sizeof *buffer, give_back, &given_back, &memory));

  // All of it, and every second column from the last on: the stride is negative, the least offset is 3.
  const int64_t shape[] = {ROWS, COLUMNS}, part[] = {ROWS, 2}, strides[] = {COLUMNS, -2};
  sw_array *whole, *columns;
  check(sw_array_on_memory(memory, SW_FLOAT32, 2, shape, NULL, SW_NONE, &whole));
  check(sw_array_on_memory(memory, SW_FLOAT32, 2, part, strides, 3, &columns));

  // In place, and after each other by events; the buffer itself changes.
  sw_event *doubled, *raised;
  const sw_operand twice[] = {sw_of(whole), sw_real(2.0)};
  check(sw_elementwise_into(SW_OP_MULTIPLY, twice, 2, whole, NULL, 0, &doubled));
  const sw_operand plus[] = {sw_of(columns), sw_real(100.0)};
  sw_event *const depends[] = {doubled};
  check(sw_elementwise_into(SW_OP_ADD, plus, 2, columns, depends, 1, &raised));
  check(sw_event_wait(raised));
  void *address;
  check(sw_memory_export(memory, &address));
  expect(address == buffer, "the same address: nothing is copied");
  const float expected[] = {0, 102, 4, 106, 8, 110, 12, 114, 16, 118, 20, 122};
  expect(memcmp(buffer, expected, sizeof expected) == 0, "the buffer to be changed in place");

  // A view of DLPack on the way out and in again.
  DLManagedTensorVersioned *tensor;
  sw_array *again, *sum;
  double total;
  check(sw_array_to_dlpack(columns, &tensor));
  check(sw_array_from_dlpack(queue, tensor, &again));
  check(sw_array_reduce(again, SW_REDUCE_SUM, NULL, 0, false, &sum));
  check(sw_array_item(sum, &total, NULL));
  printf("%g\n", total);
  expect(total == 672.0, "the sum of the columns");

  // The buffer comes back when the last array on it is gone.
  check(sw_memory_free(memory));
  check(sw_array_free(whole));
  check(sw_array_free(columns));
  expect(given_back == 0, "the buffer to be held by the tensor");
  check(sw_array_free(again));
  check(sw_array_free(sum));
  check(sw_event_free(doubled));
  check(sw_event_free(raised));
  check(sw_queue_wait(queue));
  expect(given_back == 1, "the buffer back");
  check(sw_queue_free(queue));
  return EXIT_SUCCESS;
}
