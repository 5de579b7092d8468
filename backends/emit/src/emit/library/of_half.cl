static inline float sw_half_ushort(const ushort x)
{
$of_half
    return y;
}
