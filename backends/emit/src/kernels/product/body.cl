    // Work-items of eight columns and four rows stand together, so that what they read at once lies in few words.
    const int lid = (int)get_local_id(0);
    const int tx = (lid & 7) + (lid >> 5) % (TX / 8) * 8, ty = (lid >> 3 & 3) + (lid >> 5) / (TX / 8) * 4;
    local ACC la[2][BK][BM + V] __attribute__((aligned(16)));
    local ACC lb[2][BK][BN + V] __attribute__((aligned(16)));

    // Which tile of which matrices, and which part of the sums. Groups that run at the same time have a band of rows of
    // tiles, so that they read the same rows and columns.
    const long tiles = (m + BM - 1) / BM, across = (n + BN - 1) / BN;
    const long tile = (long)get_group_id(0) % (tiles * across);
    long rest = (long)get_group_id(0) / (tiles * across);
    const long band = tile / (BAND * across) * BAND;
    const long high = min((long)BAND, tiles - band), w = tile - band * across;
    const long row0 = (band + w % high) * BM, col0 = w / high * BN;
    const long part = rest % parts;
    rest /= parts;
    const long begin = part * chunk, end = min(begin + chunk, k);
    out += part * o_part;
BATCH
    // The elements that this work-item brings: one of each row of a tile that it takes part in, DI and DK apart.
    const int ai = A_ALONG_K ? lid / BK : lid % BM, ak = A_ALONG_K ? lid % BK : lid / BM;
    const int bi = B_ALONG_K ? lid / BK : lid % BN, bk = B_ALONG_K ? lid % BK : lid / BN;
    a += (row0 + ai) * a_m + (begin + ak) * a_k;
    b += (col0 + bi) * b_n + (begin + bk) * b_k;
    const bool inside = row0 + BM <= m && col0 + BN <= n;
    ACC ra[BM * BK / GROUP], rb[BN * BK / GROUP];

    ACC acc[TM][TN];
    #pragma unroll
    for (int i = 0; i < TM; i++) {
        #pragma unroll
        for (int j = 0; j < TN; j++)
            acc[i][j] = (ACC)(0);
    }
FETCH(begin)
STORE(0)
    barrier(CLK_LOCAL_MEM_FENCE);
    int now = 0;
    for (long at = begin; at < end; at += BK) {
        // The next tiles are on their way while these are multiplied.
        if (at + BK < end) {
FETCH(at + BK)
        }
        #pragma unroll
        for (int p = 0; p < BK; p++) {
            ACC fa[TM] __attribute__((aligned(16))), fb[TN] __attribute__((aligned(16)));
            #pragma unroll
            for (int c = 0; c < TM / V; c++)
                *(VECTOR *)&fa[c * V] = *(local const VECTOR *)&la[now][p][c * (BM * V / TM) + ty * V];
            #pragma unroll
            for (int c = 0; c < TN / V; c++)
                *(VECTOR *)&fb[c * V] = *(local const VECTOR *)&lb[now][p][c * (BN * V / TN) + tx * V];
            #pragma unroll
            for (int i = 0; i < TM; i++) {
                #pragma unroll
                for (int j = 0; j < TN; j++)
                    acc[i][j] = MULTIPLY_ADD(fa[i], fb[j], acc[i][j]);
            }
        }
        if (at + BK < end) {
STORE(now ^ 1)
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        now ^= 1;
    }
    #pragma unroll
    for (int i = 0; i < TM; i++) {
        const long row = row0 + i / V * (BM * V / TM) + ty * V + i % V;
        #pragma unroll
        for (int j = 0; j < TN; j++) {
            const long col = col0 + j / V * (BN * V / TN) + tx * V + j % V;
            if (row < m && col < n)
                out[row * o_m + col * o_n] = rounded((SUM)acc[i][j]);
        }
    }
