static double2 sw_log1p_double2(const double2 z)
{
    const double x = z.x, y = z.y, moved = 1.0 + x, angle = atan2(y, moved);
    if (y == 0 && x >= -1.0)
        return (double2)(log1p(x), angle);
    /* ln |1 + z|^2 / 2 = (2 x + x^2 + y^2) / 2 - ..., of which only y^2 can come near 2 x. */
    if (fmax(fabs(x), fabs(y)) < 1e-90)
        return (double2)(fma(0.5 * y, y, x), angle);
    return (double2)(sw_is_near(moved, y) ? sw_log_near(x, y, 2.0 * x) : sw_log_abs((double2)(moved, y)), angle);
}
