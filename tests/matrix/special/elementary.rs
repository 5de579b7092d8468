//! Elementary functions of real floating-point numbers: the special cases of the array API standard 2025.12; those of
//! `cbrt`, `exp2`, `rsqrt` and `erf` are C23's (annex F), those of `sigmoid` follow from its definition.

pub(super) const TABLE: &str = "
# float
sqrt(nan) = nan
sqrt(<0) = nan
sqrt(+0) = +0
sqrt(-0) = -0
sqrt(+inf) = +inf
sqrt(1) = 1
sqrt(4) = 2

rsqrt(nan) = nan
rsqrt(<0) = nan
rsqrt(+0) = +inf
rsqrt(-0) = -inf
rsqrt(+inf) = +0
rsqrt(1) = ~1
rsqrt(4) = ~0.5

cbrt(nan) = nan
cbrt(+0) = +0
cbrt(-0) = -0
cbrt(+inf) = +inf
cbrt(-inf) = -inf
cbrt(1) = ~1
cbrt(-1) = ~-1
cbrt(8) = ~2
cbrt(-27) = ~-3

hypot(±inf, any) = +inf
hypot(any, ±inf) = +inf
hypot(±0, finite) = |x2|
hypot(finite, ±0) = |x1|
hypot(finite or nan, nan) = nan
hypot(nan, finite or nan) = nan
hypot(3, -4) = ~5
hypot(max, max) = +inf
hypot(max, tiny) = ~x1
hypot(tiny, tiny) = ~x1
hypot(normal, tiny) = ~x1

exp(nan) = nan
exp(+0) = 1
exp(-0) = 1
exp(+inf) = +inf
exp(-inf) = +0
exp(max) = +inf
exp(-max) = +0
exp(tiny) = ~1
exp(-tiny) = ~1

exp2(nan) = nan
exp2(+0) = 1
exp2(-0) = 1
exp2(+inf) = +inf
exp2(-inf) = +0
exp2(max) = +inf
exp2(-max) = +0
exp2(3) = ~8
exp2(-1) = ~0.5

expm1(nan) = nan
expm1(+0) = +0
expm1(-0) = -0
expm1(+inf) = +inf
expm1(-inf) = -1
expm1(max) = +inf
expm1(-max) = ~-1
expm1(normal) = ~x1
expm1(-tiny) = ~x1

log(nan) = nan
log(<0) = nan
log(±0) = -inf
log(1) = +0
log(+inf) = +inf

log1p(nan) = nan
log1p(<-1) = nan
log1p(-1) = -inf
log1p(-0) = -0
log1p(+0) = +0
log1p(+inf) = +inf
log1p(normal) = ~x1
log1p(-tiny) = ~x1

log2(nan) = nan
log2(<0) = nan
log2(±0) = -inf
log2(1) = +0
log2(+inf) = +inf
log2(8) = ~3
log2(0.5) = ~-1

log10(nan) = nan
log10(<0) = nan
log10(±0) = -inf
log10(1) = +0
log10(+inf) = +inf
log10(100) = ~2

logaddexp(any, nan) = nan
logaddexp(nan, any) = nan
logaddexp(+inf, not nan) = +inf
logaddexp(not nan, +inf) = +inf
logaddexp(-inf, -inf) = -inf
logaddexp(-inf, nonzero) = ~x2
logaddexp(nonzero, -inf) = ~x1
logaddexp(max, max) = ~x1
logaddexp(-max, -max) = ~x1
logaddexp(max, -max) = ~x1
logaddexp(±0, ±0) = ~0.6931471805599453

pow(not 1, nan) = nan
pow(1, nan) = 1 or nan
pow(any, +0) = 1
pow(any, -0) = 1
pow(nan, not 0) = nan
pow(|x|>1, +inf) = +inf
pow(|x|>1, -inf) = +0
pow(±1, +inf) = 1
pow(±1, -inf) = 1
pow(1, not nan) = 1
pow(|x|<1, +inf) = +0
pow(|x|<1, -inf) = +inf
pow(+inf, >0) = +inf
pow(+inf, <0) = +0
pow(-inf, odd>0) = -inf
pow(-inf, not odd>0) = +inf
pow(-inf, odd<0) = -0
pow(-inf, not odd<0) = +0
pow(+0, >0) = +0
pow(+0, <0) = +inf
pow(-0, odd>0) = -0
pow(-0, not odd>0) = +0
pow(-0, odd<0) = -inf
pow(-0, not odd<0) = +inf
pow(finite<0, fraction) = nan
pow(-1, even) = 1
pow(-1, odd>0) = -1
pow(-1, odd<0) = -1
pow(any, 1) = ~x1
pow(2, 3) = ~8
pow(-2, 3) = ~-8
pow(-2, 2) = ~4
pow(-2, -1) = ~-0.5
pow(max, 2) = +inf
pow(-max, 3) = -inf
pow(tiny, 2) = +0
pow(-tiny, 3) = -0

