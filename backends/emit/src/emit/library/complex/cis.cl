/* The cosine and sine of an angle of twice the precision. */
static double2 sw_cis(const double2 angle)
{
    double cosine, c = 1.0, s = angle.y;
    const double sine = sincos(angle.x, &cosine);
    if (!(fabs(s) < 1e-8))
        s = sincos(angle.y, &c);
    return (double2)(cosine * c - sine * s, sine * c + cosine * s);
}
