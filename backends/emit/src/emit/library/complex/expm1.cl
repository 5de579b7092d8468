static double2 sw_expm1_double2(const double2 z)
{
    /* The standard has +0 of either zero. */
    if (z.y == 0)
        return (double2)(z.x == 0 ? 0.0 : expm1(z.x), z.y);
    if (!isfinite(z.y)) {
        const double2 power = sw_without_angle(z);
        return (double2)(power.x - 1.0, power.y);
    }
    double cosine, re;
    const double sine = sincos(z.y, &cosine);
    if (fabs(z.x) > 40.0) {
        re = sw_times_exp(cosine, z.x, 1.0) - 1.0;
    } else {
        /* e^x cos y - 1 with no difference of numbers near 1. */
        const double quarter = sin(0.5 * z.y), below = 2.0 * quarter * quarter;
        re = expm1(z.x) * cosine - below;
        /* Next to the curve where the real part is 0 the terms cancel; around the origin that is mended. */
        if (fabs(re) < 0.25 * below && fmax(fabs(z.x), fabs(z.y)) < 2.5)
            re = sw_wide_expm1(z).x;
    }
    return (double2)(re, sw_times_exp(sine, z.x, 1.0));
}
