// The product of two matrices: rows with columns.
int32[:,:] main (int16 A[:,:], int16 B[:,:]) {
    int32 C[:,:] =
        for Row (~,:) in A cross Column (:,~) in B {
            int32 c = for a in Row dot b in Column return (sum ((int32)a * b));
        } return (array (c));
} return (C);
