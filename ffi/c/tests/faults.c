// Every function with null, freed and foreign handles and with null pointers: each answers with an error, and a text, and
// leaves no handle behind.

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stridewise.h"

static int failures = 0;

static void differ(int line, const char *call, sw_status expected, sw_status got) {
  fprintf(stderr, "line %d: %s: expected %s, got %s (%s)\n", line, call, sw_status_name(expected), sw_status_name(got),
          sw_last_error());
  ++failures;
}

#define EXPECT(status, call)                                                         \
  do {                                                                               \
    sw_status got_ = (call);                                                         \
    if (got_ != (status)) differ(__LINE__, #call, (status), got_);                   \
    if ((status) != SW_OK && !*sw_last_error()) differ(__LINE__, #call, (status), got_); \
  } while (0)

#define OK(call) EXPECT(SW_OK, call)
#define VALUE(call) EXPECT(SW_ERROR_VALUE, call)

// A call whose argument is a handle that is null, freed, of another type, and no handle at all.
#define HANDLES(type, freed, call)                                                      \
  do {                                                                                  \
    type *const wrong_[] = {NULL, (freed), (type *)other, (type *)(uintptr_t)12345, (type *)&failures}; \
    for (size_t i_ = 0; i_ < sizeof wrong_ / sizeof *wrong_; ++i_) {                    \
      type *wrong = wrong_[i_];                                                         \
      EXPECT(SW_ERROR_HANDLE, call);                                                    \
    }                                                                                   \
  } while (0)

// A call whose result is a handle: null where the call fails.
#define NONE(result) \
  if (result) differ(__LINE__, #result " is null after a failure", SW_OK, SW_ERROR_HANDLE)

static sw_array *shared_array;

static void *use_from_thread(void *unused) {
  (void)unused;
  for (int i = 0; i < 200; ++i) {
    sw_array *sum = NULL;
    double value = 0.0;
    const sw_operand operands[] = {sw_of(shared_array), sw_integer(i)};
    OK(sw_elementwise(SW_OP_ADD, operands, 2, &sum));
    sw_array *most = NULL;
    OK(sw_array_reduce(sum, SW_REDUCE_MAX, NULL, 0, false, &most));
    OK(sw_array_item(most, &value, NULL));
    if (value != 7.0 + i) differ(__LINE__, "the sum in a thread", SW_OK, SW_ERROR_OTHER);
    OK(sw_array_free(sum));
    OK(sw_array_free(most));
    EXPECT(SW_ERROR_HANDLE, sw_array_free(sum));
    if (!strstr(sw_last_error(), "array")) differ(__LINE__, "a text of this thread", SW_OK, SW_ERROR_OTHER);
  }
  return NULL;
}

int main(void) {
  sw_device *device = NULL, *freed_device = NULL;
  sw_queue *queue = NULL, *freed_queue = NULL;
  sw_event *event = NULL, *freed_event = NULL;
  sw_memory *memory = NULL, *freed_memory = NULL;
  sw_array *array = NULL, *freed_array = NULL, *result = NULL;
  DLManagedTensor *legacy = NULL;
  DLManagedTensorVersioned *tensor = NULL;
  const int64_t shape[] = {2, 3}, negative[] = {-1, 3}, huge[] = {INT64_MAX, INT64_MAX};
  char text[256];
  size_t size = 0;
  double real = 0.0;
  bool equal = false;
  float host[6] = {1, 2, 3, 4, 5, 6};
  sw_usm_kind kind = 0;
  sw_op op = 0;
  sw_event_state state;
  sw_profile profile;
  sw_array_info info;
  void *pointer = NULL;

  if (strcmp(sw_version(), "0.1.0") != 0) differ(__LINE__, "sw_version", SW_OK, SW_ERROR_OTHER);

  OK(sw_device_default(&device));
  OK(sw_device_default(&freed_device));
  OK(sw_device_free(freed_device));
  OK(sw_queue_host(&queue));
  OK(sw_queue_default(&freed_queue));
  OK(sw_queue_free(freed_queue));
  OK(sw_queue_barrier(queue, NULL, 0, &event));
  OK(sw_queue_barrier(queue, NULL, 0, &freed_event));
  OK(sw_event_free(freed_event));
  OK(sw_memory_create(queue, SW_USM_SHARED, 64, 0, &memory));
  OK(sw_memory_create(queue, SW_USM_SHARED, 64, 128, &freed_memory));
  OK(sw_memory_free(freed_memory));
  OK(sw_array_from_host(queue, SW_USM_SHARED, SW_FLOAT32, 2, shape, host, sizeof host, &array));
  OK(sw_array_empty(queue, SW_USM_SHARED, SW_FLOAT32, 2, shape, &freed_array));
  OK(sw_array_free(freed_array));

  // Devices.
  void *other = queue;
  VALUE(sw_device_count(NULL));
  OK(sw_device_count(&size));
  VALUE(sw_device_at(0, NULL));
  EXPECT(SW_ERROR_OUT_OF_BOUNDS, sw_device_at(size, &freed_device));
  NONE(freed_device);
  OK(sw_device_at(0, &freed_device));
  OK(sw_device_free(freed_device));
  VALUE(sw_device_default(NULL));
  VALUE(sw_device_select(NULL, &device));
  NONE(device);
  EXPECT(SW_ERROR_DEVICE_SELECTION, sw_device_select("no:such:device", &device));
  VALUE(sw_device_select("\xff", &device));
  VALUE(sw_device_select("host", NULL));
  OK(sw_device_select("host", &device));
  HANDLES(sw_device, freed_device, sw_device_name(wrong, text, sizeof text, &size));
  HANDLES(sw_device, freed_device, sw_device_filter(wrong, text, sizeof text, &size));
  VALUE(sw_device_name(device, NULL, 4, &size));
  OK(sw_device_name(device, NULL, 0, &size));
  OK(sw_device_filter(device, text, 5, &size));
  if (strcmp(text, "host") != 0 || size < 5) differ(__LINE__, "a text that is cut off", SW_OK, SW_ERROR_OTHER);
  HANDLES(sw_device, freed_device, sw_device_free(wrong));

  // Memory in use.
  sw_memory_usage usage, later;
  HANDLES(sw_device, freed_device, sw_device_memory(wrong, &usage));
  VALUE(sw_device_memory(device, NULL));
  OK(sw_device_memory(device, &usage));
  if (usage.in_use != usage.host.in_use + usage.device.in_use + usage.shared.in_use || usage.limit != SW_NO_LIMIT)
    differ(__LINE__, "the kinds together are all", SW_OK, SW_ERROR_OTHER);
  HANDLES(sw_device, freed_device, sw_device_set_memory_limit(wrong, 1));
  OK(sw_device_set_memory_limit(device, usage.in_use));
  sw_queue *limited_queue = NULL;
  sw_memory *limited_memory = (sw_memory *)&usage;
  OK(sw_queue_create(device, 0, &limited_queue));
  EXPECT(SW_ERROR_ALLOC, sw_memory_create(limited_queue, SW_USM_SHARED, 1 << 20, 64, &limited_memory));
  NONE(limited_memory);
  if (!strstr(sw_last_error(), "limit of")) differ(__LINE__, "the limit is named", SW_OK, SW_ERROR_OTHER);
  OK(sw_device_memory(device, &later));
  if (later.limit != usage.in_use) differ(__LINE__, "the limit", SW_OK, SW_ERROR_OTHER);
  OK(sw_device_set_memory_limit(device, SW_NO_LIMIT));
  HANDLES(sw_device, freed_device, sw_device_trim(wrong, &size));
  OK(sw_device_trim(device, NULL));
  OK(sw_device_trim(device, &size));
  if (size != 0) differ(__LINE__, "all was given back before", SW_OK, SW_ERROR_OTHER);

  sw_memory_scope *scope = (sw_memory_scope *)&usage, *freed_scope = NULL;
  sw_scope_usage in_scope;
  VALUE(sw_memory_scope_open(NULL, &scope));
  NONE(scope);
  VALUE(sw_memory_scope_open("scope", NULL));
  OK(sw_memory_scope_open("first", &freed_scope));
  OK(sw_memory_scope_free(freed_scope));
  OK(sw_memory_scope_open("scope", &scope));
  HANDLES(sw_memory_scope, freed_scope, sw_memory_scope_usage(wrong, &in_scope));
  VALUE(sw_memory_scope_usage(scope, NULL));
  HANDLES(sw_memory_scope, freed_scope, sw_memory_scope_close(wrong));
  sw_memory *scope_memory = NULL;
  OK(sw_memory_create(limited_queue, SW_USM_DEVICE, 5000, 64, &scope_memory));
  OK(sw_memory_scope_close(scope));
  VALUE(sw_memory_scope_close(scope));
  OK(sw_memory_scope_usage(scope, &in_scope));
  if (in_scope.allocated != 5000 || in_scope.allocations != 1 || in_scope.peak != 5000 || in_scope.left != 5000)
    differ(__LINE__, "what the scope counted", SW_OK, SW_ERROR_OTHER);

  sw_live_arrays *live = (sw_live_arrays *)&usage, *freed_live = NULL;
  sw_live_array entry;
  size_t live_count = 0;
  HANDLES(sw_device, freed_device, sw_device_live_arrays(wrong, &live, &live_count));
  NONE(live);
  VALUE(sw_device_live_arrays(device, &live, NULL));
  NONE(live);
  VALUE(sw_device_live_arrays(device, NULL, &live_count));
  OK(sw_device_live_arrays(device, &freed_live, &live_count));
  OK(sw_live_arrays_free(freed_live));
  OK(sw_device_live_arrays(device, &live, &live_count));
  HANDLES(sw_live_arrays, freed_live, sw_live_arrays_at(wrong, 0, &entry));
  VALUE(sw_live_arrays_at(live, 0, NULL));
  EXPECT(SW_ERROR_OUT_OF_BOUNDS, sw_live_arrays_at(live, live_count, &entry));
  HANDLES(sw_live_arrays, freed_live, sw_live_arrays_describe(wrong, 0, text, sizeof text, &size));
  EXPECT(SW_ERROR_OUT_OF_BOUNDS, sw_live_arrays_describe(live, live_count, text, sizeof text, &size));
  bool listed = false;
  for (size_t i = 0; i < live_count; ++i) {
    char words[200];
    OK(sw_live_arrays_at(live, i, &entry));
    OK(sw_live_arrays_describe(live, i, words, sizeof words, &size));
    listed |= entry.bytes == 5000 && entry.kind == SW_USM_DEVICE && !entry.has_shape && !entry.foreign &&
              strstr(words, "5000 bytes of device memory, made in \"scope\"") != NULL;
  }
  if (!listed) differ(__LINE__, "the memory of the scope is listed", SW_OK, SW_ERROR_OTHER);
  HANDLES(sw_live_arrays, freed_live, sw_live_arrays_free(wrong));
  OK(sw_live_arrays_free(live));
  OK(sw_memory_free(scope_memory));
  OK(sw_memory_scope_usage(scope, &in_scope));
  if (in_scope.left != 0) differ(__LINE__, "what is left in the scope", SW_OK, SW_ERROR_OTHER);
  HANDLES(sw_memory_scope, freed_scope, sw_memory_scope_free(wrong));
  OK(sw_memory_scope_free(scope));
  OK(sw_queue_free(limited_queue));

  // Queues.
  other = array;
  VALUE(sw_queue_default(NULL));
  VALUE(sw_queue_host(NULL));
  HANDLES(sw_device, freed_device, sw_queue_create(wrong, 0, &freed_queue));
  VALUE(sw_queue_create(device, 4, &freed_queue));
  VALUE(sw_queue_create(device, 0, NULL));
  OK(sw_queue_create(device, SW_QUEUE_IN_ORDER | SW_QUEUE_PROFILING, &freed_queue));
  OK(sw_queue_free(freed_queue));
  HANDLES(sw_queue, freed_queue, sw_queue_device(wrong, &freed_device));
  VALUE(sw_queue_device(queue, NULL));
  HANDLES(sw_queue, freed_queue, sw_queue_equal(wrong, queue, &equal));
  HANDLES(sw_queue, freed_queue, sw_queue_equal(queue, wrong, &equal));
  VALUE(sw_queue_equal(queue, queue, NULL));
  HANDLES(sw_queue, freed_queue, sw_queue_flush(wrong));
  HANDLES(sw_queue, freed_queue, sw_queue_wait(wrong));
  sw_event *made = NULL;
  HANDLES(sw_queue, freed_queue, sw_queue_barrier(wrong, NULL, 0, &made));
  HANDLES(sw_event, freed_event, sw_queue_barrier(queue, &wrong, 1, &made));
  VALUE(sw_queue_barrier(queue, NULL, 1, &made));
  EXPECT(SW_ERROR_OVERFLOW, sw_queue_barrier(queue, &event, SIZE_MAX, &made));
  VALUE(sw_queue_barrier(queue, NULL, 0, NULL));
  HANDLES(sw_queue, freed_queue, sw_queue_free(wrong));

  // Events.
  HANDLES(sw_event, freed_event, sw_event_wait(wrong));
  HANDLES(sw_event, freed_event, sw_event_wait_all(&wrong, 1));
  VALUE(sw_event_wait_all(NULL, 2));
  HANDLES(sw_event, freed_event, sw_event_status(wrong, &state));
  VALUE(sw_event_status(event, NULL));
  HANDLES(sw_event, freed_event, sw_event_profile(wrong, &profile));
  VALUE(sw_event_profile(event, NULL));
  OK(sw_event_wait(event));
  EXPECT(SW_ERROR_UNSUPPORTED, sw_event_profile(event, &profile));
  HANDLES(sw_event, freed_event, sw_event_free(wrong));

  // Kernels from sources, of which the host takes none.
  sw_kernel_bundle *bundle = NULL;
  sw_kernel *kernel = NULL, *const no_kernel = NULL;
  sw_kernel_info kernel_info;
  const int64_t extents[] = {4};
  HANDLES(sw_queue, freed_queue, sw_kernel_bundle_from_source(wrong, "kernel void f() {}", NULL, &bundle));
  EXPECT(SW_ERROR_UNSUPPORTED, sw_kernel_bundle_from_source(queue, "kernel void f() {}", NULL, &bundle));
  NONE(bundle);
  VALUE(sw_kernel_bundle_from_source(queue, NULL, NULL, &bundle));
  VALUE(sw_kernel_bundle_from_source(queue, "\xff", NULL, &bundle));
  VALUE(sw_kernel_bundle_from_source(queue, "", NULL, NULL));
  HANDLES(sw_queue, freed_queue, sw_kernel_bundle_from_spirv(wrong, host, sizeof host, NULL, &bundle));
  VALUE(sw_kernel_bundle_from_spirv(queue, host, sizeof host, NULL, &bundle));
  VALUE(sw_kernel_bundle_from_spirv(queue, NULL, 20, NULL, &bundle));
  NONE(bundle);
  HANDLES(sw_kernel_bundle, NULL, sw_kernel_bundle_kernel(wrong, "f", &kernel));
  NONE(kernel);
  HANDLES(sw_kernel_bundle, NULL, sw_kernel_bundle_free(wrong));
  HANDLES(sw_kernel, NULL, sw_kernel_get_info(wrong, &kernel_info));
  VALUE(sw_kernel_get_info(no_kernel, NULL));
  HANDLES(sw_kernel, NULL, sw_kernel_launch(wrong, queue, 1, extents, NULL, NULL, 0, NULL, 0, &made));
  NONE(made);
  const sw_argument unknown = {99, false, NULL, NULL, 0, 0, SW_INT32, NULL};
  VALUE(sw_kernel_launch(no_kernel, queue, 1, extents, NULL, &unknown, 1, NULL, 0, &made));
  VALUE(sw_kernel_launch(no_kernel, queue, 1, extents, NULL, NULL, 1, NULL, 0, &made));
  const sw_argument no_memory = sw_argument_memory(NULL, 0, 8), no_bytes = sw_argument_bytes(NULL, 8);
  EXPECT(SW_ERROR_HANDLE, sw_kernel_launch(no_kernel, queue, 1, extents, NULL, &no_memory, 1, NULL, 0, &made));
  VALUE(sw_kernel_launch(no_kernel, queue, 1, extents, NULL, &no_bytes, 1, NULL, 0, &made));
  const sw_argument local = sw_argument_local(8);
  EXPECT(SW_ERROR_HANDLE, sw_kernel_launch(no_kernel, queue, 1, extents, NULL, &local, 1, NULL, 0, &made));
  const sw_argument nowhere = sw_argument_scalar(SW_INT32, NULL);
  VALUE(sw_kernel_launch(no_kernel, queue, 1, extents, NULL, &nowhere, 1, NULL, 0, &made));
  const sw_argument lost = sw_argument_only_read(sw_argument_array(freed_array));
  EXPECT(SW_ERROR_HANDLE, sw_kernel_launch(no_kernel, queue, 1, extents, NULL, &lost, 1, NULL, 0, &made));
  HANDLES(sw_kernel, NULL, sw_kernel_free(wrong));

  // Memory.
  sw_memory *none = NULL;
  HANDLES(sw_queue, freed_queue, sw_memory_create(wrong, SW_USM_HOST, 8, 0, &none));
  VALUE(sw_memory_create(queue, 0, 8, 0, &none));
  VALUE(sw_memory_create(queue, SW_USM_HOST, 0, 0, &none));
  VALUE(sw_memory_create(queue, SW_USM_HOST, 8, 3, &none));
  VALUE(sw_memory_create(queue, SW_USM_HOST, 8, 0, NULL));
  HANDLES(sw_queue, freed_queue, sw_memory_adopt(wrong, SW_USM_HOST, host, 8, NULL, NULL, &none));
  VALUE(sw_memory_adopt(queue, 9, host, 8, NULL, NULL, &none));
  VALUE(sw_memory_adopt(queue, SW_USM_HOST, NULL, 8, NULL, NULL, &none));
  VALUE(sw_memory_adopt(queue, SW_USM_HOST, host, 0, NULL, NULL, &none));
  VALUE(sw_memory_adopt(queue, SW_USM_HOST, host, 8, NULL, NULL, NULL));
  NONE(none);
  HANDLES(sw_memory, freed_memory, sw_memory_bytes(wrong, &size));
  VALUE(sw_memory_bytes(memory, NULL));
  HANDLES(sw_memory, freed_memory, sw_memory_kind(wrong, &kind));
  VALUE(sw_memory_kind(memory, NULL));
  HANDLES(sw_memory, freed_memory, sw_memory_queue(wrong, &freed_queue));
  VALUE(sw_memory_queue(memory, NULL));
  HANDLES(sw_memory, freed_memory, sw_memory_export(wrong, &pointer));
  VALUE(sw_memory_export(memory, NULL));
  HANDLES(sw_memory, freed_memory, sw_memory_read(wrong, 0, host, 8));
  VALUE(sw_memory_read(memory, 0, NULL, 8));
  EXPECT(SW_ERROR_OUT_OF_BOUNDS, sw_memory_read(memory, 60, host, 8));
  EXPECT(SW_ERROR_OUT_OF_BOUNDS, sw_memory_read(memory, SIZE_MAX, host, 8));
  HANDLES(sw_memory, freed_memory, sw_memory_write(wrong, 0, host, 8));
  VALUE(sw_memory_write(memory, 0, NULL, 8));
  EXPECT(SW_ERROR_OUT_OF_BOUNDS, sw_memory_write(memory, 60, host, 8));
  HANDLES(sw_queue, freed_queue, sw_memcpy(wrong, memory, 0, memory, 8, 8, NULL, 0, NULL));
  HANDLES(sw_memory, freed_memory, sw_memcpy(queue, wrong, 0, memory, 8, 8, NULL, 0, &made));
  HANDLES(sw_memory, freed_memory, sw_memcpy(queue, memory, 0, wrong, 8, 8, NULL, 0, &made));
  HANDLES(sw_event, freed_event, sw_memcpy(queue, memory, 0, memory, 8, 8, &wrong, 1, &made));
  EXPECT(SW_ERROR_OUT_OF_BOUNDS, sw_memcpy(queue, memory, 0, memory, 60, 8, NULL, 0, &made));
  // One variable for the event before and the event after.
  EXPECT(SW_OK, sw_memcpy(queue, memory, 0, memory, 8, 8, NULL, 0, &made));
  sw_event *const before = made;
  EXPECT(SW_OK, sw_memcpy(queue, memory, 0, memory, 8, 8, &made, 1, &made));
  EXPECT(SW_OK, sw_event_free(before));
  EXPECT(SW_OK, sw_event_free(made));
  made = NULL;
  HANDLES(sw_queue, freed_queue, sw_fill(wrong, memory, 0, SW_FLOAT32, host, 2, NULL, 0, NULL));
  HANDLES(sw_memory, freed_memory, sw_fill(queue, wrong, 0, SW_FLOAT32, host, 2, NULL, 0, &made));
  HANDLES(sw_event, freed_event, sw_fill(queue, memory, 0, SW_FLOAT32, host, 2, &wrong, 1, &made));
  VALUE(sw_fill(queue, memory, 0, 77, host, 2, NULL, 0, &made));
  VALUE(sw_fill(queue, memory, 0, SW_FLOAT32, NULL, 2, NULL, 0, &made));
  EXPECT(SW_ERROR_OVERFLOW, sw_fill(queue, memory, 0, SW_FLOAT32, host, SIZE_MAX, NULL, 0, &made));
  NONE(made);
  HANDLES(sw_memory, freed_memory, sw_memory_free(wrong));

  // Arrays: making them.
  other = queue;
  HANDLES(sw_memory, freed_memory, sw_array_on_memory(wrong, SW_FLOAT32, 2, shape, NULL, SW_NONE, &result));
  EXPECT(SW_ERROR_OUT_OF_BOUNDS, sw_array_on_memory(memory, SW_FLOAT64, 2, shape, NULL, 3, &result));
  EXPECT(SW_ERROR_OUT_OF_BOUNDS, sw_array_on_memory(memory, SW_FLOAT32, 2, shape, NULL, -1, &result));
  EXPECT(SW_ERROR_OUT_OF_BOUNDS, sw_array_on_memory(memory, SW_FLOAT32, 2, shape, shape, 9999, &result));
  EXPECT(SW_ERROR_OVERFLOW, sw_array_on_memory(memory, SW_FLOAT32, 2, shape, huge, SW_NONE, &result));
  EXPECT(SW_ERROR_SHAPE, sw_array_on_memory(memory, SW_FLOAT32, 2, negative, NULL, SW_NONE, &result));
  VALUE(sw_array_on_memory(memory, SW_FLOAT32, 2, NULL, NULL, SW_NONE, &result));
  VALUE(sw_array_on_memory(memory, SW_FLOAT32, 2, shape, NULL, SW_NONE, NULL));
  other = memory;
  HANDLES(sw_queue, freed_queue, sw_array_empty(wrong, SW_USM_HOST, SW_FLOAT32, 2, shape, &result));
  EXPECT(SW_ERROR_OVERFLOW, sw_array_empty(queue, SW_USM_HOST, SW_FLOAT32, 2, huge, &result));
  VALUE(sw_array_empty(queue, SW_USM_HOST, SW_FLOAT32, 100, NULL, &result));
  VALUE(sw_array_empty(queue, SW_USM_HOST, 0, 2, shape, &result));
  VALUE(sw_array_empty(queue, SW_USM_HOST, SW_FLOAT32, 2, shape, NULL));
  HANDLES(sw_queue, freed_queue, sw_array_full(wrong, SW_USM_HOST, SW_FLOAT32, 2, shape, sw_real(1), &result));
  VALUE(sw_array_full(queue, SW_USM_HOST, SW_FLOAT32, 2, shape, sw_of(array), &result));
  EXPECT(SW_ERROR_DTYPE, sw_array_full(queue, SW_USM_HOST, SW_UINT8, 2, shape, sw_integer(300), &result));
  EXPECT(SW_ERROR_DTYPE, sw_array_full(queue, SW_USM_HOST, SW_FLOAT32, 2, shape, sw_complex(1, 2), &result));
  HANDLES(sw_queue, freed_queue,
          sw_array_from_host(wrong, SW_USM_HOST, SW_FLOAT32, 2, shape, host, sizeof host, &result));
  EXPECT(SW_ERROR_SHAPE, sw_array_from_host(queue, SW_USM_HOST, SW_FLOAT32, 2, shape, host, 8, &result));
  VALUE(sw_array_from_host(queue, SW_USM_HOST, SW_FLOAT32, 2, shape, NULL, sizeof host, &result));
  VALUE(sw_array_from_host(queue, SW_USM_HOST, SW_BOOL, 2, shape, "\0\1\2\0\1", 6, &result));
  HANDLES(sw_queue, freed_queue, sw_array_load_npy(wrong, SW_USM_HOST, "x.npy", &result));
  VALUE(sw_array_load_npy(queue, SW_USM_HOST, NULL, &result));
  EXPECT(SW_ERROR_IO, sw_array_load_npy(queue, SW_USM_HOST, "/no/such/file.npy", &result));
  HANDLES(sw_array, freed_array, sw_array_save_npy(wrong, "x.npy"));
  VALUE(sw_array_save_npy(array, NULL));
  EXPECT(SW_ERROR_IO, sw_array_save_npy(array, "/no/such/folder/x.npy"));
  NONE(result);

  // Arrays: asking them.
  HANDLES(sw_array, freed_array, sw_array_describe(wrong, &info));
  VALUE(sw_array_describe(array, NULL));
  HANDLES(sw_array, freed_array, sw_array_memory(wrong, &none));
  VALUE(sw_array_memory(array, NULL));
  HANDLES(sw_array, freed_array, sw_array_queue(wrong, &freed_queue));
  VALUE(sw_array_queue(array, NULL));
  HANDLES(sw_array, freed_array, sw_array_event(wrong, &made));
  VALUE(sw_array_event(array, NULL));
  HANDLES(sw_array, freed_array, sw_array_wait(wrong));
  HANDLES(sw_array, freed_array, sw_array_read(wrong, host, sizeof host));
  EXPECT(SW_ERROR_SHAPE, sw_array_read(array, host, 8));
  VALUE(sw_array_read(array, NULL, sizeof host));
  HANDLES(sw_array, freed_array, sw_array_write(wrong, host, sizeof host));
  EXPECT(SW_ERROR_SHAPE, sw_array_write(array, host, 8));
  VALUE(sw_array_write(array, NULL, sizeof host));
  HANDLES(sw_array, freed_array, sw_array_item(wrong, &real, NULL));
  EXPECT(SW_ERROR_SHAPE, sw_array_item(array, &real, NULL));
  VALUE(sw_array_item(array, NULL, NULL));
  HANDLES(sw_array, freed_array, sw_array_assign(wrong, sw_real(1), NULL));
  HANDLES(sw_array, freed_array, sw_array_assign(array, sw_of(wrong), &made));
  EXPECT(SW_ERROR_DTYPE, sw_array_assign(array, sw_complex(1, 1), &made));
  HANDLES(sw_array, freed_array, sw_array_text(wrong, text, sizeof text, &size));
  VALUE(sw_array_text(array, NULL, 9, &size));
  HANDLES(sw_array, freed_array, sw_array_free(wrong));

  // Views and copies.
  const sw_slice all = sw_all(), outside = sw_index(2), still = sw_range(0, 2, 0), odd = {9, 0, 0, 0};
  const int64_t axes[] = {0, 0}, axis = 5;
  HANDLES(sw_array, freed_array, sw_array_slice(wrong, &all, 1, &result));
  VALUE(sw_array_slice(array, NULL, 1, &result));
  VALUE(sw_array_slice(array, &all, 1, NULL));
  VALUE(sw_array_slice(array, &still, 1, &result));
  VALUE(sw_array_slice(array, &odd, 1, &result));
  EXPECT(SW_ERROR_OUT_OF_BOUNDS, sw_array_slice(array, &outside, 1, &result));
  HANDLES(sw_array, freed_array, sw_array_transpose(wrong, NULL, 0, &result));
  EXPECT(SW_ERROR_AXIS, sw_array_transpose(array, axes, 2, &result));
  VALUE(sw_array_transpose(array, NULL, 2, &result));
  HANDLES(sw_array, freed_array, sw_array_reshape(wrong, 2, shape, &result));
  EXPECT(SW_ERROR_SHAPE, sw_array_reshape(array, 1, shape, &result));
  VALUE(sw_array_reshape(array, 1, NULL, &result));
  HANDLES(sw_array, freed_array, sw_array_broadcast(wrong, 2, shape, &result));
  EXPECT(SW_ERROR_SHAPE, sw_array_broadcast(array, 2, negative, &result));
  HANDLES(sw_array, freed_array, sw_array_read_only(wrong, &result));
  VALUE(sw_array_read_only(array, NULL));
  HANDLES(sw_array, freed_array, sw_array_astype(wrong, SW_FLOAT64, &result));
  VALUE(sw_array_astype(array, -1, &result));
  HANDLES(sw_array, freed_array, sw_array_copy(wrong, &result));
  VALUE(sw_array_copy(array, NULL));
  HANDLES(sw_array, freed_array, sw_array_to_kind(wrong, SW_USM_DEVICE, &result));
  VALUE(sw_array_to_kind(array, 4, &result));
  HANDLES(sw_array, freed_array, sw_array_to_queue(wrong, queue, &result));
  HANDLES(sw_queue, freed_queue, sw_array_to_queue(array, wrong, &result));

  // Computing.
  sw_operand operands[] = {sw_of(array), sw_of(array)};
  VALUE(sw_op_of_name(NULL, &op));
  VALUE(sw_op_of_name("astype", &op));
  VALUE(sw_op_of_name("add", NULL));
  VALUE(sw_op_arity(0, &size));
  VALUE(sw_op_arity(SW_OP_ADD, NULL));
  HANDLES(sw_array, freed_array, (operands[1] = sw_of(wrong), sw_elementwise(SW_OP_ADD, operands, 2, &result)));
  operands[1] = sw_of(array);
  VALUE(sw_elementwise(0, operands, 2, &result));
  VALUE(sw_elementwise(SW_OP_ADD, operands, 1, &result));
  VALUE(sw_elementwise(SW_OP_ADD, NULL, 2, &result));
  VALUE(sw_elementwise(SW_OP_ADD, operands, 2, NULL));
  operands[1].kind = 17;
  VALUE(sw_elementwise(SW_OP_ADD, operands, 2, &result));
  operands[0] = sw_real(1), operands[1] = sw_real(2);
  VALUE(sw_elementwise(SW_OP_ADD, operands, 2, &result));
  operands[0] = sw_of(array);
  EXPECT(SW_ERROR_DTYPE, sw_elementwise(SW_OP_BITWISE_AND, operands, 2, &result));
  HANDLES(sw_array, freed_array,
          (operands[0] = sw_of(wrong), sw_elementwise_into(SW_OP_ADD, operands, 2, array, NULL, 0, &made)));
  operands[0] = sw_of(array);
  HANDLES(sw_array, freed_array, sw_elementwise_into(SW_OP_ADD, operands, 2, wrong, NULL, 0, &made));
  HANDLES(sw_event, freed_event, sw_elementwise_into(SW_OP_ADD, operands, 2, array, &wrong, 1, &made));
  HANDLES(sw_array, freed_array, sw_concat(&wrong, 1, 0, &result));
  sw_array *pair[] = {array, array};
  VALUE(sw_concat(NULL, 2, 0, &result));
  VALUE(sw_concat(pair, 2, 0, NULL));
  EXPECT(SW_ERROR_AXIS, sw_concat(pair, 2, 2, &result));
  if (sw_concat(pair, 0, 0, &result) == SW_OK) differ(__LINE__, "joining nothing", SW_ERROR_VALUE, SW_OK);
  HANDLES(sw_array, freed_array, sw_array_reduce(wrong, SW_REDUCE_SUM, NULL, 0, false, &result));
  VALUE(sw_array_reduce(array, 0, NULL, 0, false, &result));
  VALUE(sw_array_reduce(array, SW_REDUCE_SUM, NULL, 1, false, &result));
  EXPECT(SW_ERROR_AXIS, sw_array_reduce(array, SW_REDUCE_SUM, &axis, 1, false, &result));
  NONE(result);

  // DLPack.
  HANDLES(sw_array, freed_array, sw_array_to_dlpack(wrong, &tensor));
  HANDLES(sw_array, freed_array, sw_array_to_dlpack_legacy(wrong, &legacy));
  VALUE(sw_array_to_dlpack(array, NULL));
  VALUE(sw_array_to_dlpack_legacy(array, NULL));
  VALUE(sw_array_from_dlpack(queue, NULL, &result));
  VALUE(sw_array_from_dlpack_legacy(queue, NULL, &result));
  OK(sw_array_to_dlpack(array, &tensor));
  OK(sw_array_to_dlpack_legacy(array, &legacy));
  HANDLES(sw_queue, freed_queue, sw_array_from_dlpack(wrong, tensor, &result));
  HANDLES(sw_queue, freed_queue, sw_array_from_dlpack_legacy(wrong, legacy, &result));
  VALUE(sw_array_from_dlpack(queue, tensor, NULL));
  OK(sw_array_from_dlpack(queue, tensor, &result));
  OK(sw_array_free(result));
  OK(sw_array_from_dlpack_legacy(queue, legacy, &result));
  OK(sw_array_free(result));
  sw_array *locked = NULL;
  OK(sw_array_read_only(array, &locked));
  EXPECT(SW_ERROR_BORROW, sw_array_to_dlpack_legacy(locked, &legacy));
  EXPECT(SW_ERROR_BORROW, sw_array_write(locked, host, sizeof host));
  OK(sw_array_free(locked));

  // Device memory is not shown to the host.
  sw_array *far = NULL;
  OK(sw_array_to_kind(array, SW_USM_DEVICE, &far));
  EXPECT(SW_ERROR_UNSUPPORTED, sw_array_to_dlpack(far, &tensor));
  OK(sw_array_read(far, host, sizeof host));
  if (host[5] != 6.0f) differ(__LINE__, "the elements of device memory", SW_OK, SW_ERROR_OTHER);
  OK(sw_array_free(far));

  // What the header's own functions make is taken.
  const sw_slice items[] = {sw_new_axis(), sw_ellipsis(), sw_range(SW_NONE, SW_NONE, -2), sw_index(-1)};
  OK(sw_array_slice(array, items, 4, &result));
  OK(sw_array_describe(result, &info));
  if (info.ndim != 2 || info.shape[0] != 1 || info.shape[1] != 1 || info.offset != 5)
    differ(__LINE__, "a slice", SW_OK, SW_ERROR_OTHER);
  OK(sw_array_free(result));
  OK(sw_array_full(queue, SW_USM_HOST, SW_BOOL, 2, shape, sw_bool(true), &result));
  OK(sw_array_free(result));
  OK(sw_array_full(queue, SW_USM_HOST, SW_COMPLEX64, 2, shape, sw_complex(1, -2), &result));
  const int64_t six = 6;
  sw_array *flat = NULL, *first = NULL;
  const sw_slice start = sw_index(0);
  double imaginary = 0.0;
  OK(sw_array_reshape(result, 1, &six, &flat));
  OK(sw_array_slice(flat, &start, 1, &first));
  OK(sw_array_item(first, &real, &imaginary));
  if (real != 1.0 || imaginary != -2.0) differ(__LINE__, "a complex number", SW_OK, SW_ERROR_OTHER);
  OK(sw_array_free(first));
  OK(sw_array_free(flat));
  OK(sw_array_free(result));

  // One array, several threads.
  OK(sw_array_full(queue, SW_USM_SHARED, SW_FLOAT32, 2, shape, sw_real(7), &shared_array));
  pthread_t threads[4];
  for (int i = 0; i < 4; ++i)
    if (pthread_create(&threads[i], NULL, use_from_thread, NULL) != 0) return EXIT_FAILURE;
  for (int i = 0; i < 4; ++i) pthread_join(threads[i], NULL);

  OK(sw_array_free(shared_array));
  OK(sw_array_free(array));
  OK(sw_memory_free(memory));
  OK(sw_event_free(event));
  OK(sw_queue_free(queue));
  OK(sw_device_free(device));
  fprintf(stderr, "%d failures\n", failures);
  return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
