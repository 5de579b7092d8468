// A kernel in OpenCL C: each work-group turns its elements round, by way of its local memory.

#include <stdio.h>
#include <string.h>

#include "stridewise.h"

#define CHECK(call)                                          \
  do {                                                       \
    if ((call) != SW_OK) {                                   \
      fprintf(stderr, "%s: %s\n", #call, sw_last_error());   \
      return 1;                                              \
    }                                                        \
  } while (0)

static const char *const SOURCE =
    "kernel void turn(global int *x, local int *row, int added) {\n"
    "  size_t at = get_local_id(0), size = get_local_size(0);\n"
    "  row[at] = x[get_global_id(0)];\n"
    "  barrier(CLK_LOCAL_MEM_FENCE);\n"
    "  x[get_global_id(0)] = row[size - 1 - at] + added;\n"
    "}\n";

int main(int count, char **words) {
  sw_device *device = NULL;
  sw_queue *queue = NULL;
  if (sw_device_select(count > 1 ? words[1] : "opencl", &device) != SW_OK) {
    printf("no such device: %s\n", sw_last_error());
    return 0;
  }
  CHECK(sw_queue_create(device, 0, &queue));

  sw_kernel_bundle *bundle = NULL;
  sw_status status = sw_kernel_bundle_from_source(queue, SOURCE, NULL, &bundle);
  if (status == SW_ERROR_UNSUPPORTED) {
    printf("no sources: %s\n", sw_last_error());
    return 0;
  }
  CHECK(status);
  sw_kernel *kernel = NULL;
  CHECK(sw_kernel_bundle_kernel(bundle, "turn", &kernel));
  sw_kernel_info info;
  CHECK(sw_kernel_get_info(kernel, &info));

  const int32_t numbers[] = {0, 1, 2, 3, 4, 5, 6, 7};
  const int64_t shape[] = {8}, group[] = {4};
  sw_array *x = NULL;
  CHECK(sw_array_from_host(queue, SW_USM_DEVICE, SW_INT32, 1, shape, numbers, sizeof numbers, &x));
  const int32_t added = 10;
  const sw_argument arguments[] = {
      sw_argument_array(x),
      sw_argument_local(4 * sizeof(int32_t)),
      sw_argument_scalar(SW_INT32, &added),
  };
  sw_event *event = NULL;
  CHECK(sw_kernel_launch(kernel, queue, 1, shape, group, arguments, info.num_args, NULL, 0, &event));
  // In order of what they touch: no wait is needed between them.
  sw_event *second = NULL;
  CHECK(sw_kernel_launch(kernel, queue, 1, shape, group, arguments, info.num_args, &event, 1, &second));
  CHECK(sw_event_wait(second));

  int32_t results[8];
  CHECK(sw_array_read(x, results, sizeof results));
  for (int i = 0; i < 8; ++i) printf("%d ", results[i]);
  printf("\n");

  // What does not compile says why.
  sw_kernel_bundle *broken = NULL;
  status = sw_kernel_bundle_from_source(queue, "kernel void f(global int *x) { *x = y; }", NULL, &broken);
  if (status != SW_ERROR_COMPILATION || broken || !strstr(sw_last_error(), "y")) {
    fprintf(stderr, "%s: %s\n", sw_status_name(status), sw_last_error());
    return 1;
  }
  CHECK(sw_event_free(event));
  CHECK(sw_event_free(second));
  CHECK(sw_array_free(x));
  CHECK(sw_kernel_free(kernel));
  CHECK(sw_kernel_bundle_free(bundle));
  CHECK(sw_queue_free(queue));
  CHECK(sw_device_free(device));
  return 0;
}
