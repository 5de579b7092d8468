static double2 sw_cos_double2(const double2 z)
{
    return sw_cosh_double2((double2)(-z.y, z.x));
}
