// Stridewise: arrays in unified shared memory, from C.
//
// Every function returns SW_OK or the status of a failure, and leaves a text for sw_last_error. Handles are opaque; they
// are freed by the function of their type, each once. A handle that is null, freed or of another type is refused. All
// functions may be called from any thread. Pointers that are not handles point to what the comments say, of the length
// that stands beside them, and null is refused where something is needed. Shapes, strides and offsets count elements.
//
// This file is generated; the tests of ffi/c say how.

#ifndef STRIDEWISE_H
#define STRIDEWISE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// DLPack's structures; include dlpack.h to look into them.
typedef struct DLManagedTensor DLManagedTensor;
typedef struct DLManagedTensorVersioned DLManagedTensorVersioned;

// The operations of sw_elementwise. A number belongs to the operation's name and stays the same between versions.
enum {
  SW_OP_ADD = 993596020, // 2 operands
  SW_OP_SUBTRACT = 1119987041, // 2 operands
  SW_OP_MULTIPLY = 2140415045, // 2 operands
  SW_OP_DIVIDE = 1632789104, // 2 operands
  SW_OP_FLOOR_DIVIDE = 780779571, // 2 operands
  SW_OP_REMAINDER = 881687192, // 2 operands
  SW_OP_POW = 1479764693, // 2 operands
  SW_OP_NEGATIVE = 2123597370, // 1 operand
  SW_OP_ABS = 709362235, // 1 operand
  SW_OP_REAL = 1457500253, // 1 operand
  SW_OP_IMAG = 1255806523, // 1 operand
  SW_OP_CONJ = 1346385651, // 1 operand
  SW_OP_SIGN = 213683108, // 1 operand
  SW_OP_SQUARE = 884347462, // 1 operand
  SW_OP_RECIPROCAL = 1722839541, // 1 operand
  SW_OP_ROUND = 1326178875, // 1 operand
  SW_OP_FLOOR = 954666013, // 1 operand
  SW_OP_CEIL = 1659167240, // 1 operand
  SW_OP_TRUNC = 1432248805, // 1 operand
  SW_OP_MINIMUM = 327230199, // 2 operands
  SW_OP_MAXIMUM = 1542649473, // 2 operands
  SW_OP_CLIP = 1393659643, // 3 operands
  SW_OP_SQRT = 2112764879, // 1 operand
  SW_OP_RSQRT = 964145951, // 1 operand
  SW_OP_CBRT = 1415682102, // 1 operand
  SW_OP_HYPOT = 405166629, // 2 operands
  SW_OP_EXP = 1923516200, // 1 operand
  SW_OP_EXP2 = 371633646, // 1 operand
  SW_OP_EXPM1 = 1045329130, // 1 operand
  SW_OP_LOG = 1062293841, // 1 operand
  SW_OP_LOG1P = 1273129968, // 1 operand
  SW_OP_LOG2 = 268639961, // 1 operand
  SW_OP_LOG10 = 199362352, // 1 operand
  SW_OP_LOGADDEXP = 748224919, // 2 operands
  SW_OP_SIN = 1613769293, // 1 operand
  SW_OP_COS = 2072896156, // 1 operand
  SW_OP_TAN = 485962904, // 1 operand
  SW_OP_ASIN = 2125364902, // 1 operand
  SW_OP_ACOS = 1006755615, // 1 operand
  SW_OP_ATAN = 108579519, // 1 operand
  SW_OP_ATAN2 = 1025956855, // 2 operands
  SW_OP_SINH = 282220607, // 1 operand
  SW_OP_COSH = 1952204316, // 1 operand
  SW_OP_TANH = 153638352, // 1 operand
  SW_OP_ASINH = 984718922, // 1 operand
  SW_OP_ACOSH = 1844627541, // 1 operand
  SW_OP_ATANH = 120017013, // 1 operand
  SW_OP_ERF = 2023196176, // 1 operand
  SW_OP_SIGMOID = 274948171, // 1 operand
  SW_OP_COPYSIGN = 197671877, // 2 operands
  SW_OP_NEXTAFTER = 645439250, // 2 operands
  SW_OP_EQUAL = 796199151, // 2 operands
  SW_OP_NOT_EQUAL = 138129653, // 2 operands
  SW_OP_LESS = 560682936, // 2 operands
  SW_OP_LESS_EQUAL = 1896003407, // 2 operands
  SW_OP_GREATER = 1355287449, // 2 operands
  SW_OP_GREATER_EQUAL = 1015065062, // 2 operands
  SW_OP_ISNAN = 833863786, // 1 operand
  SW_OP_ISINF = 648810968, // 1 operand
  SW_OP_ISFINITE = 638754166, // 1 operand
  SW_OP_SIGNBIT = 591523055, // 1 operand
  SW_OP_LOGICAL_AND = 1944002042, // 2 operands
  SW_OP_LOGICAL_OR = 1720192408, // 2 operands
  SW_OP_LOGICAL_XOR = 1801182618, // 2 operands
  SW_OP_LOGICAL_NOT = 922821046, // 1 operand
  SW_OP_BITWISE_AND = 965228414, // 2 operands
  SW_OP_BITWISE_OR = 1457871308, // 2 operands
  SW_OP_BITWISE_XOR = 1767689446, // 2 operands
  SW_OP_BITWISE_INVERT = 205823033, // 1 operand
  SW_OP_BITWISE_LEFT_SHIFT = 1776916167, // 2 operands
  SW_OP_BITWISE_RIGHT_SHIFT = 1544814214, // 2 operands
  SW_OP_PHILOX = 207255799, // 3 operands
  SW_OP_POSITIVE = 1049492090, // 1 operand
  SW_OP_WHERE = 90969176, // 3 operands
};

