// Two levels of a gaussian pyramid: each is smoothed by 1 4 6 4 1 in both directions and has half the rows and columns.
uint8[:,:], uint8[:,:] main (uint8 Image[:,:]) {
    uint8 half[:,:] = reduce (Image);
    uint8 quarter[:,:] = reduce (half);
} return (half, quarter);

uint8[:,:] reduce (uint8 A[:,:]) {
    uint12 Rows[:,:] = for window W[1,5] in A step (1,2)
        return (array ((uint12)W[0,0] + W[0,4] + (uint12)4 * ((uint10)W[0,1] + W[0,3]) + (uint12)6 * W[0,2]));
    uint8 R[:,:] = for window W[5,1] in Rows step (2,1) {
        uint16 s = (uint16)W[0,0] + W[4,0] + (uint16)4 * ((uint14)W[1,0] + W[3,0]) + (uint16)6 * W[2,0];
    } return (array (s >> 8));
} return (R);
