// Two arrays between two loops, for which one with wider elements can stand (Hammes 2000, section 7.4.4).
ufix8.2[:,:] main (uint8 A[:,:]) {
    uint8 R0[:,:], uint8 R1[:,:] =
        for window W[2,3] in A return (array (array_max (W)), array (array_min (W)));
    ufix8.2 Res[:,:] =
        for window W0[1,2] in R0 dot window W1[1,2] in R1
        return (array (((ufix8.2)W0[0,0] + W0[0,1] + W1[0,0] + W1[0,1]) / 4));
} return (Res);
