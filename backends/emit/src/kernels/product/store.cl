        // Puts what was read into local memory, the summed dimension outermost.
        #pragma unroll
        for (int j = 0; j < BM * BK / GROUP; j++)
            la[TO][ak + DK(j, A_ALONG_K, BM)][ai + DI(j, A_ALONG_K, BM)] = ra[j];
        #pragma unroll
        for (int j = 0; j < BN * BK / GROUP; j++)
            lb[TO][bk + DK(j, B_ALONG_K, BN)][bi + DI(j, B_ALONG_K, BN)] = rb[j];
