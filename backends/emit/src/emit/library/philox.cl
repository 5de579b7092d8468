static inline ulong sw_philox_ulong(const ulong counter, const ulong stream, const ulong key)
{
    uint c0 = (uint)counter, c1 = (uint)(counter >> 32), c2 = (uint)stream, c3 = (uint)(stream >> 32);
    uint k0 = (uint)key, k1 = (uint)(key >> 32);
    for (int round = 0; round < 10; round++) {
        const uint high0 = mul_hi(0xd2511f53u, c0), high1 = mul_hi(0xcd9e8d57u, c2);
        const uint low0 = 0xd2511f53u * c0, low1 = 0xcd9e8d57u * c2;
        c0 = high1 ^ c1 ^ k0;
        c1 = low1;
        c2 = high0 ^ c3 ^ k1;
        c3 = low0;
        k0 += 0x9e3779b9u;
        k1 += 0xbb67ae85u;
    }
    return (ulong)c1 << 32 | c0;
}
