static double2 sw_cosh_double2(const double2 z)
{
    const double x = z.x, y = z.y;
    if (y == 0)
        return (double2)(cosh(x), signbit(x) ? -y : y);
    if (!isfinite(y)) {
        if (x == 0)
            return (double2)((double)NAN, (signbit(x) != 0) == (signbit(y) != 0) ? 0.0 : -0.0);
        return (double2)(isinf(x) ? (double)INFINITY : (double)NAN, (double)NAN);
    }
    double cosine;
    const double sine = sincos(y, &cosine);
    if (fabs(x) >= 22.0) {
        const double im = sw_times_exp(sine, fabs(x), 0.5);
        return (double2)(sw_times_exp(cosine, fabs(x), 0.5), x < 0 ? -im : im);
    }
    return (double2)(cosh(x) * cosine, sinh(x) * sine);
}