// The reductions of sw_array_reduce.
enum {
  SW_REDUCE_SUM = 1565407912, // a value
  SW_REDUCE_PROD = 1832792436, // a value
  SW_REDUCE_MIN = 1234126167, // a value
  SW_REDUCE_MAX = 1470292761, // a value
  SW_REDUCE_ARGMIN = 428288577, // an index
  SW_REDUCE_ARGMAX = 194681839, // an index
  SW_REDUCE_MEAN = 517876052, // a value
  SW_REDUCE_ANY = 740945997, // a value
  SW_REDUCE_ALL = 321211332, // a value
};

// The types of elements.
enum {
  SW_BOOL = 1544, // 1 byte
  SW_INT8 = 8, // 1 byte
  SW_INT16 = 16, // 2 bytes
  SW_INT32 = 32, // 4 bytes
  SW_INT64 = 64, // 8 bytes
  SW_UINT8 = 264, // 1 byte
  SW_UINT16 = 272, // 2 bytes
  SW_UINT32 = 288, // 4 bytes
  SW_UINT64 = 320, // 8 bytes
  SW_FLOAT16 = 528, // 2 bytes
  SW_BFLOAT16 = 1040, // 2 bytes
  SW_FLOAT32 = 544, // 4 bytes
  SW_FLOAT64 = 576, // 8 bytes
  SW_COMPLEX64 = 1344, // 8 bytes
  SW_COMPLEX128 = 1408, // 16 bytes
};

// Who may touch memory.
enum {
  SW_USM_HOST = 1, // lives on the host; host and device may touch it
  SW_USM_DEVICE = 2, // lives on the device; only the device may touch it
  SW_USM_SHARED = 3, // host and device may touch it
};

// The largest number of dimensions.
#define SW_MAX_NDIM 32

// Stands for "none given" where a number may be left out: the least offset that fits, the end of a range.
#define SW_NONE INT64_MIN

// An operand's kind: the array of a handle.
#define SW_OPERAND_ARRAY 1

// An operand's kind: a truth value, `integer` other than 0.
#define SW_OPERAND_BOOL 2

// An operand's kind: `integer`.
#define SW_OPERAND_INTEGER 3

// An operand's kind: `real`.
#define SW_OPERAND_REAL 4

// An operand's kind: `real` and `imaginary`.
#define SW_OPERAND_COMPLEX 5

// An argument's kind: the address of the first element of a contiguous array.
#define SW_ARGUMENT_ARRAY 1

// An argument's kind: the address of `bytes` bytes of memory from `offset` on.
#define SW_ARGUMENT_MEMORY 2

// An argument's kind: the value of `dtype` at `value`.
#define SW_ARGUMENT_SCALAR 3

// An argument's kind: `bytes` bytes at `value`, a value of any type.
#define SW_ARGUMENT_BYTES 4

// An argument's kind: `bytes` bytes of memory that the items of each work-group share.
#define SW_ARGUMENT_LOCAL 5

// Of sw_queue_create: every command also waits for the one before it.
#define SW_QUEUE_IN_ORDER 1

// Of sw_queue_create: events have time stamps, for sw_event_profile.
#define SW_QUEUE_PROFILING 2

// No limit, for sw_device_set_memory_limit and of sw_memory_usage.
#define SW_NO_LIMIT 18446744073709551615ull

// A slice's kind: one element along a dimension, which goes; `start` says which, below zero from the end.
#define SW_SLICE_INDEX 1

// A slice's kind: the elements from `start` to before `stop` in steps of `step`; either end may be SW_NONE.
#define SW_SLICE_RANGE 2

// A slice's kind: a new dimension of extent 1.
#define SW_SLICE_NEW_AXIS 3

// A slice's kind: as many full dimensions as are left over.
#define SW_SLICE_ELLIPSIS 4

