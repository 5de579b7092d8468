//! Complex numbers: the special cases of the array API standard 2025.12, which are those of C23's annex G. `[u; v]` is
//! `u + vj`. Rows for a conjugate or negative argument follow by symmetry, those of the trigonometric functions from the
//! hyperbolic ones, those of `log2` and `log10` from `log`, those of operations on the parts from real numbers.
//!
//! Products and quotients of numbers with an infinite or NaN part are left to the implementation, but for those of NaN
//! alone; so are powers.

pub(super) const TABLE: &str = "
# complex
conj([any; any]) = [re; -im]
real([any; any]) = re
imag([any; any]) = im

abs([±inf; any]) = +inf
abs([any; ±inf]) = +inf
abs([±0; any]) = |im|
abs([any; ±0]) = |re|
abs([nan; finite]) = nan
abs([finite; nan]) = nan
abs([nan; nan]) = nan
abs([3; -4]) = ~5

sign([±0; ±0]) = [±0; ±0]
sign([nan; any]) = [nan; nan]
sign([any; nan]) = [nan; nan]
sign([3; -4]) = [~0.6; ~-0.8]

multiply([nan; nan], [nan; nan]) = [nan; nan]
multiply([1; 2], [3; 4]) = [-5; 10]
divide([nan; nan], [nan; nan]) = [nan; nan]
divide([-5; 10], [3; 4]) = [~1; ~2]
square([nan; nan]) = [nan; nan]
square([1; 2]) = [-3; 4]
reciprocal([nan; nan]) = [nan; nan]
reciprocal([3; 4]) = [~0.12; ~-0.16]
pow([nan; nan], [nan; nan]) = [nan; nan]

equal([nan; any], finite) = false
equal([any; nan], finite) = false
equal(finite, [nan; any]) = false
equal(finite, [any; nan]) = false
equal([±0; ±0], [±0; ±0]) = true
equal([±inf; finite], x1) = true
equal([finite; ±inf], x1) = true
equal(finite, x1) = true
equal([1; 2], [1; -2]) = false
equal([1; 2], [-1; 2]) = false
equal([+inf; 1], [-inf; 1]) = false
not_equal([nan; any], finite) = true
not_equal([any; nan], finite) = true
not_equal(finite, [nan; any]) = true
not_equal(finite, [any; nan]) = true
not_equal([±0; ±0], [±0; ±0]) = false
not_equal([±inf; finite], x1) = false
not_equal(finite, x1) = false
not_equal([1; 2], [1; -2]) = true
not_equal([1; 2], [-1; 2]) = true
not_equal([1; +inf], [1; -inf]) = true

isnan([nan; any]) = true
isnan([any; nan]) = true
isnan([not nan; not nan]) = false
isinf([±inf; any]) = true
isinf([finite or nan; ±inf]) = true
isinf([finite or nan; finite or nan]) = false
isfinite([nan; any]) = false
isfinite([any; nan]) = false
isfinite([±inf; any]) = false
isfinite([any; ±inf]) = false
isfinite([finite; finite]) = true

logical_not([±0; ±0]) = true
logical_not([not 0; any]) = false
logical_not([any; not 0]) = false
logical_and([not 0; ±0], [±0; not 0]) = true
logical_and([±0; ±0], any) = false
logical_and(any, [±0; ±0]) = false
logical_or([±0; ±0], [±0; ±0]) = false
logical_or([not 0; ±0], [±0; ±0]) = true
logical_or([±0; ±0], [±0; not 0]) = true
logical_xor([±0; ±0], [±0; ±0]) = false
logical_xor([±0; not 0], [not 0; ±0]) = false
logical_xor([±0; not 0], [±0; ±0]) = true

where(true, any, any) = x2
where(false, any, any) = x3

sqrt([±0; +0]) = [+0; +0]
sqrt([any; +inf]) = [+inf; +inf]
sqrt([finite; nan]) = [nan; nan]
sqrt([-inf; finite>0]) = [+0; +inf]
sqrt([+inf; finite>0]) = [+inf; +0]
sqrt([-inf; nan]) = [nan; ±inf]
sqrt([+inf; nan]) = [+inf; nan]
sqrt([nan; finite or nan]) = [nan; nan]
sqrt([-4; +0]) = [+0; ~2]

exp([±0; +0]) = [1; +0]
exp([finite; +inf]) = [nan; nan]
exp([finite; nan]) = [nan; nan]
exp([+inf; +0]) = [+inf; +0]
exp([-inf; finite]) = [0·cos; 0·sin]
exp([+inf; nonzero]) = [inf·cos; inf·sin]
exp([-inf; +inf]) = [±0; ±0]
exp([+inf; +inf]) = [±inf; nan]
exp([-inf; nan]) = [±0; ±0]
exp([+inf; nan]) = [±inf; nan]
exp([nan; +0]) = [nan; +0]
exp([nan; not 0]) = [nan; nan]

expm1([±0; +0]) = [±0; +0]
expm1([finite; +inf]) = [nan; nan]
expm1([finite; nan]) = [nan; nan]
expm1([+inf; +0]) = [+inf; +0]
expm1([-inf; finite]) = [-1; 0·sin]
expm1([+inf; nonzero]) = [inf·cos; inf·sin]
expm1([-inf; +inf]) = [-1; ±0]
expm1([+inf; +inf]) = [±inf; nan]
expm1([-inf; nan]) = [-1; ±0]
expm1([+inf; nan]) = [±inf; nan]
expm1([nan; +0]) = [nan; +0]
expm1([nan; not 0]) = [nan; nan]

