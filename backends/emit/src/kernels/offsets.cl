    // `lanes` work-items for each of the lines go through its tiles: what each adds up, what those before it do, and that as
    // offsets.
    const uint lane = get_local_id(0), own = lane & (lanes - 1);
    const long line = (long)get_group_id(0) * (GROUP / lanes) + lane / lanes;
    const bool there = line < lines;
    const long chunk = (tiles + lanes - 1) / lanes;
    const long begin = line * tiles + min(own * chunk, tiles), end = line * tiles + min((own + 1) * chunk, tiles);
    local number sums[GROUP];
    number sum = 0;
    if (there)
        for (long i = begin; i < end; i++)
            sum += counts[i];
    number all = sum;
    sums[lane] = all;
    for (uint reach = 1; reach < lanes; reach *= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        const number before = own >= reach ? sums[lane - reach] : 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        all += before;
        sums[lane] = all;
    }
    if (there) {
        number at = all - sum;
        for (long i = begin; i < end; i++) {
            const number count = counts[i];
            counts[i] = at;
            at += count;
        }
        if (own == lanes - 1) {
            TOTAL
        }
    }
