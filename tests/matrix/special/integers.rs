//! Integers at the ends of their range. The array API standard leaves these cases to the implementation; here all
//! arithmetic wraps, a division by 0 is 0, a shift by a negative count or by the width and more moves every bit out, and a
//! negative power is the truncated reciprocal, 0 where that would be a division by 0.

pub(super) const TABLE: &str = "
# integer
positive(any) = x1
conj(any) = x1
real(any) = x1
imag(any) = 0
floor(any) = x1
ceil(any) = x1
trunc(any) = x1
round(any) = x1
sign(positive) = 1
sign(0) = 0
abs(0 or more) = x1
negative(0) = 0

add(any, 0) = x1
add(0, any) = x2
add(max, 1) = min
add(1, max) = min
subtract(any, 0) = x1
subtract(any, x1) = 0
subtract(min, 1) = max
subtract(min, max) = 1
multiply(any, 0) = 0
multiply(0, any) = 0
multiply(any, 1) = x1
multiply(max, max) = 1
square(0) = 0
square(1) = 1
square(max) = 1

floor_divide(any, 0) = 0
floor_divide(0, any) = 0
floor_divide(any, 1) = x1
floor_divide(nonzero, x1) = 1
floor_divide(7, 2) = 3
floor_divide(6, 2) = 3
floor_divide(max, max) = 1
floor_divide(1, max) = 0
remainder(any, 0) = 0
remainder(0, any) = 0
remainder(any, 1) = 0
remainder(any, x1) = 0
remainder(7, 2) = 1
remainder(6, 2) = 0
remainder(1, max) = 1

pow(any, 0) = 1
pow(any, 1) = x1
pow(0, positive) = 0
pow(1, any) = 1
pow(2, width) = 0
pow(2, 3) = 8
pow(3, 2) = 9
pow(max, 2) = 1

minimum(any, min) = min
minimum(any, max) = x1
minimum(min, max) = min
maximum(any, max) = max
maximum(any, min) = x1
maximum(max, min) = max
clip(any, min, max) = x1
clip(max, 1, 7) = 7
clip(min, 1, 7) = 1
clip(any, 3, 3) = 3

equal(any, x1) = true
equal(min, max) = false
equal(max, min) = false
not_equal(any, x1) = false
not_equal(min, max) = true
less(any, x1) = false
less(min, max) = true
less(max, min) = false
less_equal(any, x1) = true
less_equal(min, max) = true
less_equal(max, min) = false
greater(any, x1) = false
greater(max, min) = true
greater(min, max) = false
greater_equal(any, x1) = true
greater_equal(max, min) = true
greater_equal(min, max) = false

isnan(any) = false
isinf(any) = false
isfinite(any) = true
logical_not(0) = true
logical_not(nonzero) = false
logical_and(nonzero, nonzero) = true
logical_and(any, 0) = false
logical_and(0, any) = false
logical_or(0, 0) = false
logical_or(any, nonzero) = true
logical_or(nonzero, any) = true
logical_xor(0, 0) = false
logical_xor(nonzero, nonzero) = false
logical_xor(0, nonzero) = true
logical_xor(nonzero, 0) = true

bitwise_and(any, 0) = 0
bitwise_and(any, x1) = x1
bitwise_or(any, 0) = x1
bitwise_or(any, x1) = x1
bitwise_xor(any, 0) = x1
bitwise_xor(any, x1) = 0

bitwise_left_shift(any, 0) = x1
bitwise_left_shift(0, any) = 0
bitwise_left_shift(any, width) = 0
bitwise_left_shift(any, above width) = 0
bitwise_left_shift(1, 3) = 8
bitwise_right_shift(any, 0) = x1
bitwise_right_shift(0, any) = 0
bitwise_right_shift(0 or more, width) = 0
bitwise_right_shift(0 or more, above width) = 0
bitwise_right_shift(100, 3) = 12

where(true, any, any) = x2
where(false, any, any) = x3

# signed
sign(negative) = -1
abs(min) = min
abs(-1) = 1
abs(-100) = 100
negative(min) = min
negative(max) = -max
negative(1) = -1
negative(-1) = 1
add(min, -1) = max
add(min, min) = 0
subtract(max, -1) = min
subtract(0, min) = min
subtract(-1, max) = min
multiply(min, -1) = min
multiply(-1, min) = min
multiply(min, min) = 0
multiply(max, 2) = -2
square(min) = 0
square(-3) = 9
square(-1) = 1

floor_divide(min, -1) = min
floor_divide(max, -1) = -max
floor_divide(min, min) = 1
floor_divide(max, min) = -1
floor_divide(-7, 2) = -4
floor_divide(7, -2) = -4
floor_divide(-7, -2) = 3
floor_divide(-1, max) = -1
floor_divide(1, min) = -1
remainder(min, -1) = 0
remainder(any, -1) = 0
remainder(-7, 2) = 1
remainder(7, -2) = -1
remainder(-7, -2) = -1
remainder(-1, max) = premax
remainder(1, min) = -max
remainder(max, min) = -1

pow(0, negative) = 0
pow(1, negative) = 1
pow(-1, odd<0) = -1
pow(-1, even<0) = 1
pow(|x|>1, negative) = 0
pow(-2, 3) = -8
pow(-1, max) = -1
pow(min, 2) = 0
pow(-2, width) = 0

minimum(-1, 1) = -1
maximum(-1, 1) = 1
less(-1, 0) = true
greater(0, -1) = true
less_equal(1, -1) = false
greater_equal(-1, 1) = false

bitwise_invert(0) = -1
bitwise_invert(-1) = 0
bitwise_invert(max) = min
bitwise_invert(min) = max
bitwise_and(any, -1) = x1
bitwise_and(min, max) = 0
bitwise_or(any, -1) = -1
bitwise_or(min, max) = -1
bitwise_xor(min, max) = -1

bitwise_left_shift(any, negative) = 0
bitwise_left_shift(1, width-1) = min
bitwise_left_shift(-1, width-1) = min
bitwise_left_shift(min, 1) = 0
bitwise_right_shift(negative, width) = -1
bitwise_right_shift(negative, above width) = -1
bitwise_right_shift(negative, negative) = -1
bitwise_right_shift(0 or more, negative) = 0
bitwise_right_shift(min, width-1) = -1
bitwise_right_shift(max, width-1) = 0
bitwise_right_shift(-1, any) = -1
bitwise_right_shift(-7, 1) = -4

# unsigned
negative(1) = max
negative(max) = 1
subtract(0, 1) = max
subtract(0, max) = 1
multiply(max, 2) = premax
floor_divide(max, 2) = half
remainder(max, 2) = 1
bitwise_invert(0) = max
bitwise_invert(max) = 0
bitwise_and(any, max) = x1
bitwise_or(any, max) = max
bitwise_left_shift(1, width-1) = high
bitwise_left_shift(max, width-1) = high
bitwise_right_shift(max, width-1) = 1
bitwise_right_shift(high, width-1) = 1
";
