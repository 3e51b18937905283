/* Where a value occurs for the first time, N if nowhere. */
#ifndef N
#define N 32
#endif

void first_equal(const int x[N], const int wanted[1], int where[1])
{
#pragma scop
    int i;
    for (i = 0; i < N; i++)
        if (x[i] == wanted[0])
            break;
    where[0] = i;
#pragma endscop
}
