/* Sparse matrix times vector; row i has the entries first[i] ... first[i + 1] - 1, of which there are at most M. */
#ifndef N
#define N 8
#endif
#ifndef E
#define E 32
#endif
#ifndef M
#define M 8
#endif

void crs(const int values[E], const int columns[E], const int first[N + 1], const int x[N], int y[N])
{
#pragma scop
    for (int i = 0; i < N; i++) {
        int sum = 0;
#pragma sluice max_trips(M)
        for (int k = first[i]; k < first[i + 1]; k++)
            sum += values[k & (E - 1)] * x[columns[k & (E - 1)] & (N - 1)];
        y[i] = sum;
    }
#pragma endscop
}
