static double2 sw_asin_double2(const double2 z)
{
    const double x = z.x, y = z.y;
    if (isfinite(x) && isfinite(y)) {
        const double2 e = sw_ellipse(fabs(x), fabs(y));
        return (double2)(copysign(atan2(fabs(x), e.x), x), copysign(e.y, y));
    }
    if (isinf(y))
        return (double2)(isinf(x) ? copysign(M_PI_4, x) : 0.0 * x, y);
    if (isinf(x))
        return isnan(y) ? (double2)(y, x) : (double2)(copysign(M_PI_2, x), copysign((double)INFINITY, y));
    return (double2)(x == 0 ? x : (double)NAN, (double)NAN);
}
