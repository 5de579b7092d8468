/* x times the conjugate of y; a sum of two multiples, as products of complex numbers are. */
static double2 sw_turned(const double2 x, const double2 y)
{
    return y.x * x + y.y * (double2)(x.y, -x.x);
}
static double2 sw_textbook(const double2 x, const double2 y)
{
    return sw_turned(x, y) / (y.x * y.x + y.y * y.y);
}
/* Of an infinite number; a part that is not infinite counts as 0. */
static double2 sw_direction(const double2 z)
{
    return (double2)(copysign(isinf(z.x) ? 1.0 : 0.0, z.x), copysign(isinf(z.y) ? 1.0 : 0.0, z.y));
}
/* Quotient, with the infinities of annex G; operands are scaled where products might overflow or underflow. */
static double2 sw_divide_double2(const double2 x, const double2 y)
{
    if (y.y == 0)
        return (double2)(x.x / y.x, x.y / y.x);
    if (y.x == 0)
        return (double2)(x.y / y.y, 0.0 - x.x / y.y);
    const double up = fmax(fabs(x.x), fabs(x.y)), down = fmax(fabs(y.x), fabs(y.y));
    if (up >= 1e-140 && up <= 1e140 && down >= 1e-140 && down <= 1e140)
        return sw_textbook(x, y);
    const int finite_x = isfinite(x.x) && isfinite(x.y), finite_y = isfinite(y.x) && isfinite(y.y);
    const int more = sw_exponent(x), less = sw_exponent(y);
    if (finite_x && finite_y)
        return sw_scaled(sw_textbook(sw_scaled(x, -more), sw_scaled(y, -less)), more - less);
    if ((isinf(x.x) || isinf(x.y)) && finite_y)
        return (double)INFINITY * sw_turned(sw_direction(x), sw_scaled(y, -less));
    if (finite_x && (isinf(y.x) || isinf(y.y)))
        return 0.0 * sw_turned(sw_scaled(x, -more), sw_direction(y));
    return (double2)((double)NAN, (double)NAN);
}
