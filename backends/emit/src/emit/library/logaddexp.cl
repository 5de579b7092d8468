/* Infinite operands, and equal ones, have no difference to work with. */
static inline $T sw_logaddexp_$T(const $T x, const $T y)
{
    if (x == y)
        return x + $LN_2;
    const $T greater = (x > y) | isnan(x) ? x : y;
    return greater + log1p(exp(-fabs(x - y)));
}
