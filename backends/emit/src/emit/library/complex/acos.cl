static double2 sw_acos_double2(const double2 z)
{
    const double x = z.x, y = z.y;
    if (isfinite(x) && isfinite(y)) {
        const double2 e = sw_ellipse(fabs(x), fabs(y));
        return (double2)(atan2(e.x, x), -copysign(e.y, y));
    }
    if (isinf(y))
        return (double2)(isnan(x) ? x : isfinite(x) ? M_PI_2 : x > 0 ? M_PI_4 : M_PI_2 + M_PI_4, -y);
    if (isinf(x))
        return isnan(y) ? (double2)(y, -(double)INFINITY) : (double2)(x > 0 ? 0.0 : M_PI, copysign((double)INFINITY, -y));
    return (double2)(x == 0 ? M_PI_2 : (double)NAN, (double)NAN);
}
