/* Numbers of twice the precision, unevaluated sums of two doubles: .x + .y, where .y is at most half a unit of .x. Complex
   ones have the real part in .lo and the imaginary part in .hi. */
static double2 sw_two_sum(const double a, const double b)
{
    const double high = a + b, of_b = high - a;
    return (double2)(high, (a - (high - of_b)) + (b - of_b));
}
static double2 sw_quick_sum(const double a, const double b)
{
    const double high = a + b;
    return (double2)(high, b - (high - a));
}
static double2 sw_two_product(const double a, const double b)
{
    const double high = a * b;
    return (double2)(high, fma(a, b, -high));
}
static double2 sw_wide_add(const double2 a, const double2 b)
{
    const double2 high = sw_two_sum(a.x, b.x);
    return sw_quick_sum(high.x, high.y + (a.y + b.y));
}
static double2 sw_wide_times(const double2 a, const double b)
{
    const double2 p = sw_two_product(a.x, b);
    return sw_quick_sum(p.x, p.y + a.y * b);
}
static double2 sw_wide_mul(const double2 a, const double2 b)
{
    const double2 p = sw_two_product(a.x, b.x);
    return sw_quick_sum(p.x, p.y + (a.x * b.y + a.y * b.x));
}
static double4 sw_complex_mul(const double4 a, const double4 b)
{
    return (double4)(sw_wide_add(sw_wide_mul(a.lo, b.lo), -sw_wide_mul(a.hi, b.hi)),
                     sw_wide_add(sw_wide_mul(a.lo, b.hi), sw_wide_mul(a.hi, b.lo)));
}
static double4 sw_complex_times(const double4 a, const double2 b)
{
    return (double4)(sw_wide_add(sw_wide_times(a.lo, b.x), -sw_wide_times(a.hi, b.y)),
                     sw_wide_add(sw_wide_times(a.lo, b.y), sw_wide_times(a.hi, b.x)));
}
