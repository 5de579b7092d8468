/* t 2^x for |t| <= 1, without overflow on the way. */
static double sw_times_exp2(const double t, const double x)
{
    if (t == 0)
        return t;
    if (x <= 1023.0)
        return t * exp2(x);
    const double rest = x - 1023.0;
    return rest <= 1023.0 ? t * 0x1p+1023 * exp2(rest) : t * 0x1p+1023 * 0x1p+1023 * exp2(rest - 1023.0);
}
static double2 sw_exp2_double2(const double2 z)
{
    if (z.y == 0)
        return (double2)(exp2(z.x), z.y);
    if (!isfinite(z.y))
        return sw_without_angle(z);
    const double angle = z.y * M_LN2;
    const double2 turn = sw_cis((double2)(angle, fma(z.y, M_LN2, -angle) + z.y * 2.3190468138462996e-17));
    return (double2)(sw_times_exp2(turn.x, z.x), sw_times_exp2(turn.y, z.x));
}
