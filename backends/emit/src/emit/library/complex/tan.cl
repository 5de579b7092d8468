/* An odd function of the number with its parts exchanged, exchanged. */
static double2 sw_tan_double2(const double2 z)
{
    const double2 turned = sw_tanh_double2((double2)(z.y, z.x));
    return (double2)(turned.y, turned.x);
}
