/* An odd function of the number with its parts exchanged, exchanged. */
static double2 sw_tan_double2(const double2 z)
{
    return sw_tanh_double2(z.yx).yx;
}
