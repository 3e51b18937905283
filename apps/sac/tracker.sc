// Where a small picture lies in a large one: the place at which the sum of absolute differences is least.
uint16[:], uint32 main (uint8 Image[:,:], uint8 Pattern[8,8]) {
    uint16 Place[:], uint32 least =
        for window W[8,8] in Image at (uint16 i, uint16 j) {
            uint32 difference =
                for w in W dot p in Pattern return (sum ((uint32)(w > p ? w - p : p - w)));
        } return (vals_at_first_min (difference, {i, j}), min (difference));
} return (Place, least);
