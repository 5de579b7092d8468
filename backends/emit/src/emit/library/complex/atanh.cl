static double2 sw_atanh_double2(const double2 z)
{
    const double x = fabs(z.x), y = fabs(z.y);
    if (isinf(x) || isinf(y))
        return (double2)(copysign(0.0, z.x), isnan(y) ? y : copysign(M_PI_2, z.y));
    if (isnan(x) || isnan(y))
        return (double2)(x == 0 ? z.x : (double)NAN, (double)NAN);
    double re, im;
    if (fmax(x, y) >= 1e18) {
        /* 1 / conj z and a quarter turn. Scaled, since the magnitude might overflow. */
        const double magnitude = hypot(0.25 * x, 0.25 * y);
        re = 0.25 * (0.25 * x / magnitude / magnitude);
        im = M_PI_2;
    } else {
        if (x == 1.0 && y < 1e-9)
            re = 0.5 * (M_LN2 - log(y));
        else
            re = 0.25 * log1p(4.0 * x / ((1.0 - x) * (1.0 - x) + y * y));
        im = 0.5 * atan2(2.0 * y, (1.0 - x) * (1.0 + x) - y * y);
    }
    return (double2)(copysign(re, z.x), copysign(im, z.y));
}
