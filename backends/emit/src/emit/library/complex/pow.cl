/* The natural logarithm in twice the precision, of a number that is finite and not 0: a step of Newton's method, log m =
   w + log(1 + d) with w near log m and 1 + d = m e^-w, where z = 2^e m with |m| near 1. */
static double4 sw_wide_log(const double2 z)
{
    int e = sw_exponent(z);
    double2 m = sw_scaled(z, -e);
    if (hypot(m.x, m.y) < M_SQRT1_2) {
        m *= 2.0;
        e -= 1;
    }
    const double2 w = sw_log_double2(m);
    const double4 more = sw_complex_times(sw_wide_expm1(-w), m);
    const double2 re = sw_wide_add(sw_two_sum(m.x, -1.0), more.lo), im = sw_wide_add((double2)(m.y, 0.0), more.hi);
    const double a = re.x, b = im.x;
    const double2 near_re = sw_wide_add(sw_wide_add((double2)(w.x, 0.0), re), (double2)(0.5 * (b - a) * (b + a), 0.0));
    const double2 near_im = sw_wide_add(sw_wide_add((double2)(w.y, 0.0), im), (double2)(-a * b, 0.0));
    const double2 power =
        sw_wide_add(sw_two_product((double)e, M_LN2), (double2)((double)e * 2.3190468138462996e-17, 0.0));
    return (double4)(sw_wide_add(power, near_re), near_im);
}
/* e^z of a finite number of twice the precision. The low part of the exponent is tiny where the power is not 0 or infinite. */
static double2 sw_exp_wide(const double4 z)
{
    const double2 turn = sw_cis(z.hi);
    const double more = clamp(z.lo.y, -1e-8, 1e-8);
    const double re = sw_times_exp(turn.x, z.lo.x, 1.0), im = sw_times_exp(turn.y, z.lo.x, 1.0);
    return (double2)(isfinite(re) ? re + re * more : re, isfinite(im) ? im + im * more : im);
}
/* x to an integral power by squaring. Exact where the result fits. */
static double2 sw_integral_power(const double2 x, const int n)
{
    const int e = sw_exponent(x);
    const double2 base = sw_scaled(x, -e);
    double4 square = (double4)(base.x, 0.0, base.y, 0.0), power = (double4)(1.0, 0.0, 0.0, 0.0);
    for (uint bits = abs(n); bits != 0; bits >>= 1) {
        if (bits & 1)
            power = sw_complex_mul(power, square);
        if (bits > 1)
            square = sw_complex_mul(square, square);
    }
    double2 result = (double2)(power.lo.x, power.hi.x);
    if (n < 0)
        result = sw_divide_double2((double2)(1.0, 0.0), result);
    return sw_scaled(result, e * n);
}
/* A factor 0 makes its product 0, whatever the other: it stands for a real number's missing part. */
static double sw_product(const double a, const double b)
{
    return a == 0 || b == 0 ? 0.0 : a * b;
}
static double2 sw_pow_double2(const double2 x, const double2 y)
{
    const double2 nan = (double2)((double)NAN, (double)NAN);
    if (y.x == 0 && y.y == 0)
        return (double2)(1.0, 0.0);
    if (x.x == 0 && x.y == 0) {
        if (isnan(y.y))
            return nan;
        return y.x > 0 ? (double2)(0.0, 0.0) : y.x < 0 ? (double2)((double)INFINITY, (double)NAN) : nan;
    }
    const int finite = isfinite(x.x) && isfinite(x.y);
    if (y.y == 0) {
        if (x.y == 0 && x.x > 0) {
            const double power = pow(x.x, y.x);
            return isnan(power) ? nan : (double2)(power, y.x < 0 ? -x.y : x.y);
        }
        if (fabs(y.x) <= 512.0 && rint(y.x) == y.x && finite)
            return sw_integral_power(x, (int)y.x);
    }
    const double2 w = sw_log_double2(x);
    if (finite && isfinite(y.x) && isfinite(y.y)) {
        /* Where the exponent is small, its error is of no weight. */
        const double2 plain = w.x * y + w.y * (double2)(-y.y, y.x);
        if (fmax(fabs(plain.x), fabs(plain.y)) < 0.75)
            return sw_exp_double2(plain);
        /* Greater exponents have no digit that matters. */
        if (fmax(fabs(y.x), fabs(y.y)) < 1e290)
            return sw_exp_wide(sw_complex_times(sw_wide_log(x), y));
    }
    return sw_exp_double2((double2)(sw_product(y.x, w.x) - sw_product(y.y, w.y), sw_product(y.x, w.y) + sw_product(y.y, w.x)));
}
