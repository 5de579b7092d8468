static inline $T sw_floor_divide_$T(const $T x, const $T y)
{
    if (y == 0)
        return 0;
    if ($signed && y == ($T)-1)
        return as_$T(($U)(($M)0 - ($M)x));
    const $T quotient = x / y;
    return $signed && x % y != 0 && (x < 0) != (y < 0) ? quotient - 1 : quotient;
}