// How a call went.
typedef enum sw_status {
  // Done, or submitted.
  SW_OK = 0,
  // A handle is null, freed, of another type or none at all.
  SW_ERROR_HANDLE = 1,
  // A value is outside what an argument accepts; a pointer is null.
  SW_ERROR_VALUE = 2,
  // Shapes do not fit each other or their argument.
  SW_ERROR_SHAPE = 3,
  // An axis or the number of dimensions is out of range.
  SW_ERROR_AXIS = 4,
  // An index, range, stride or offset reaches outside its array or allocation.
  SW_ERROR_OUT_OF_BOUNDS = 5,
  // Arithmetic on sizes, strides or offsets does not fit the machine.
  SW_ERROR_OVERFLOW = 6,
  // A dtype is unknown, not supported by the operation or unable to hold the result.
  SW_ERROR_DTYPE = 7,
  // Memory could not be allocated.
  SW_ERROR_ALLOC = 8,
  // The host asked for memory that it may not touch.
  SW_ERROR_HOST_ACCESS = 9,
  // Memory is lent, or an array is read-only.
  SW_ERROR_BORROW = 10,
  // No device answers to a filter string.
  SW_ERROR_DEVICE_SELECTION = 11,
  // A device, queue or protocol cannot do what was asked.
  SW_ERROR_UNSUPPORTED = 12,
  // A task failed.
  SW_ERROR_TASK = 13,
  // The runtime of a device reported an error.
  SW_ERROR_RUNTIME = 14,
  // Reading or writing a file failed.
  SW_ERROR_IO = 15,
  // Operands are on different queues.
  SW_ERROR_EXECUTION_PLACEMENT = 16,
  // Something that the work depends on failed; nothing was executed.
  SW_ERROR_DEPENDENCY = 17,
  // An error that this version of the interface has no name for.
  SW_ERROR_OTHER = 18,
  // The library itself failed; please report it.
  SW_ERROR_PANIC = 19,
  // A kernel breaks a rule.
  SW_ERROR_KERNEL = 20,
  // A source of kernels does not compile.
  SW_ERROR_COMPILATION = 21,
  // A matrix cannot be decomposed: it is singular or not positive definite, or an iteration does not converge.
  SW_ERROR_DECOMPOSITION = 22,
} sw_status;

// Where a command is on its way.
typedef enum sw_event_state {
  // Waiting for what it depends on, or for the device.
  SW_EVENT_SUBMITTED = 0,
  // Being executed.
  SW_EVENT_RUNNING = 1,
  // Done.
  SW_EVENT_COMPLETE = 2,
  // Failed, or not executed because something it depends on failed; sw_event_wait says why.
  SW_EVENT_FAILED = 3,
} sw_event_state;

// An array of up to SW_MAX_NDIM dimensions. Views share memory; a result that nobody has asked for yet may be recorded
// only.
typedef struct sw_array sw_array;

// A device.
typedef struct sw_device sw_device;

// The completion of a command.
typedef struct sw_event sw_event;

// A kernel of a bundle, for the device that it was compiled for.
typedef struct sw_kernel sw_kernel;

// The kernels of one source, compiled for one device.
typedef struct sw_kernel_bundle sw_kernel_bundle;

// A list of the memory that is in use.
typedef struct sw_live_arrays sw_live_arrays;

// An allocation of bytes that host and device share (USM), and the queue that works on it by default.
typedef struct sw_memory sw_memory;

// A scope that counts what a thread allocates in it.
typedef struct sw_memory_scope sw_memory_scope;

// A queue: where work on arrays is submitted. Operands of one operation have to be of the same queue.
typedef struct sw_queue sw_queue;

// Who may touch memory, such as `SW_USM_SHARED`.
typedef int32_t sw_usm_kind;

// A dtype, such as `SW_FLOAT32`: DLPack's class of the type in the second byte, and its bits in the first.
typedef int32_t sw_dtype;

// An array or a number; made by sw_of, sw_bool, sw_integer, sw_real and sw_complex. A number takes the dtype of the arrays
// that it meets.
typedef struct sw_operand {
  // Which of the fields count: SW_OPERAND_ARRAY, …
  int32_t kind;
  // The array.
  const struct sw_array *array;
  // The integer or truth value.
  int64_t integer;
  // The real number or part.
  double real;
  // The imaginary part.
  double imaginary;
} sw_operand;

// What an array is.
typedef struct sw_array_info {
  // The type of the elements.
  sw_dtype dtype;
  // The kind of the memory.
  sw_usm_kind kind;
  // Number of dimensions.
  size_t ndim;
  // Number of elements.
  size_t len;
  // Bytes of an element.
  size_t itemsize;
  // Elements from the start of the memory to the element at multi-index zero.
  int64_t offset;
  // Whether elements follow each other in row-major order.
  bool c_contiguous;
  // Whether elements follow each other in column-major order.
  bool f_contiguous;
  // Whether elements may be written through this array.
  bool writable;
  // The extents; `ndim` of them.
  int64_t shape[SW_MAX_NDIM];
  // Elements to step per dimension, with a sign; `ndim` of them.
  int64_t strides[SW_MAX_NDIM];
} sw_array_info;

// An operation, such as `SW_OP_ADD`.
typedef int32_t sw_op;

// A reduction, such as `SW_REDUCE_SUM`.
typedef int32_t sw_reduction;

// Time stamps of a command in nanoseconds, from one origin per device.
typedef struct sw_profile {
  // When it was submitted.
  uint64_t submitted;
  // When its execution began.
  uint64_t started;
  // When it was done.
  uint64_t ended;
} sw_profile;

// What is known of a kernel.
typedef struct sw_kernel_info {
  // Number of arguments.
  size_t num_args;
  // Items of a work-group, at most.
  size_t work_group_size;
  // What the size of a work-group is best a multiple of.
  size_t preferred_work_group_size_multiple;
  // Bytes of memory of each item.
  uint64_t private_mem_size;
  // Bytes of memory of each work-group that the kernel itself declares.
  uint64_t local_mem_size;
} sw_kernel_info;

