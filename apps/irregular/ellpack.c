/* Sparse matrix times vector, every row with as many entries. */
#ifndef N
#define N 16
#endif
#ifndef L
#define L 4
#endif

void ellpack(const int values[N][L], const int columns[N][L], const int x[N], int y[N])
{
#pragma scop
    for (int i = 0; i < N; i++) {
        int sum = 0;
        for (int k = 0; k < L; k++)
            sum += values[i][k] * x[columns[i][k] & (N - 1)];
        y[i] = sum;
    }
#pragma endscop
}
