// A picture in black and white, at the first level that half of the pixels are below, and how often each level occurs.
bool[:,:], uint32[:] main (uint8 Image[:,:]) {
    uint32 counts[:] = for p in Image return (histogram (p, 256));
    uint32 rows, uint32 columns = extents (Image);
    uint32 below = 0;
    uint8 level = 0;
    uint8 threshold =
        for count in counts at (uint8 i) {
            next level = below * 2 < rows * columns ? i : level;
            next below = below + count;
        } return (final (level));
    bool white[:,:] = for p in Image return (array (p >= threshold));
} return (white, counts);
