/* Rounded to the nearest, ties to even; NaN stays NaN. */
static inline ushort sw_bf16_float(const float x)
{
    const uint bits = as_uint(x);
    return isnan(x) ? bits >> 16 | 0x40 : (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}
