/* Needleman and Wunsch's alignment of two sequences: scores of all pairs of prefixes, then the way back from the corner.
   Gaps are written as GAP; the alignment is written from its end. */
#include <stdint.h>

#ifndef N
#define N 8
#endif
#ifndef M
#define M 8
#endif
#define MATCH 1
#define MISMATCH -1
#define SKIP -1
#define GAP 45

void needleman_wunsch(const uint8_t a[N], const uint8_t b[M], uint8_t above[N + M], uint8_t below[N + M],
                      int length[1])
{
    int16_t score[N + 1][M + 1];
    uint8_t from[N + 1][M + 1];
#pragma scop
    for (int i = 0; i <= N; i++) {
        score[i][0] = SKIP * i;
        from[i][0] = 1;
    }
    for (int j = 1; j <= M; j++) {
        score[0][j] = SKIP * j;
        from[0][j] = 2;
    }
    for (int i = 1; i <= N; i++)
        for (int j = 1; j <= M; j++) {
            int best = score[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? MATCH : MISMATCH), way = 0;
            if (score[i - 1][j] + SKIP > best) {
                best = score[i - 1][j] + SKIP;
                way = 1;
            }
            if (score[i][j - 1] + SKIP > best) {
                best = score[i][j - 1] + SKIP;
                way = 2;
            }
            score[i][j] = best;
            from[i][j] = way;
        }
    int i = N, j = M, k = 0;
#pragma sluice max_trips(N + M)
    while (i > 0 || j > 0) {
        int way = from[i][j];
        above[k] = way == 2 ? GAP : a[i - 1];
        below[k] = way == 1 ? GAP : b[j - 1];
        i -= way != 2;
        j -= way != 1;
        k++;
    }
    length[0] = k;
#pragma endscop
}
