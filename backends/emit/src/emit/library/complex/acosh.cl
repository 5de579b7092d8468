static double2 sw_acosh_double2(const double2 z)
{
    const double2 w = sw_acos_double2(z);
    return (double2)(fabs(w.y), copysign(w.x, z.y));
}
