//! Conversions between dtypes: floats to integers truncate and saturate, with 0 for NaN; integers wrap; floats round to
//! the nearest, ties to even; anything but zero is true; complex to real drops the imaginary part.

pub(super) const TABLE: &str = "
# float to integer
astype(nan) = 0
astype(+inf) = max
astype(-inf) = min
astype(±0) = 0
astype(0.5) = 0
astype(-0.5) = 0
astype(below1) = 0
astype(-below1) = 0
astype(1.5) = 1
astype(2.5) = 2
astype(100) = 100
astype(tiny) = 0
astype(-tiny) = 0

# float to signed
astype(-1.5) = -1
astype(-2.5) = -2
astype(-1) = -1
astype(-100) = -100

# float to unsigned
astype(finite<0) = 0

# bf16 f32 f64 to integer
astype(max) = max
astype(-max) = min

# f16 to i8 u8 i16
astype(max) = max
astype(-max) = min

# f16 to i32 i64
astype(max) = 65504
astype(-max) = -65504

# f16 to u16 u32 u64
astype(max) = 65504
astype(-max) = 0

# f16 f32 f64 to i8
astype(127) = 127
astype(127.5) = 127
astype(128) = 127
astype(-128) = -128
astype(-128.5) = -128
astype(-129) = -128

# f16 f32 f64 to u8
astype(255) = 255
astype(255.5) = 255
astype(256) = 255

# bf16 f32 f64 to i32
astype(2147483648) = max
astype(-2147483648) = min
astype(4294967296) = max

# bf16 f32 f64 to u32
astype(2147483648) = 2147483648
astype(4294967296) = max

# bf16 f32 f64 to i64
astype(9223372036854775808) = max
astype(-9223372036854775808) = min
astype(18446744073709551616) = max

# bf16 f32 f64 to u64
astype(9223372036854775808) = 9223372036854775808
astype(18446744073709551616) = max

# float to bool
astype(±0) = false
astype(not 0) = true

# integer to bool
astype(0) = false
astype(nonzero) = true

# bool to bool
astype(any) = x1

# bool to integer
astype(false) = 0
astype(true) = 1

# bool to float
astype(false) = +0
astype(true) = 1

# bool to complex
astype(false) = [+0; +0]
astype(true) = [1; +0]

# complex to bool
astype([±0; ±0]) = false
astype([±0; nan]) = true
astype([nan; ±0]) = true
astype([±0; tiny]) = true
astype([tiny; ±0]) = true
astype([±inf; any]) = true

# signed to unsigned
astype(-1) = max

# integer to integer
astype(0) = 0
astype(1) = 1
astype(100) = 100

# signed to signed
astype(-1) = -1
astype(-100) = -100

# u8 to i8
astype(max) = -1

# u16 to i8 i16
astype(max) = -1

# u32 to i8 i16 i32
astype(max) = -1

# u64 to signed
astype(max) = -1

# i16 i32 i64 to i8
astype(min) = 0
astype(max) = -1

# i32 i64 to i16
astype(min) = 0
astype(max) = -1

# i64 to i32
astype(min) = 0
astype(max) = -1

# u16 u32 u64 to u8
astype(max) = max

# integer to float
astype(0) = +0
astype(1) = 1
astype(100) = 100

# signed to float
astype(-1) = -1
astype(-100) = -100

# u32 u64 to f16
astype(max) = +inf

# i32 i64 to f16
astype(max) = +inf
astype(min) = -inf

# u16 to f16
astype(max) = +inf
astype(65519) = max
astype(65520) = +inf

# i16 to f16
astype(2049) = 2048
astype(2051) = 2052
astype(max) = 32768
astype(min) = -32768

# i32 to f32
astype(16777217) = 16777216
astype(16777219) = 16777220
astype(max) = 2147483648
astype(min) = -2147483648

# i64 to f64
astype(9007199254740993) = 9007199254740992
astype(9007199254740995) = 9007199254740996
astype(max) = 9223372036854775808
astype(min) = -9223372036854775808

# u64 to f64 f32 bf16
astype(max) = 18446744073709551616

# integer to complex
astype(0) = [+0; +0]
astype(1) = [1; +0]
astype(100) = [100; +0]

# float to float
astype(nan) = nan
astype(+inf) = +inf
astype(-inf) = -inf
astype(+0) = +0
astype(-0) = -0
astype(1) = 1
astype(-1.5) = -1.5

# f16 bf16 f32 f64 to f64
astype(any) = x1

# f16 bf16 f32 to f32
astype(any) = x1

# f16 to f16
astype(any) = x1

# bf16 to bf16
astype(any) = x1

# f64 to f16 bf16 f32
astype(max) = +inf
astype(-max) = -inf
astype(tiny) = +0
astype(-tiny) = -0
astype(above1) = 1
astype(below1) = 1

# bf16 f32 to f16
astype(max) = +inf
astype(-max) = -inf
astype(tiny) = +0
astype(-tiny) = -0

# f32 to bf16
astype(max) = +inf
astype(-max) = -inf
astype(tiny) = +0
astype(-tiny) = -0
astype(257) = 256
astype(259) = 260

# f32 f64 to f16
astype(65504) = max
astype(65519) = max
astype(65520) = +inf
astype(-65520) = -inf
astype(2049) = 2048
astype(2051) = 2052
astype(2.9802322387695312e-8) = +0
astype(-2.9802322387695312e-8) = -0
astype(2.9802325940409414e-8) = tiny
astype(8.940696716308594e-8) = 1.1920928955078125e-7

# f64 to f32
astype(3.4028235677973366e38) = +inf
astype(3.4028235677973362e38) = max
astype(7.006492321624085e-46) = +0
astype(7.006492321624087e-46) = tiny
astype(16777217) = 16777216
astype(16777219) = 16777220

# float to complex
astype(nan) = [nan; +0]
astype(±inf) = [x1; +0]
astype(+0) = [+0; +0]
astype(-0) = [-0; +0]

# complex to float
astype([nan; any]) = nan
astype([+inf; any]) = +inf
astype([-inf; nan]) = -inf
astype([+0; -1]) = +0
astype([-0; any]) = -0
astype([1.5; any]) = 1.5

# complex to integer
astype([nan; any]) = 0
astype([+inf; any]) = max
astype([-inf; nan]) = min
astype([±0; -1]) = 0
astype([1.5; any]) = 1

# complex to complex
astype([some; ±0]) = [re; im]
astype([±0; some]) = [re; im]
astype([nan; ±inf]) = [nan; im]
astype([±inf; nan]) = [re; nan]

# c64 to complex
astype([any; any]) = [re; im]

# c128 to c128
astype([any; any]) = [re; im]

# c128 to c64
astype([above1; below1]) = [1; 1]
astype([max; tiny]) = [+inf; +0]
astype([-tiny; -max]) = [-0; -inf]
";
