/* The rest of a division is less than the divisor, which some devices forget about subnormal numbers. */
static inline $T sw_rest_$T(const $T x, const $T y)
{
    const $T rest = fmod(x, y);
    return fabs(rest) == fabs(y) ? copysign(($T)0, x) : rest;
}
