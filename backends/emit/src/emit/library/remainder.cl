static inline $T sw_remainder_$T(const $T x, const $T y)
{
    const $T rest = sw_rest_$T(x, y);
    if (isnan(rest))
        return ($T)NAN;
    if (rest == 0)
        return copysign(rest, y);
    return (rest < 0) != (y < 0) ? rest + y : rest;
}
