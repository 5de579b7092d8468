    const uint lane = get_local_id(0), wave = lane / WAVE;
    const long row = (long)get_group_id(0) / n.tiles, tile = (long)get_group_id(0) % n.tiles;
    // Waves count for themselves, so that fewer work-items want the same number.
    local uint counted[WAVES * DIGITS];
    for (uint k = lane; k < WAVES * DIGITS; k += GROUP)
        counted[k] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    SOURCE
    const long start = tile * TILE;
    // All is under way before the first is looked at.
    element x[ITEMS];
    #pragma unroll
    for (uint k = 0; k < ITEMS; k++) {
        const long i = start + k * GROUP + lane;
        if (i < r.len)
            x[k] = READ(i);
    }
    #pragma unroll
    for (uint k = 0; k < ITEMS; k++)
        if (start + k * GROUP + lane < r.len)
            atomic_inc(&counted[wave * DIGITS + digit(x[k], (uint)n.shift)]);
    barrier(CLK_LOCAL_MEM_FENCE);
    number total = 0;
    for (uint w = 0; w < WAVES; w++)
        total += counted[w * DIGITS + lane];
    counts[(row * DIGITS + lane) * n.tiles + tile] = total;