log([-0; +0]) = [-inf; π]
log([+0; +0]) = [-inf; +0]
log([finite; +inf]) = [+inf; π/2]
log([finite; nan]) = [nan; nan]
log([-inf; finite>0]) = [+inf; π]
log([+inf; finite>0]) = [+inf; +0]
log([-inf; +inf]) = [+inf; 3π/4]
log([+inf; +inf]) = [+inf; π/4]
log([±inf; nan]) = [+inf; nan]
log([nan; finite]) = [nan; nan]
log([nan; +inf]) = [+inf; nan]
log([nan; nan]) = [nan; nan]

log1p([-1; +0]) = [-inf; +0]
log1p([finite; +inf]) = [+inf; π/2]
log1p([finite; nan]) = [nan; nan]
log1p([-inf; finite>0]) = [+inf; π]
log1p([+inf; finite>0]) = [+inf; +0]
log1p([-inf; +inf]) = [+inf; 3π/4]
log1p([+inf; +inf]) = [+inf; π/4]
log1p([±inf; nan]) = [+inf; nan]
log1p([nan; finite]) = [nan; nan]
log1p([nan; +inf]) = [+inf; nan]
log1p([nan; nan]) = [nan; nan]

acos([±0; +0]) = [π/2; -0]
acos([±0; nan]) = [π/2; nan]
acos([finite; +inf]) = [π/2; -inf]
acos([nonzero; nan]) = [nan; nan]
acos([-inf; finite>0]) = [π; -inf]
acos([+inf; finite>0]) = [+0; -inf]
acos([-inf; +inf]) = [3π/4; -inf]
acos([+inf; +inf]) = [π/4; -inf]
acos([±inf; nan]) = [nan; ±inf]
acos([nan; finite]) = [nan; nan]
acos([nan; +inf]) = [nan; -inf]
acos([nan; nan]) = [nan; nan]

acosh([±0; +0]) = [+0; π/2]
acosh([finite; +inf]) = [+inf; π/2]
acosh([nonzero; nan]) = [nan; nan]
acosh([+0; nan]) = [nan; π/2 or -π/2]
acosh([-inf; finite>0]) = [+inf; π]
acosh([+inf; finite>0]) = [+inf; +0]
acosh([-inf; +inf]) = [+inf; 3π/4]
acosh([+inf; +inf]) = [+inf; π/4]
acosh([±inf; nan]) = [+inf; nan]
acosh([nan; finite]) = [nan; nan]
acosh([nan; +inf]) = [+inf; nan]
acosh([nan; nan]) = [nan; nan]

asinh([+0; +0]) = [+0; +0]
asinh([finite>0; +inf]) = [+inf; π/2]
asinh([finite; nan]) = [nan; nan]
asinh([+inf; finite>0]) = [+inf; +0]
asinh([+inf; +inf]) = [+inf; π/4]
asinh([nan; +0]) = [nan; +0]
asinh([nan; nonzero]) = [nan; nan]
asinh([nan; +inf]) = [±inf; nan]
asinh([nan; nan]) = [nan; nan]

atanh([+0; +0]) = [+0; +0]
atanh([+0; nan]) = [+0; nan]
atanh([1; +0]) = [+inf; +0]
atanh([finite>0; +inf]) = [+0; π/2]
atanh([nonzero; nan]) = [nan; nan]
atanh([+inf; finite>0]) = [+0; π/2]
atanh([+inf; +inf]) = [+0; π/2]
atanh([+inf; nan]) = [+0; nan]
atanh([nan; finite]) = [nan; nan]
atanh([nan; +inf]) = [±0; π/2]
atanh([nan; nan]) = [nan; nan]

cosh([+0; +0]) = [1; +0]
cosh([+0; +inf]) = [nan; ±0]
cosh([+0; nan]) = [nan; ±0]
cosh([nonzero; +inf]) = [nan; nan]
cosh([nonzero; nan]) = [nan; nan]
cosh([+inf; +0]) = [+inf; +0]
cosh([+inf; nonzero]) = [inf·cos; inf·sin]
cosh([+inf; +inf]) = [±inf; nan]
cosh([+inf; nan]) = [+inf; nan]
cosh([nan; ±0]) = [nan; ±0]
cosh([nan; nonzero]) = [nan; nan]
cosh([nan; nan]) = [nan; nan]

sinh([+0; +0]) = [+0; +0]
sinh([+0; +inf]) = [±0; nan]
sinh([+0; nan]) = [±0; nan]
sinh([finite>0; +inf]) = [nan; nan]
sinh([finite>0; nan]) = [nan; nan]
sinh([+inf; +0]) = [+inf; +0]
sinh([+inf; finite>0]) = [inf·cos; inf·sin]
sinh([+inf; +inf]) = [±inf; nan]
sinh([+inf; nan]) = [±inf; nan]
sinh([nan; +0]) = [nan; +0]
sinh([nan; nonzero]) = [nan; nan]
sinh([nan; nan]) = [nan; nan]

tanh([+0; +0]) = [+0; +0]
tanh([nonzero; +inf]) = [nan; nan]
tanh([+0; +inf]) = [+0; nan]
tanh([nonzero; nan]) = [nan; nan]
tanh([+0; nan]) = [+0; nan]
tanh([+inf; finite>0]) = [1; ±0]
tanh([+inf; +inf]) = [1; ±0]
tanh([+inf; nan]) = [1; ±0]
tanh([nan; +0]) = [nan; +0]
tanh([nan; nonzero]) = [nan; nan]
tanh([nan; nan]) = [nan; nan]
";
