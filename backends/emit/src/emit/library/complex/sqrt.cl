/* The square root where no intermediate result overflows or underflows. */
static double2 sw_sqrt_near(const double2 z)
{
    const double greater = sqrt(0.5 * (fabs(z.x) + hypot(z.x, z.y))), lesser = 0.5 * (fabs(z.y) / greater);
    return z.x >= 0 ? (double2)(greater, copysign(lesser, z.y)) : (double2)(lesser, copysign(greater, z.y));
}
static double2 sw_sqrt_double2(const double2 z)
{
    if (isinf(z.y))
        return (double2)((double)INFINITY, z.y);
    if (isinf(z.x)) {
        const double rest = isnan(z.y) ? z.y : 0.0;
        return z.x > 0 ? (double2)(z.x, copysign(rest, z.y)) : (double2)(rest, copysign((double)INFINITY, z.y));
    }
    if (isnan(z.x) || isnan(z.y))
        return (double2)((double)NAN, (double)NAN);
    const double greatest = fmax(fabs(z.x), fabs(z.y));
    if (greatest == 0)
        return (double2)(0.0, z.y);
    /* Even powers of two, of which the root is exact; no greater than it takes, lest the lesser part underflow. */
    if (greatest > 1e300)
        return sw_scaled(sw_sqrt_near(sw_scaled(z, -4)), 2);
    if (greatest < 1e-290)
        return sw_scaled(sw_sqrt_near(sw_scaled(z, 108)), -54);
    return sw_sqrt_near(z);
}
