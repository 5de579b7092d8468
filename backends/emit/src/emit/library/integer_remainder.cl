static inline $T sw_remainder_$T(const $T x, const $T y)
{
    if (y == 0)
        return 0;
    if ($signed && y == ($T)-1)
        return 0;
    const $T rest = x % y;
    return $signed && rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;
}
