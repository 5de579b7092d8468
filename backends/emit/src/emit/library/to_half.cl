static inline ushort sw_half_float(const float x)
{
$to_half
    return y;
}
