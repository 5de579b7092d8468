// The hillshade of an elevation model: what the ground looks like in the light of the sun.
//
//     hillshade [INPUT.npy OUTPUT.npy]
//
// Without arguments, it shades a hill of its own making. Gradients by Horn (1981), illumination as in Burrough and
// McDonell, Principles of Geographical Information Systems (1998).

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "stridewise.h"

#define RADIANS (3.14159265358979323846 / 180.0)

static const double CELL_X_M = 74.5, CELL_Y_M = 92.8, AZIMUTH = 315.0, ALTITUDE = 45.0;

static void check(sw_status status) {
  if (status != SW_OK) {
    fprintf(stderr, "hillshade: %s\n", sw_last_error());
    exit(EXIT_FAILURE);
  }
}

// Puts an array in the place of another.
static void put(sw_array **target, sw_array *value) {
  if (*target) check(sw_array_free(*target));
  *target = value;
}

// target = op(x), target = op(x, y). What stood there may be an operand. Nothing is computed yet: all of it becomes one pass.
static void unary(sw_array **target, sw_op op, sw_operand x) {
  sw_array *result;
  check(sw_elementwise(op, &x, 1, &result));
  put(target, result);
}

static void binary(sw_array **target, sw_op op, sw_operand x, sw_operand y) {
  const sw_operand operands[] = {x, y};
  sw_array *result;
  check(sw_elementwise(op, operands, 2, &result));
  put(target, result);
}

static sw_array *window(const sw_array *array, sw_slice rows, sw_slice columns) {
  const sw_slice items[] = {rows, columns};
  sw_array *result;
  check(sw_array_slice(array, items, 2, &result));
  return result;
}

// The array with its first and last entries along an axis once more.
static sw_array *pad(sw_array *array, int64_t axis) {
  const sw_slice first = sw_range(SW_NONE, 1, 1), last = sw_range(-1, SW_NONE, 1);
  sw_array *before = axis == 0 ? window(array, first, sw_all()) : window(array, sw_all(), first);
  sw_array *after = axis == 0 ? window(array, last, sw_all()) : window(array, sw_all(), last);
  sw_array *const parts[] = {before, array, after};
  sw_array *result;
  check(sw_concat(parts, 3, axis, &result));
  check(sw_array_free(before));
  check(sw_array_free(after));
  return result;
}

// target = x + 2 y + z
static void weigh(sw_array **target, const sw_array *x, const sw_array *y, const sw_array *z) {
  binary(target, SW_OP_MULTIPLY, sw_of(y), sw_real(2.0));
  binary(target, SW_OP_ADD, sw_of(x), sw_of(*target));
  binary(target, SW_OP_ADD, sw_of(*target), sw_of(z));
}

// target = (x - y) / by
static void gradient(sw_array **target, sw_array *x, sw_array *y, float by) {
  binary(target, SW_OP_SUBTRACT, sw_of(x), sw_of(y));
  binary(target, SW_OP_DIVIDE, sw_of(*target), sw_real(by));
}

