        // Reads tiles, and steps to the next. What is outside of the matrices is 0.
        if (inside && FROM + BK <= end) {
            #pragma unroll
            for (int j = 0; j < BM * BK / GROUP; j++)
                ra[j] = (ACC)load_a(a[DI(j, A_ALONG_K, BM) * a_m + DK(j, A_ALONG_K, BM) * a_k]);
            #pragma unroll
            for (int j = 0; j < BN * BK / GROUP; j++)
                rb[j] = (ACC)load_b(b[DI(j, B_ALONG_K, BN) * b_n + DK(j, B_ALONG_K, BN) * b_k]);
        } else {
            #pragma unroll
            for (int j = 0; j < BM * BK / GROUP; j++) {
                const int i = DI(j, A_ALONG_K, BM), p = DK(j, A_ALONG_K, BM);
                const bool there = row0 + ai + i < m && FROM + ak + p < end;
                ra[j] = (ACC)(0);
                if (there)
                    ra[j] = (ACC)load_a(a[i * a_m + p * a_k]);
            }
            #pragma unroll
            for (int j = 0; j < BN * BK / GROUP; j++) {
                const int i = DI(j, B_ALONG_K, BN), p = DK(j, B_ALONG_K, BN);
                const bool there = col0 + bi + i < n && FROM + bk + p < end;
                rb[j] = (ACC)(0);
                if (there)
                    rb[j] = (ACC)load_b(b[i * b_n + p * b_k]);
            }
        }
        a += BK * a_k;
        b += BK * b_k;
