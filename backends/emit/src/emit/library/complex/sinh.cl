static double2 sw_sinh_double2(const double2 z)
{
    const double x = z.x, y = z.y;
    if (y == 0)
        return (double2)(sinh(x), y);
    if (!isfinite(y))
        return (double2)(x == 0 || isinf(x) ? x : (double)NAN, (double)NAN);
    double cosine;
    const double sine = sincos(y, &cosine);
    if (fabs(x) >= 22.0) {
        const double re = sw_times_exp(cosine, fabs(x), 0.5);
        return (double2)(x < 0 ? -re : re, sw_times_exp(sine, fabs(x), 0.5));
    }
    return (double2)(sinh(x) * cosine, cosh(x) * sine);
}
