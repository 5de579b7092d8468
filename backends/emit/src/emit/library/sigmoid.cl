/* Neither form overflows, and small results keep their digits. */
static inline $T sw_sigmoid_$T(const $T x)
{
    const $T power = exp(-fabs(x));
    return sw_quotient_$T(x < 0 ? power : ($T)1, ($T)1 + power);
}
