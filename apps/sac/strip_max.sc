// The greatest of every three pixels of a row (Hammes 2000, section 7.4.1).
uint8[:,:] main (uint8 Image[:,:]) {
    uint8 R[:,:] =
        // PRAGMA (stripmine (8,3))
        for window W[1,3] in Image return (array (array_max (W)));
} return (R);
