static double2 sw_tanh_double2(const double2 z)
{
    const double x = z.x, y = z.y;
    if (y == 0)
        return (double2)(tanh(x), y);
    if (isinf(x))
        return (double2)(copysign(1.0, x), copysign(0.0, y));
    if (!isfinite(y))
        return (double2)(x == 0 ? x : (double)NAN, (double)NAN);
    if (x == 0)
        return (double2)(x, tan(y));
    double cosine;
    const double sine = sincos(y, &cosine);
    if (fabs(x) >= 22.0)
        return (double2)(copysign(1.0, x), 4.0 * sine * cosine * exp(-2.0 * fabs(x)));
    /* A sum of squares, without cancellation at the poles. */
    const double s = sinh(x), c = cosh(x), below = s * s + cosine * cosine;
    return (double2)(s * c / below, sine * cosine / below);
}
