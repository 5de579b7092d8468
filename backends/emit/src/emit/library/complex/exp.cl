static double2 sw_exp_double2(const double2 z)
{
    if (z.y == 0)
        return (double2)(exp(z.x), z.y);
    if (!isfinite(z.y))
        return sw_without_angle(z);
    double cosine;
    const double sine = sincos(z.y, &cosine);
    return (double2)(sw_times_exp(cosine, z.x, 1.0), sw_times_exp(sine, z.x, 1.0));
}