static sw_array *hillshade(sw_array *elevation) {
  sw_array_info model;
  check(sw_array_describe(elevation, &model));
  sw_array *rows = pad(elevation, 0), *padded = pad(rows, 1);

  // The neighbours of every cell: views of the padded model, row by row.
  sw_array *near[3][3];
  for (int64_t down = 0; down < 3; ++down)
    for (int64_t right = 0; right < 3; ++right)
      near[down][right] =
          window(padded, sw_range(down, down + model.shape[0], 1), sw_range(right, right + model.shape[1], 1));

  sw_array *more = NULL, *less = NULL, *dx = NULL, *dy = NULL;
  weigh(&more, near[0][2], near[1][2], near[2][2]);
  weigh(&less, near[0][0], near[1][0], near[2][0]);
  gradient(&dx, more, less, (float)(8.0 * CELL_X_M));
  weigh(&more, near[2][0], near[2][1], near[2][2]);
  weigh(&less, near[0][0], near[0][1], near[0][2]);
  gradient(&dy, more, less, (float)(8.0 * CELL_Y_M));

  // slope = atan(sqrt(dx² + dy²)), aspect = atan2(dy, -dx)
  sw_array *slope = NULL, *aspect = NULL, *shade = NULL;
  binary(&more, SW_OP_MULTIPLY, sw_of(dx), sw_of(dx));
  binary(&less, SW_OP_MULTIPLY, sw_of(dy), sw_of(dy));
  binary(&slope, SW_OP_ADD, sw_of(more), sw_of(less));
  unary(&slope, SW_OP_SQRT, sw_of(slope));
  unary(&slope, SW_OP_ATAN, sw_of(slope));
  unary(&aspect, SW_OP_NEGATIVE, sw_of(dx));
  binary(&aspect, SW_OP_ATAN2, sw_of(dy), sw_of(aspect));

  // shade = 255 clip(cos(slope) cos(zenith) + sin(slope) sin(zenith) cos(light - aspect), 0, 1)
  const double zenith = (90.0 - ALTITUDE) * RADIANS, light = (360.0 - AZIMUTH + 90.0) * RADIANS;
  unary(&more, SW_OP_COS, sw_of(slope));
  binary(&more, SW_OP_MULTIPLY, sw_of(more), sw_real((float)cos(zenith)));
  unary(&less, SW_OP_SIN, sw_of(slope));
  binary(&less, SW_OP_MULTIPLY, sw_of(less), sw_real((float)sin(zenith)));
  binary(&aspect, SW_OP_SUBTRACT, sw_real((float)light), sw_of(aspect));
  unary(&aspect, SW_OP_COS, sw_of(aspect));
  binary(&less, SW_OP_MULTIPLY, sw_of(less), sw_of(aspect));
  binary(&shade, SW_OP_ADD, sw_of(more), sw_of(less));
  const sw_operand limits[] = {sw_of(shade), sw_real(0.0), sw_real(1.0)};
  sw_array *within;
  check(sw_elementwise(SW_OP_CLIP, limits, 3, &within));
  put(&shade, within);
  binary(&shade, SW_OP_MULTIPLY, sw_of(shade), sw_real(255.0));

  sw_array *used[] = {more, less, dx, dy, slope, aspect, rows, padded};
  for (size_t i = 0; i < sizeof used / sizeof *used; ++i) check(sw_array_free(used[i]));
  for (int place = 0; place < 9; ++place) check(sw_array_free(near[place / 3][place % 3]));
  return shade;
}

static sw_array *hill(const sw_queue *queue) {
  enum { ROWS = 120, COLUMNS = 160 };
  static float heights[ROWS][COLUMNS];
  for (int row = 0; row < ROWS; ++row)
    for (int column = 0; column < COLUMNS; ++column) {
      const double y = (row - 60) / 30.0, x = (column - 80) / 40.0;
      heights[row][column] = (float)(900.0 * exp(-x * x - y * y));
    }
  const int64_t shape[] = {ROWS, COLUMNS};
  sw_array *array;
  check(sw_array_from_host(queue, SW_USM_SHARED, SW_FLOAT32, 2, shape, heights, sizeof heights, &array));
  return array;
}

static sw_array *load(const sw_queue *queue, const char *path) {
  sw_array *file, *heights;
  check(sw_array_load_npy(queue, SW_USM_SHARED, path, &file));
  check(sw_array_astype(file, SW_FLOAT32, &heights));
  check(sw_array_free(file));
  return heights;
}

static double reduced(const sw_array *array, sw_reduction reduction) {
  sw_array *result;
  double value;
  check(sw_array_reduce(array, reduction, NULL, 0, false, &result));
  check(sw_array_item(result, &value, NULL));
  check(sw_array_free(result));
  return value;
}

int main(int argc, char **argv) {
  if (argc != 1 && argc != 3) {
    fprintf(stderr, "usage: %s [INPUT.npy OUTPUT.npy]\n", argv[0]);
    return EXIT_FAILURE;
  }
  sw_queue *queue;
  check(sw_queue_default(&queue));
  sw_array *elevation = argc == 3 ? load(queue, argv[1]) : hill(queue);
  sw_array *shade = hillshade(elevation);
  printf("elevation: %g to %g m\n", reduced(elevation, SW_REDUCE_MIN), reduced(elevation, SW_REDUCE_MAX));
  printf("shade: %.3f to %.3f, mean %.3f\n", reduced(shade, SW_REDUCE_MIN), reduced(shade, SW_REDUCE_MAX),
         reduced(shade, SW_REDUCE_MEAN));
  if (argc == 3) check(sw_array_save_npy(shade, argv[2]));
  check(sw_array_free(shade));
  check(sw_array_free(elevation));
  check(sw_queue_free(queue));
  return EXIT_SUCCESS;
}
