/* The sum of the terms as if computed in three times the precision and rounded once. */
static double sw_sum(double a, double b, double c, double d, double e)
{
    for (int i = 0; i < 2; i++) {
        double2 s = sw_two_sum(b, a);
        a = s.y;
        s = sw_two_sum(c, s.x);
        b = s.y;
        s = sw_two_sum(d, s.x);
        c = s.y;
        s = sw_two_sum(e, s.x);
        d = s.y;
        e = s.x;
    }
    return a + b + c + d + e;
}
/* Whether the logarithm of a squared magnitude is computed from its difference to 1. */
static int sw_is_near(const double x, const double y)
{
    const double square = x * x + y * y;
    return square >= 0.26 && square < 3.9;
}
/* ln of the root of x^2 + y^2 + rest. */
static double sw_log_near(const double x, const double y, const double rest)
{
    const double2 p = sw_two_product(x, x), q = sw_two_product(y, y);
    return 0.5 * log1p(sw_sum(q.y, p.y, q.x, p.x, rest));
}
/* A magnitude, which is to be multiplied by 2^e; e is 0 but where magnitudes overflow or lose digits to underflow. */
static double sw_magnitude(const double2 z, private int *e)
{
    const double greatest = fmax(fabs(z.x), fabs(z.y));
    *e = 0;
    if ((greatest >= 1e-290 && greatest <= 1e300) || greatest == 0 || isinf(greatest))
        return hypot(z.x, z.y);
    *e = sw_exponent(z);
    const double2 near = sw_scaled(z, -*e);
    return hypot(near.x, near.y);
}
/* ln |z|; next to the circle |z| = 1, |z|^2 - 1 is computed exactly enough. */
static double sw_log_abs(const double2 z)
{
    if (sw_is_near(z.x, z.y))
        return sw_log_near(z.x, z.y, -1.0);
    int e;
    const double magnitude = sw_magnitude(z, &e);
    return log(magnitude) + (double)e * M_LN2;
}