// An argument of a launch; made by sw_argument_array, sw_argument_memory, sw_argument_scalar, sw_argument_bytes and
// sw_argument_local.
typedef struct sw_argument {
  // Which of the fields count: SW_ARGUMENT_ARRAY, …
  int32_t kind;
  // Whether the kernel only reads the array or the memory, whatever its parameter says.
  bool read_only;
  // The array.
  const struct sw_array *array;
  // The memory.
  const struct sw_memory *memory;
  // Bytes from the start of the memory.
  size_t offset;
  // Bytes of memory, of the value, or of local memory.
  size_t bytes;
  // The type of the value.
  sw_dtype dtype;
  // The value; read during the call.
  const void *value;
} sw_argument;

// Frees memory that was handed in: called once, with the memory's address and the context that came with it, when nothing
// needs the memory any more. Any thread may call it; it must not wait for work of this library.
typedef void (*sw_deleter)(void *pointer, void *context);

// Memory of one kind, in bytes rounded up to the sizes that a pool hands out.
typedef struct sw_kind_usage {
  // In use.
  size_t in_use;
  // Held by the pool for reuse.
  size_t kept;
  // The most that was in use.
  size_t peak;
} sw_kind_usage;

// Memory of a device, in bytes rounded up to the sizes that a pool hands out.
typedef struct sw_memory_usage {
  // In use: by arrays, by memory, and by work under way.
  size_t in_use;
  // Held by the pool for reuse.
  size_t kept;
  // The most that was in use.
  size_t peak;
  // Obtained from the device.
  size_t reserved;
  // What may be in use, or SW_NO_LIMIT.
  uint64_t limit;
  // What the device has.
  uint64_t total;
  // Host memory.
  struct sw_kind_usage host;
  // Device memory.
  struct sw_kind_usage device;
  // Shared memory.
  struct sw_kind_usage shared;
} sw_memory_usage;

// What was allocated in a scope, in bytes as they were asked for.
typedef struct sw_scope_usage {
  // All that was allocated.
  size_t allocated;
  // By how many allocations.
  uint64_t allocations;
  // The most of it that was in use at a time.
  size_t peak;
  // What of it is in use now.
  size_t left;
} sw_scope_usage;

// Memory that is in use: an array's, or that of several views of one.
typedef struct sw_live_array {
  // Where it is.
  size_t address;
  // Its bytes, as they were asked for.
  size_t bytes;
  // Its kind.
  sw_usm_kind kind;
  // Whether it is the memory of others or of a file, and not the device's own.
  bool foreign;
  // Whether dtype and shape of the array that it was made for are known; else `ndim` is 0.
  bool has_shape;
  // The type of the elements.
  sw_dtype dtype;
  // Number of dimensions.
  size_t ndim;
  // The extents; `ndim` of them.
  int64_t shape[SW_MAX_NDIM];
} sw_live_array;

// One entry of an index, by NumPy's rules; made by sw_index, sw_range, sw_all, sw_new_axis and sw_ellipsis.
typedef struct sw_slice {
  // SW_SLICE_INDEX, SW_SLICE_RANGE, SW_SLICE_NEW_AXIS or SW_SLICE_ELLIPSIS.
  int32_t kind;
  // The element, or the first one.
  int64_t start;
  // One past the last element, in the direction of the step.
  int64_t stop;
  // Distance between elements, not 0.
  int64_t step;
} sw_slice;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// A row-major array in new memory of arbitrary contents.
enum sw_status sw_array_empty(const struct sw_queue *queue,
                              sw_usm_kind kind,
                              sw_dtype dtype,
                              size_t ndim,
                              const int64_t *shape,
                              struct sw_array **array);

// An array in new memory, filled with a number that the dtype has.
enum sw_status sw_array_full(const struct sw_queue *queue,
                             sw_usm_kind kind,
                             sw_dtype dtype,
                             size_t ndim,
                             const int64_t *shape,
                             struct sw_operand value,
                             struct sw_array **array);

// An array in new memory, with elements copied from the host: `bytes` bytes at `data`, in row-major order.
enum sw_status sw_array_from_host(const struct sw_queue *queue,
                                  sw_usm_kind kind,
                                  sw_dtype dtype,
                                  size_t ndim,
                                  const int64_t *shape,
                                  const void *data,
                                  size_t bytes,
                                  struct sw_array **array);

// An array on memory that is there, checked against its size. `strides`, in elements, may be negative; null is row-major
// order. `offset` is the element of the memory that is at multi-index zero, or SW_NONE for the least that fits.
enum sw_status sw_array_on_memory(const struct sw_memory *memory,
                                  sw_dtype dtype,
                                  size_t ndim,
                                  const int64_t *shape,
                                  const int64_t *strides,
                                  int64_t offset,
                                  struct sw_array **array);

// Reads an .npy file, as NumPy writes it.
enum sw_status sw_array_load_npy(const struct sw_queue *queue,
                                 sw_usm_kind kind,
                                 const char *path,
                                 struct sw_array **array);

// Writes the elements to an .npy file, over what is there.
enum sw_status sw_array_save_npy(const struct sw_array *array, const char *path);

// What the array is.
enum sw_status sw_array_describe(const struct sw_array *array, struct sw_array_info *info);

