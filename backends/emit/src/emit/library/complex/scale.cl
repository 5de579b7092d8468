/* The exponent e of the greater part: its magnitude is in [1/2, 1) 2^e. 0 of zero, and of what is not finite. */
static int sw_exponent(const double2 z)
{
    const double greatest = fmax(fabs(z.x), fabs(z.y));
    int e = 0;
    if (isfinite(greatest))
        frexp(greatest, &e);
    return e;
}
/* z 2^e, rounded once. */
static double2 sw_scaled(const double2 z, const int e)
{
    return (double2)(ldexp(z.x, e), ldexp(z.y, e));
}
