/* t e^x part for |t| <= 1, without overflow on the way: x may be up to twice as great as where e^x overflows. */
static double sw_times_exp(const double t, const double x, const double part)
{
    if (t == 0)
        return t;
    if (x <= 709.0)
        return t * (part * exp(x));
    /* e^709, and what is left, which is exact. */
    const double power = 0x1.d422d2be5dc9bp+1022, rest = x - 709.0;
    return rest <= 709.0 ? t * power * (part * exp(rest)) : t * power * power * (part * exp(rest - 709.0));
}
/* e^z of an angle that is infinite or NaN. */
static double2 sw_without_angle(const double2 z)
{
    if (isinf(z.x))
        return z.x < 0 ? (double2)(0.0, copysign(0.0, z.y)) : (double2)((double)INFINITY, (double)NAN);
    return (double2)((double)NAN, (double)NAN);
}
