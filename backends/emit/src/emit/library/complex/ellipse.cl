/* For x, y >= 0, finite, and the ellipse through x + i y with the foci -1 and 1 and the semi-axis a on the real axis: the
   root of a^2 - x^2, and arcosh a. */
static double2 sw_ellipse(const double x, const double y)
{
    if (fmax(x, y) >= 1e18)
        return (double2)(y, M_LN2 + sw_log_abs((double2)(x, y)));
    const double r = hypot(x + 1.0, y), s = hypot(x - 1.0, y), a = 0.5 * (r + s);
    /* 2 (a - x) and 2 (a - 1) without cancellation: sums of r - (x + 1) = y^2 / (r + (x + 1)), and the same of s. */
    const double far = y * (y / (r + (x + 1.0)));
    double across, im;
    if (x <= 1.0)
        across = sqrt(0.5 * (a + x) * (far + (s + (1.0 - x))));
    else
        across = y * sqrt(0.5 * (a + x) * (1.0 / (r + (x + 1.0)) + 1.0 / (s + (x - 1.0))));
    if (x < 1.0 && y < 1e-9 * (1.0 - x)) {
        im = y / sqrt((1.0 - x) * (1.0 + x));
    } else if (a <= 1.5) {
        /* 2 (a - 1), since halving a subnormal number may lose it. */
        const double above = far + (x < 1.0 ? y * (y / (s + (1.0 - x))) : s + (x - 1.0));
        im = log1p(0.5 * above + sqrt(above * (0.5 * (a + 1.0))));
    } else {
        im = log(a + sqrt((a - 1.0) * (a + 1.0)));
    }
    return (double2)(across, im);
}
