// Two loops of which the second reads what the first makes (Hammes 2000, section 7.4.3).
uint8[:,:] main (uint8 A[:,:]) {
    uint8 R0[:,:] = for window W[2,3] in A return (array (f (W)));
    uint8 R1[:,:] = for window W[2,3] in R0 return (array (array_max (W)));
} return (R1);

uint8 f (uint8 W[2,3]) {
    uint8 v0 = W[0,0] + W[1,1];
    uint8 v1 = W[0,1] + W[1,0];
    uint16 v2 = (uint16)v0 * v1;
    uint8 v3 = W[1,2] + W[0,2];
    uint16 v4 = (uint16)v3 * 5;
    uint16 v5 = v2 - v4;
    uint8 v7 = if (v5 > 3562) return (v5 - 1) else return (v5 + 1);
} return (v7);
