// The greatest of every 2x3 pixels (Hammes 2000, section 7.4.1).
uint8[:,:] main (uint8 Image[:,:]) {
    uint8 R[:,:] =
        // PRAGMA (stripmine (12,3))
        for window W[2,3] in Image return (array (array_max (W)));
} return (R);
