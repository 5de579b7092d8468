static double2 sw_log_double2(const double2 z)
{
    return (double2)(sw_log_abs(z), atan2(z.y, z.x));
}
