static inline $T sw_quotient_$T(const $T x, const $T y)
{
    return $quotient;
}
