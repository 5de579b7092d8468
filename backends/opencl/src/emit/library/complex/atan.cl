/* An odd function of the number with its parts exchanged, exchanged. */
static double2 sw_atan_double2(const double2 z)
{
    return sw_atanh_double2(z.yx).yx;
}
