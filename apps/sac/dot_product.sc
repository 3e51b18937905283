// The sum of the products of two rows of numbers, wide enough for 256 of them.
int32 main (int12 A[:], int12 B[:]) {
    int32 product = for a in A dot b in B return (sum ((int32)a * b));
} return (product);
