/* The most likely states of a hidden Markov model for observed symbols: costs are added, the least one wins, and the way
   to it is traced back. */
#include <stdint.h>

#ifndef T
#define T 8
#endif
#ifndef S
#define S 4
#endif
#ifndef K
#define K 8
#endif

void viterbi(const uint8_t symbols[T], const int16_t start[S], const int16_t step[S][S], const int16_t emit[S][K],
             uint8_t path[T])
{
    int cost[T][S];
    uint8_t from[T][S];
#pragma scop
    for (int s = 0; s < S; s++) {
        cost[0][s] = start[s] + emit[s][symbols[0] & (K - 1)];
        from[0][s] = 0;
    }
    for (int t = 1; t < T; t++)
        for (int s = 0; s < S; s++) {
            int best = cost[t - 1][0] + step[0][s], way = 0;
            for (int p = 1; p < S; p++) {
                int other = cost[t - 1][p] + step[p][s];
                if (other < best) {
                    best = other;
                    way = p;
                }
            }
            cost[t][s] = best + emit[s][symbols[t] & (K - 1)];
            from[t][s] = way;
        }
    int least = cost[T - 1][0], state = 0;
    for (int s = 1; s < S; s++)
        if (cost[T - 1][s] < least) {
            least = cost[T - 1][s];
            state = s;
        }
    for (int t = 0; t < T; t++) {
        path[T - 1 - t] = state;
        state = from[T - 1 - t][state & (S - 1)];
    }
#pragma endscop
}
