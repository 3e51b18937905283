// What moved between two pictures: pixels that differ by more than a threshold and do not stand alone; how many, and
// between which rows and columns they lie.
bool[:,:], uint32, uint16, uint16, uint16, uint16 main (uint8 Before[:,:], uint8 After[:,:], uint8 threshold) {
    bool Changed[:,:] =
        for a in Before dot b in After {
            uint8 difference = a > b ? a - b : b - a;
        } return (array (difference > threshold));
    bool moved[:,:] =
        for window W[3,3] in Changed {
            uint4 around = array_sum ((uint4[:,:])W);
        } return (array (W[1,1] && around > 4));
    uint32 count, uint16 top, uint16 bottom, uint16 left, uint16 right =
        for m in moved at (uint16 i, uint16 j)
        return (sum ((uint32)m), min (i, m), max (i, m), min (j, m), max (j, m));
} return (moved, count, top, bottom, left, right);