// The memory that the array is on.
enum sw_status sw_array_memory(const struct sw_array *array, struct sw_memory **memory);

// The queue of the array.
enum sw_status sw_array_queue(const struct sw_array *array, struct sw_queue **queue);

// Submits the work that computes the array, if it is recorded only, and gives the event of its end.
enum sw_status sw_array_event(const struct sw_array *array, struct sw_event **event);

// Waits until the elements are there; the failure of the work that computes them is the failure of this call.
enum sw_status sw_array_wait(const struct sw_array *array);

// Copies the elements to the host, `bytes` bytes in row-major order; waits for them. Memory of any kind.
enum sw_status sw_array_read(const struct sw_array *array, void *data, size_t bytes);

// Copies `bytes` bytes of the host, elements in row-major order, into the array; waits until they are there.
enum sw_status sw_array_write(const struct sw_array *array, const void *data, size_t bytes);

// The element of an array that has exactly one, as a pair of doubles; `imaginary` may be null.
enum sw_status sw_array_item(const struct sw_array *array, double *real, double *imaginary);

// Copies elements from an array or number, converted and repeated to this array's shape. `event`, if not null, becomes the
// event of the work.
enum sw_status sw_array_assign(const struct sw_array *array,
                               struct sw_operand source,
                               struct sw_event **event);

// Writes the elements as a text for readers, as sw_device_name does the name; the failure of the work that computes them is
// the failure of this call.
enum sw_status sw_array_text(const struct sw_array *array,
                             char *buffer,
                             size_t capacity,
                             size_t *length);

// Frees the handle; the memory goes when no other array is on it and the work on it is done.
enum sw_status sw_array_free(struct sw_array *array);

// The operation with a name of the array API, such as "add".
enum sw_status sw_op_of_name(const char *name, sw_op *op);

// How many operands an operation has.
enum sw_status sw_op_arity(sw_op op, size_t *arity);

// Applies an operation to arrays and numbers, at least one of them an array: operands are repeated to a common shape and
// converted to a common dtype. The result is recorded; it is computed, in one pass with what it is made of, when something
// asks for it.
enum sw_status sw_elementwise(sw_op op,
                              const struct sw_operand *operands,
                              size_t count,
                              struct sw_array **result);

// Applies an operation and writes the result into an array, now, after the events of `depends`. Operands may overlap the
// array. `event`, if not null, becomes the event of the work.
enum sw_status sw_elementwise_into(sw_op op,
                                   const struct sw_operand *operands,
                                   size_t count,
                                   const struct sw_array *array,
                                   struct sw_event *const *depends,
                                   size_t depends_count,
                                   struct sw_event **event);

// Joins arrays along an axis that they have; with SW_NONE, all elements one after the other.
enum sw_status sw_concat(struct sw_array *const *arrays,
                         size_t count,
                         int64_t axis,
                         struct sw_array **result);

// Reduces over axes; `axes` null: over all. With `keep_dims` the reduced axes stay, with extent 1.
enum sw_status sw_array_reduce(const struct sw_array *array,
                               sw_reduction reduction,
                               const int64_t *axes,
                               size_t count,
                               bool keep_dims,
                               struct sw_array **result);

// How many devices there are.
enum sw_status sw_device_count(size_t *count);

// The device with a number from 0 to the count less 1.
enum sw_status sw_device_at(size_t number, struct sw_device **device);

// The device that work goes to where none is named: that of the environment variable STRIDEWISE_DEVICE, else the first
// GPU, else the host.
enum sw_status sw_device_default(struct sw_device **device);

// The first device that answers to a filter string, "backend:type:index", each part optional: "host", "opencl:gpu:1".
enum sw_status sw_device_select(const char *filter,
                                struct sw_device **device);

// Writes the device's name into a buffer of `capacity` bytes, cut off where it is too long, with a zero byte at its end.
// `length`, if not null, becomes the length of the whole name without that byte.
enum sw_status sw_device_name(const struct sw_device *device,
                              char *buffer,
                              size_t capacity,
                              size_t *length);

// Writes the filter string that selects the device, as sw_device_name does the name.
enum sw_status sw_device_filter(const struct sw_device *device,
                                char *buffer,
                                size_t capacity,
                                size_t *length);

// Frees the handle.
enum sw_status sw_device_free(struct sw_device *device);

// Exports an array in memory that host code may touch as a tensor of DLPack 1.x that shares the memory. Work on it is done
// when this returns. Whoever takes the tensor calls its deleter once, from any thread.
enum sw_status sw_array_to_dlpack(const struct sw_array *array,
                                  DLManagedTensorVersioned **tensor);

// As sw_array_to_dlpack, in the form from before DLPack 1.0, which read-only arrays have none of.
enum sw_status sw_array_to_dlpack_legacy(const struct sw_array *array, DLManagedTensor **tensor);

// Takes a tensor of DLPack 1.x in the processor's memory as an array that shares its memory, on a queue of the host. The
// tensor's deleter is called when no array is on the memory any more and the work on it is done, from whichever thread
// that is. Every field is checked; where this call fails, the tensor is still the caller's.
enum sw_status sw_array_from_dlpack(const struct sw_queue *queue,
                                    DLManagedTensorVersioned *tensor,
                                    struct sw_array **array);

