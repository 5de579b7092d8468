    barrier(CLK_LOCAL_MEM_FENCE);
    local number *numbers_of_places = (local number *)area;
    #pragma unroll
    for (uint k = 0; k < ITEMS; k++) {
        const uint at = (wave * ITEMS + k) * WAVE + bit;
        if (at < count)
            numbers_of_places[place[k]] = READ_INDEX;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    #pragma unroll
    for (uint k = 0; k < ITEMS; k++) {
        const uint at = k * GROUP + lane;
        if (at < count) {
            const number place_of = numbers_of_places[at];
            WRITE_INDEX
        }
    }
