/* The rest is exact, so the quotient without it is an integer but for its roundings; what is left over says how far they
   went. It is NaN by an infinite number, and where the quotient overflows. */
static inline $T sw_floor_divide_$T(const $T x, const $T y)
{
    if (isnan(x) || isnan(y) || (x == 0 && y == 0) || (isinf(x) && isinf(y)))
        return ($T)NAN;
    if (y == 0 || !isfinite(x))
        return sw_quotient_$T(x, y);
    const $T rest = sw_rest_$T(x, y);
    const $T rounded = round(sw_quotient_$T(x - rest, y));
    const $T left = fma(-rounded, y, x) - rest;
    const $T whole = isfinite(left) ? rounded + round(sw_quotient_$T(left, y)) : rounded;
    /* By an infinite number it is -0. */
    const int below = (rest != 0) & ((rest < 0) != (y < 0)) & (isinf(y) == 0);
    const $T quotient = whole - (below ? ($T)1 : ($T)0);
    return quotient == 0 ? copysign(($T)0, x / y) : quotient;
}