// As sw_array_from_dlpack, for the form from before DLPack 1.0, which cannot say that the memory may be written: the array
// is read-only.
enum sw_status sw_array_from_dlpack_legacy(const struct sw_queue *queue,
                                           DLManagedTensor *tensor,
                                           struct sw_array **array);

// Waits until the command is done; its failure, if it failed, is the failure of this call.
enum sw_status sw_event_wait(const struct sw_event *event);

// Waits for several commands, the failed ones too; the first failure is the failure of this call.
enum sw_status sw_event_wait_all(struct sw_event *const *events, size_t count);

// Where the command is; never waits.
enum sw_status sw_event_status(const struct sw_event *event, enum sw_event_state *state);

// The time stamps of a finished command of a queue with SW_QUEUE_PROFILING.
enum sw_status sw_event_profile(const struct sw_event *event, struct sw_profile *profile);

// Frees the handle; the command goes on.
enum sw_status sw_event_free(struct sw_event *event);

// Compiles a text of OpenCL C for a queue's device. `options`, which may be null, are those of clBuildProgram. A device that
// takes no sources answers with SW_ERROR_UNSUPPORTED; a compiler's complaints are the text of sw_last_error, after
// SW_ERROR_COMPILATION.
enum sw_status sw_kernel_bundle_from_source(const struct sw_queue *queue,
                                            const char *source,
                                            const char *options,
                                            struct sw_kernel_bundle **bundle);

// As sw_kernel_bundle_from_source, of a module of SPIR-V of so many bytes.
enum sw_status sw_kernel_bundle_from_spirv(const struct sw_queue *queue,
                                           const void *code,
                                           size_t bytes,
                                           const char *options,
                                           struct sw_kernel_bundle **bundle);

// The kernel of a name.
enum sw_status sw_kernel_bundle_kernel(const struct sw_kernel_bundle *bundle,
                                       const char *name,
                                       struct sw_kernel **kernel);

// Frees the handle; kernels of the bundle stay.
enum sw_status sw_kernel_bundle_free(struct sw_kernel_bundle *bundle);

// What is known of a kernel.
enum sw_status sw_kernel_get_info(const struct sw_kernel *kernel, struct sw_kernel_info *info);

// Launches a kernel over `ndim` extents of work-items, 1 to 3, the last of which is OpenCL's dimension 0, in work-groups of
// as many extents, or of the runtime's choice where `group` is null; behind what accesses the arguments now, and behind the
// events of `depends`. Arguments count as read and written, unless their parameter (const, constant) or they themselves say
// that they are only read. `event`, if not null, becomes the event of the work.
//
// The kernel is trusted: it may access no memory but its arguments', within their bounds, and has to end.
enum sw_status sw_kernel_launch(const struct sw_kernel *kernel,
                                const struct sw_queue *queue,
                                size_t ndim,
                                const int64_t *global,
                                const int64_t *group,
                                const struct sw_argument *arguments,
                                size_t count,
                                struct sw_event *const *depends,
                                size_t depends_count,
                                struct sw_event **event);

// Frees the handle; launches go on.
enum sw_status sw_kernel_free(struct sw_kernel *kernel);

// Allocates memory of arbitrary contents. `alignment` is a power of two in bytes, or 0 for what suits every dtype.
enum sw_status sw_memory_create(const struct sw_queue *queue,
                                sw_usm_kind kind,
                                size_t bytes,
                                size_t alignment,
                                struct sw_memory **memory);

// Hands memory in that something else allocated and that the queue's device can use. Until the deleter is called it has to
// stay, and nothing else may write to it while work here reads or writes it, nor read what work here writes. `deleter` may
// be null. Where this call fails, the memory is still the caller's, and the deleter is not called.
//
// An address that came from here (sw_memory_export, DLPack) is adopted as a part of the memory that it is of, which is kept
// as long as the part is, and is read-only where that is.
enum sw_status sw_memory_adopt(const struct sw_queue *queue,
                               sw_usm_kind kind,
                               void *pointer,
                               size_t bytes,
                               sw_deleter deleter,
                               void *context,
                               struct sw_memory **memory);

// The size in bytes.
enum sw_status sw_memory_bytes(const struct sw_memory *memory, size_t *bytes);

// The kind.
enum sw_status sw_memory_kind(const struct sw_memory *memory, sw_usm_kind *kind);

// The queue that works on the memory by default.
enum sw_status sw_memory_queue(const struct sw_memory *memory, struct sw_queue **queue);

// The address, for use outside, as long as a handle of the memory or of an array on it is there. All work on the memory is
// done when this returns, and from now on work on it is done when the call returns that asks for it, unless that call
// names events to wait for. Host code may follow the address where the kind allows it.
enum sw_status sw_memory_export(const struct sw_memory *memory,
                                void **pointer);

// Copies `bytes` bytes from `offset` on to the host; waits for the work on them.
enum sw_status sw_memory_read(const struct sw_memory *memory, size_t offset, void *data, size_t bytes);

// Copies `bytes` bytes of the host to `offset` and on; waits until they are there.
enum sw_status sw_memory_write(const struct sw_memory *memory, size_t offset, const void *data, size_t bytes);

