// The median of every 3x3 pixels.
uint8[:,:] main (uint8 Image[:,:]) {
    uint8 R[:,:] = for window W[3,3] in Image return (array (array_median (W)));
} return (R);
