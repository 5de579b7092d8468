/* One over an integer is 0 but for 1 and -1, whose powers depend on the exponent's last bit. */
static inline $T sw_pow_$T(const $T x, const $T y)
{
    if ($signed && y < 0)
        return x == 1 || x == ($T)-1 ? (y & 1 ? x : 1) : 0;
    $M base = ($M)x, power = 1;
    for ($U rest = ($U)y; rest != 0; rest >>= 1) {
        if (rest & 1)
            power *= base;
        base *= base;
    }
    return as_$T(($U)power);
}