// Copies bytes between memory of any kinds and devices, after the events of `depends`. `event`, if not null, becomes the
// event of the copy. Ranges that overlap are copied as if through a buffer.
enum sw_status sw_memcpy(const struct sw_queue *queue,
                         const struct sw_memory *target,
                         size_t target_offset,
                         const struct sw_memory *source,
                         size_t source_offset,
                         size_t bytes,
                         struct sw_event *const *depends,
                         size_t depends_count,
                         struct sw_event **event);

// Repeats the element at `value`, of a dtype, `len` times from `offset` bytes on, after the events of `depends`. `event`, if
// not null, becomes the event of the work.
enum sw_status sw_fill(const struct sw_queue *queue,
                       const struct sw_memory *memory,
                       size_t offset,
                       sw_dtype dtype,
                       const void *value,
                       size_t len,
                       struct sw_event *const *depends,
                       size_t depends_count,
                       struct sw_event **event);

// Frees the handle; the memory goes when no array is on it and the work on it is done.
enum sw_status sw_memory_free(struct sw_memory *memory);

// The queue that work goes to where none is named; the same one every time.
enum sw_status sw_queue_default(struct sw_queue **queue);

// The host's queue, the one that works on memory of the processor in place; the same one every time.
enum sw_status sw_queue_host(struct sw_queue **queue);

// A new queue on a device. `properties`: SW_QUEUE_IN_ORDER, SW_QUEUE_PROFILING, both joined by |, or 0.
enum sw_status sw_queue_create(const struct sw_device *device, uint32_t properties, struct sw_queue **queue);

// The queue's device.
enum sw_status sw_queue_device(const struct sw_queue *queue, struct sw_device **device);

// Whether two handles stand for the same queue.
enum sw_status sw_queue_equal(const struct sw_queue *first, const struct sw_queue *second, bool *equal);

// Submits all work that is recorded for arrays of the queue.
enum sw_status sw_queue_flush(const struct sw_queue *queue);

// Submits all recorded work and waits until everything submitted to the queue is done. The failure of a command is its
// event's.
enum sw_status sw_queue_wait(const struct sw_queue *queue);

// An event that is complete when the events of `depends` are or, where there are none, when everything submitted so far
// to the queue is.
enum sw_status sw_queue_barrier(const struct sw_queue *queue,
                                struct sw_event *const *depends,
                                size_t depends_count,
                                struct sw_event **event);

// Frees the handle; work submitted to the queue goes on.
enum sw_status sw_queue_free(struct sw_queue *queue);

// What the last failed call of this thread complains about, how, and how to mend it; empty where none has failed. Valid
// until the next failing call of this thread.
const char *sw_last_error(void);

// The name of a status, such as "SW_ERROR_SHAPE"; "unknown" for any other number.
const char *sw_status_name(int32_t status);

// The version of the library, such as "0.1.0". A header of another version before the last dot does not fit.
const char *sw_version(void);

// How much of the device's memory is in use and held for reuse.
enum sw_status sw_device_memory(const struct sw_device *device, struct sw_memory_usage *usage);

// Sets how many bytes of the device's memory this program may have in use; SW_NO_LIMIT for as many as there are. What would be
// more fails with SW_ERROR_ALLOC, and sw_last_error lists what is in use. What is in use already stays.
enum sw_status sw_device_set_memory_limit(const struct sw_device *device,
                                          uint64_t bytes);

// Gives all memory back to the device that its pool holds for reuse. `freed`, if not null, becomes how many bytes that were.
enum sw_status sw_device_trim(const struct sw_device *device,
                              size_t *freed);

// Opens a scope on the calling thread: what the thread allocates until sw_memory_scope_close is counted. Scopes may be inside each
// other; what is allocated in the inner one counts in the outer ones, too. The name is what sw_live_arrays_describe calls it.
enum sw_status sw_memory_scope_open(const char *name,
                                    struct sw_memory_scope **scope);

// What was allocated in the scope, and what of that is in use now, also after it was closed.
enum sw_status sw_memory_scope_usage(const struct sw_memory_scope *scope, struct sw_scope_usage *usage);

// Closes the scope, and those that were opened in it, on the thread that opened it.
enum sw_status sw_memory_scope_close(const struct sw_memory_scope *scope);

// Frees the handle; a scope that is open on this thread is closed.
enum sw_status sw_memory_scope_free(struct sw_memory_scope *scope);

// What is in use of the device's memory, the largest first; `count` becomes how many entries there are.
enum sw_status sw_device_live_arrays(const struct sw_device *device,
                                     struct sw_live_arrays **arrays,
                                     size_t *count);

// The entry of the list with a number from 0 to the count less 1.
enum sw_status sw_live_arrays_at(const struct sw_live_arrays *arrays,
                                 size_t number,
                                 struct sw_live_array *array);

// Writes what the entry is in words, as sw_device_name writes the name: bytes, kind, dtype and shape, the scopes that it was made
// in.
enum sw_status sw_live_arrays_describe(const struct sw_live_arrays *arrays,
                                       size_t number,
                                       char *buffer,
                                       size_t capacity,
                                       size_t *length);

// Frees the list.
enum sw_status sw_live_arrays_free(struct sw_live_arrays *arrays);

