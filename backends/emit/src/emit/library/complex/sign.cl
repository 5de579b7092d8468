/* z / |z|, and 0 of 0; of an infinite number with one infinite part, that part's direction. */
static double2 sw_sign_double2(const double2 z)
{
    if (isnan(z.x) || isnan(z.y) || (isinf(z.x) && isinf(z.y)))
        return (double2)((double)NAN, (double)NAN);
    if (isinf(z.x) || isinf(z.y))
        return (double2)(copysign(isinf(z.x) ? 1.0 : 0.0, z.x), copysign(isinf(z.y) ? 1.0 : 0.0, z.y));
    const double greatest = fmax(fabs(z.x), fabs(z.y));
    if (greatest == 0)
        return (double2)(0.0, 0.0);
    const double2 near = greatest >= 1e-140 && greatest <= 1e140 ? z : sw_scaled(z, -sw_exponent(z));
    return near / hypot(near.x, near.y);
}
