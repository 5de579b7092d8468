/* The neighbour of a 16-bit float in its own format, as bits: its value and bits, and those of the number that says the
   direction. */
static inline ushort sw_neighbour_ushort(const float x, const ushort from, const float y, const ushort to)
{
    if (isnan(x) || isnan(y))
        return 0x7fff;
    if (x == y)
        return to;
    if (x == 0)
        return 1 | (to & 0x8000);
    return (x < y) == (x > 0) ? from + 1 : from - 1;
}
