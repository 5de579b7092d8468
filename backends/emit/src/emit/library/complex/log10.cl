static double2 sw_log10_double2(const double2 z)
{
    const double angle = atan2(z.y, z.x) * M_LOG10E;
    if (sw_is_near(z.x, z.y))
        return (double2)(sw_log_near(z.x, z.y, -1.0) * M_LOG10E, angle);
    int e;
    const double magnitude = sw_magnitude(z, &e);
    return (double2)(log10(magnitude) + (double)e * 0x1.34413509f79ffp-2, angle);
}
