// A picture smoothed by a kernel of 5x5 numbers whose sum is 256.
uint8[:,:] main (uint8 Image[:,:]) {
    uint6 Kernel[5,5] = {{1, 4, 6, 4, 1}, {4, 16, 24, 16, 4}, {6, 24, 36, 24, 6}, {4, 16, 24, 16, 4}, {1, 4, 6, 4, 1}};
    uint8 R[:,:] =
        for window W[5,5] in Image {
            uint16 s = for w in W dot k in Kernel return (sum ((uint16)w * k));
        } return (array (s >> 8));
} return (R);
