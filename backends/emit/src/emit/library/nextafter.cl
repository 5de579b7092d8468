static inline $T sw_nextafter_$T(const $T x, const $T y)
{
    if (isnan(x) || isnan(y))
        return x + y;
    if (x == y)
        return y;
    if (x == 0)
        return copysign(as_$T(($I)1), y);
    return as_$T((x < y) == (x > 0) ? as_$I(x) + 1 : as_$I(x) - 1);
}