sin(nan) = nan
sin(+0) = +0
sin(-0) = -0
sin(±inf) = nan
sin(normal) = ~x1
sin(-tiny) = ~x1

cos(nan) = nan
cos(+0) = 1
cos(-0) = 1
cos(+inf) = nan
cos(-inf) = nan
cos(tiny) = ~1

tan(nan) = nan
tan(+0) = +0
tan(-0) = -0
tan(±inf) = nan
tan(normal) = ~x1
tan(-tiny) = ~x1

asin(nan) = nan
asin(>1) = nan
asin(<-1) = nan
asin(+0) = +0
asin(-0) = -0
asin(1) = π/2
asin(-1) = -π/2
asin(-tiny) = ~x1

acos(nan) = nan
acos(>1) = nan
acos(<-1) = nan
acos(1) = +0
acos(-1) = π
acos(±0) = π/2

atan(nan) = nan
atan(+0) = +0
atan(-0) = -0
atan(+inf) = π/2
atan(-inf) = -π/2
atan(1) = π/4
atan(-1) = -π/4
atan(-tiny) = ~x1

atan2(any, nan) = nan
atan2(nan, any) = nan
atan2(>0, +0) = π/2
atan2(>0, -0) = π/2
atan2(+0, >0) = +0
atan2(+0, +0) = +0
atan2(+0, -0) = π
atan2(+0, <0) = π
atan2(-0, >0) = -0
atan2(-0, +0) = -0
atan2(-0, -0) = -π
atan2(-0, <0) = -π
atan2(<0, +0) = -π/2
atan2(<0, -0) = -π/2
atan2(finite>0, +inf) = +0
atan2(finite>0, -inf) = π
atan2(finite<0, +inf) = -0
atan2(finite<0, -inf) = -π
atan2(+inf, finite) = π/2
atan2(-inf, finite) = -π/2
atan2(+inf, +inf) = π/4
atan2(+inf, -inf) = 3π/4
atan2(-inf, +inf) = -π/4
atan2(-inf, -inf) = -3π/4
atan2(finite>0, x1) = π/4
atan2(finite>0, -x1) = 3π/4
atan2(finite<0, -x1) = -π/4
atan2(finite<0, x1) = -3π/4

sinh(nan) = nan
sinh(+0) = +0
sinh(-0) = -0
sinh(+inf) = +inf
sinh(-inf) = -inf
sinh(max) = +inf
sinh(-max) = -inf
sinh(-tiny) = ~x1

cosh(nan) = nan
cosh(+0) = 1
cosh(-0) = 1
cosh(+inf) = +inf
cosh(-inf) = +inf
cosh(max) = +inf
cosh(-max) = +inf
cosh(tiny) = ~1

tanh(nan) = nan
tanh(+0) = +0
tanh(-0) = -0
tanh(+inf) = 1
tanh(-inf) = -1
tanh(max) = ~1
tanh(-max) = ~-1
tanh(-tiny) = ~x1

asinh(nan) = nan
asinh(+0) = +0
asinh(-0) = -0
asinh(+inf) = +inf
asinh(-inf) = -inf
asinh(-tiny) = ~x1

acosh(nan) = nan
acosh(<1) = nan
acosh(1) = +0
acosh(+inf) = +inf

atanh(nan) = nan
atanh(<-1) = nan
atanh(>1) = nan
atanh(-1) = -inf
atanh(1) = +inf
atanh(+0) = +0
atanh(-0) = -0
atanh(-tiny) = ~x1

erf(nan) = nan
erf(+0) = +0
erf(-0) = -0
erf(+inf) = 1
erf(-inf) = -1
erf(max) = ~1
erf(-max) = ~-1

sigmoid(nan) = nan
sigmoid(±0) = ~0.5
sigmoid(+inf) = 1
sigmoid(-inf) = +0
sigmoid(max) = ~1
sigmoid(-max) = +0
";
