    const uint lane = get_local_id(0), wave = lane / WAVE, bit = lane % WAVE;
    const long row = (long)get_group_id(0) / n.tiles, tile = (long)get_group_id(0) % n.tiles;
    // First two tables of which work-items of a wave have a digit, used in turns, where these cannot ask each other; then the tile
    // in its new order.
    local ulong area[AREA_BYTES / 8] __attribute__((aligned(16)));
    local ushort seen[WAVES * DIGITS];
    local uint starts[DIGITS];
    local number bases[DIGITS];
    for (uint k = lane; k < WAVES * DIGITS; k += GROUP)
        seen[k] = 0;
#ifndef BALLOT
    local uint *masks = (local uint *)area;
    for (uint k = lane; k < 2 * WAVES * DIGITS; k += GROUP)
        masks[k] = 0;
#endif
    SOURCE
    const long start = tile * TILE;
    const uint count = (uint)min((long)TILE, r.len - start);
    element x[ITEMS];
    ushort place[ITEMS];
    #pragma unroll
    for (uint k = 0; k < ITEMS; k++) {
        const uint at = (wave * ITEMS + k) * WAVE + bit;
        if (at < count)
            x[k] = READ(start + at);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    // A wave goes through its elements in their order: of those with the same digit, how many came before.
    #pragma unroll
    for (uint k = 0; k < ITEMS; k++) {
        const bool there = (wave * ITEMS + k) * WAVE + bit < count;
        const uint d = there ? digit(x[k], (uint)n.shift) : 0, slot = wave * DIGITS + d;
#ifdef BALLOT
        uint same = BALLOT(there);
        #pragma unroll
        for (uint b = 0; b < 8; b++) {
            const uint one = d >> b & 1U, ones = BALLOT(one);
            same &= one ? ones : ~ones;
        }
        const uint before = popcount(same & ((1U << bit) - 1)), earlier = seen[slot];
        place[k] = (ushort)(earlier + before);
        WAVE_BARRIER();
        if (there && before == 0)
            seen[slot] = (ushort)(earlier + popcount(same));
        WAVE_BARRIER();
#else
        local uint *mask = masks + (k & 1) * (WAVES * DIGITS) + slot;
        if (there)
            atomic_or(mask, 1U << bit);
        barrier(CLK_LOCAL_MEM_FENCE);
        const uint same = there ? *mask : 0;
        const uint before = popcount(same & ((1U << bit) - 1)), earlier = seen[slot];
        place[k] = (ushort)(earlier + before);
        barrier(CLK_LOCAL_MEM_FENCE);
        if (there && before == 0) {
            seen[slot] = (ushort)(earlier + popcount(same));
            *mask = 0;
        }
#endif
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    // Where a wave's elements of a digit begin among those of the tile, where the tile's digits do in it, and the row's digits
    // in the row.
    uint all = 0;
    for (uint w = 0; w < WAVES; w++) {
        const uint own = seen[w * DIGITS + lane];
        seen[w * DIGITS + lane] = (ushort)all;
        all += own;
    }
    const uint in_tile = all;
    const number in_row = totals[row * DIGITS + lane];
    number base = in_row;
    starts[lane] = all;
    bases[lane] = base;
    for (uint reach = 1; reach < DIGITS; reach *= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        const uint more = lane >= reach ? starts[lane - reach] : 0;
        const number rest = lane >= reach ? bases[lane - reach] : 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        all += more;
        base += rest;
        starts[lane] = all;
        bases[lane] = base;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    starts[lane] = all - in_tile;
    bases[lane] = base - in_row + counts[(row * DIGITS + lane) * n.tiles + tile] - (all - in_tile);
    barrier(CLK_LOCAL_MEM_FENCE);
    local element *elements = (local element *)area;
    #pragma unroll
    for (uint k = 0; k < ITEMS; k++)
        if ((wave * ITEMS + k) * WAVE + bit < count) {
            const uint d = digit(x[k], (uint)n.shift);
            place[k] = (ushort)(starts[d] + seen[wave * DIGITS + d] + place[k]);
            elements[place[k]] = x[k];
        }
    barrier(CLK_LOCAL_MEM_FENCE);
    // Neighbours of a digit go to neighbours.
    TARGET
    number to_places[ITEMS];
    #pragma unroll
    for (uint k = 0; k < ITEMS; k++) {
        const uint at = k * GROUP + lane;
        if (at < count) {
            const element y = elements[at];
            to_places[k] = bases[digit(y, (uint)n.shift)] + at;
            WRITE_ELEMENT
        }
    }
