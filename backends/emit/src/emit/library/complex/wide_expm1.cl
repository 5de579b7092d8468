/* e^z - 1 of a number with |z| < 4 in twice the precision: the argument is halved six times, and the result of the series
   squared as often; e^2v - 1 = u (2 + u) for u = e^v - 1 keeps small results' digits. */
static double4 sw_wide_expm1(const double2 z)
{
    const double2 small = z * 0x1p-6;
    double2 late = (double2)(1.0, 0.0);
    for (int term = 15; term >= 7; term--) {
        late = (double2)(late.x * small.x - late.y * small.y, late.x * small.y + late.y * small.x) / (double)term;
        late.x += 1.0;
    }
    late /= 720.0;
    /* 1/5!, ..., 1/1! */
    const double2 early[5] = {(double2)(1.0 / 120.0, 1.1564823173178714e-19), (double2)(1.0 / 24.0, 2.3129646346357427e-18),
                              (double2)(1.0 / 6.0, 9.25185853854297e-18), (double2)(0.5, 0.0), (double2)(1.0, 0.0)};
    double4 series = (double4)(late.x, 0.0, late.y, 0.0);
    for (int i = 0; i < 5; i++) {
        const double4 next = sw_complex_times(series, small);
        series = (double4)(sw_wide_add(early[i], next.lo), next.hi);
    }
    double4 result = sw_complex_times(series, small);
    for (int i = 0; i < 6; i++) {
        const double2 re = result.lo, im = result.hi;
        result.lo = sw_wide_add(sw_wide_mul(re, sw_wide_add(re, (double2)(2.0, 0.0))), -sw_wide_mul(im, im));
        result.hi = sw_wide_mul(sw_wide_times(im, 2.0), sw_wide_add(re, (double2)(1.0, 0.0)));
    }
    return result;
}
