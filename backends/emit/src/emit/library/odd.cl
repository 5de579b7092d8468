/* The float next to a double toward zero, with its last bit set where anything was cut off: rounding that to a narrower
   float is rounding the double once. */
static inline float sw_odd_double(const double x)
{
    const float close = (float)x;
    if ((double)close == x || isnan(x))
        return close;
    return as_float((as_uint(close) - (fabs((double)close) > fabs(x))) | 1);
}
