// Canny's edges up to hysteresis: smoothing, gradient, what is greatest along it, and two thresholds (0: no edge,
// 1: an edge if a strong one is beside it, 2: a strong edge).
uint2[:,:] main (uint8 Image[:,:], uint11 low, uint11 high) {
    uint8 Smooth[:,:] =
        for window W[3,3] in Image {
            uint8 K[3,3] = {{1, 2, 1}, {2, 4, 2}, {1, 2, 1}};
            uint12 s = for w in W dot k in K return (sum ((uint12)w * k));
        } return (array (s >> 4));
    uint11 Size[:,:], uint2 Direction[:,:] =
        for window W[3,3] in Smooth {
            int12 x = (int12)W[0,2] + (int12)2 * W[1,2] + W[2,2] - W[0,0] - (int12)2 * W[1,0] - W[2,0];
            int12 y = (int12)W[2,0] + (int12)2 * W[2,1] + W[2,2] - W[0,0] - (int12)2 * W[0,1] - W[0,2];
            uint11 ax, uint11 ay = x < 0 ? -x : x, y < 0 ? -y : y;
            // 0: along the row, 1: downwards to the right, 2: along the column, 3: downwards to the left; a slope
            // of less than 5/12 is taken as none.
            uint2 direction =
                if ((uint15)ay * 12 < (uint15)ax * 5) return (0)
                elif ((uint15)ax * 12 < (uint15)ay * 5) return (2)
                elif ((x < 0) == (y < 0)) return (1)
                else return (3);
        } return (array ((uint11)sqrt ((uint22)ax * ax + (uint22)ay * ay)), array (direction));
    uint2 edges[:,:] =
        for window S[3,3] in Size dot window D[3,3] in Direction {
            uint11 here = S[1,1];
            uint11 before, uint11 behind =
                switch (D[1,1]) {
                    case 0: return (S[1,0], S[1,2])
                    case 1: return (S[0,0], S[2,2])
                    case 2: return (S[0,1], S[2,1])
                    default: return (S[0,2], S[2,0])
                };
            bool crest = here >= before && here > behind;
        } return (array ((uint2)(crest && here >= high ? 2 : crest && here >= low ? 1 : 0)));
} return (edges);
