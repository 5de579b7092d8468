// A runtime for processors gives 1 - 2^-24 for infinity.
static inline $T sw_tanh_$T(const $T x)
{
    const $T y = tanh(x);
    return isinf(x) ? copysign(($T)1, x) : y;
}
