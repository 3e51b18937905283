// Integer square roots, a bit of the result in each of 16 steps (Hammes 2000, section 7.3.1).
uint16[:] main (uint32 A[:]) {
    uint16 R[:] = for a in A return (array (root (a)));
} return (R);

uint16 root (uint32 square) {
    bits32 rest = square;
    bits32 part = 0;
    bits16 found = 0;
    bits32 taken = 0;
    uint16 result =
        for uint4 i in [16] {
            bits32 tried = ((bits32)((uint32)part + (uint16)found) << 2) | 0b1;
            bits16 doubled = found << 1;
            next taken = (taken << 2) | (bits2)(rest >> 30);
            next rest = rest << 2;
            next found, next part =
                if (tried <= taken) return (doubled | 0b1, tried)
                else return (doubled, part << 2);
        } return (final (found));
} return (result);