// The view of the elements that an index of `count` entries selects.
enum sw_status sw_array_slice(const struct sw_array *array,
                              const struct sw_slice *items,
                              size_t count,
                              struct sw_array **result);

// The view with the axes in another order; `axes` null reverses them.
enum sw_status sw_array_transpose(const struct sw_array *array,
                                  const int64_t *axes,
                                  size_t count,
                                  struct sw_array **result);

// The elements in another shape, of which one extent may be −1 for what is left: a view where the strides allow it, else
// a copy.
enum sw_status sw_array_reshape(const struct sw_array *array,
                                size_t ndim,
                                const int64_t *shape,
                                struct sw_array **result);

// The read-only view of the elements, repeated to a shape.
enum sw_status sw_array_broadcast(const struct sw_array *array,
                                  size_t ndim,
                                  const int64_t *shape,
                                  struct sw_array **result);

// A view through which nothing is written.
enum sw_status sw_array_read_only(const struct sw_array *array, struct sw_array **result);

// The elements converted to a dtype; another handle of the array where it has the dtype.
enum sw_status sw_array_astype(const struct sw_array *array, sw_dtype dtype, struct sw_array **result);

// A row-major copy in memory of its own.
enum sw_status sw_array_copy(const struct sw_array *array, struct sw_array **result);

// The array in memory of a kind: another handle of the array where it is in such memory, else a copy.
enum sw_status sw_array_to_kind(const struct sw_array *array, sw_usm_kind kind, struct sw_array **result);

// The array on another queue: a view where both queues are of one context, else a copy on the other device.
enum sw_status sw_array_to_queue(const struct sw_array *array,
                                 const struct sw_queue *queue,
                                 struct sw_array **result);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* STRIDEWISE_H */

// An array as an operand.
static inline sw_operand sw_of(const sw_array *array) {
  sw_operand operand = {SW_OPERAND_ARRAY, array, 0, 0.0, 0.0};
  return operand;
}

// A truth value as an operand.
static inline sw_operand sw_bool(bool value) {
  sw_operand operand = {SW_OPERAND_BOOL, NULL, value ? 1 : 0, 0.0, 0.0};
  return operand;
}

// An integer as an operand.
static inline sw_operand sw_integer(int64_t value) {
  sw_operand operand = {SW_OPERAND_INTEGER, NULL, value, 0.0, 0.0};
  return operand;
}

// A real number as an operand.
static inline sw_operand sw_real(double value) {
  sw_operand operand = {SW_OPERAND_REAL, NULL, 0, value, 0.0};
  return operand;
}

// A complex number as an operand.
static inline sw_operand sw_complex(double real, double imaginary) {
  sw_operand operand = {SW_OPERAND_COMPLEX, NULL, 0, real, imaginary};
  return operand;
}

// A contiguous array as an argument of a kernel.
static inline sw_argument sw_argument_array(const sw_array *array) {
  sw_argument argument = {SW_ARGUMENT_ARRAY, false, array, NULL, 0, 0, (sw_dtype)0, NULL};
  return argument;
}

// Bytes of memory as an argument of a kernel.
static inline sw_argument sw_argument_memory(const sw_memory *memory, size_t offset, size_t bytes) {
  sw_argument argument = {SW_ARGUMENT_MEMORY, false, NULL, memory, offset, bytes, (sw_dtype)0, NULL};
  return argument;
}

// The value of a dtype at an address as an argument of a kernel.
static inline sw_argument sw_argument_scalar(sw_dtype dtype, const void *value) {
  sw_argument argument = {SW_ARGUMENT_SCALAR, false, NULL, NULL, 0, 0, dtype, value};
  return argument;
}

// A value of any type, of so many bytes, as an argument of a kernel.
static inline sw_argument sw_argument_bytes(const void *value, size_t bytes) {
  sw_argument argument = {SW_ARGUMENT_BYTES, false, NULL, NULL, 0, bytes, (sw_dtype)0, value};
  return argument;
}

// So many bytes of local memory as an argument of a kernel.
static inline sw_argument sw_argument_local(size_t bytes) {
  sw_argument argument = {SW_ARGUMENT_LOCAL, false, NULL, NULL, 0, bytes, (sw_dtype)0, NULL};
  return argument;
}

// The same argument, which the kernel only reads, whatever its parameter says.
static inline sw_argument sw_argument_only_read(sw_argument argument) {
  argument.read_only = true;
  return argument;
}

// x[index]
static inline sw_slice sw_index(int64_t index) {
  sw_slice item = {SW_SLICE_INDEX, index, 0, 0};
  return item;
}

// x[start:stop:step]; either end may be SW_NONE.
static inline sw_slice sw_range(int64_t start, int64_t stop, int64_t step) {
  sw_slice item = {SW_SLICE_RANGE, start, stop, step};
  return item;
}

// x[:]
static inline sw_slice sw_all(void) {
  return sw_range(SW_NONE, SW_NONE, 1);
}

// x[None]
static inline sw_slice sw_new_axis(void) {
  sw_slice item = {SW_SLICE_NEW_AXIS, 0, 0, 0};
  return item;
}

// x[...]
static inline sw_slice sw_ellipsis(void) {
  sw_slice item = {SW_SLICE_ELLIPSIS, 0, 0, 0};
  return item;
}
