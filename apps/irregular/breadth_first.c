/* Distances from the first node of a graph, given as edges: passes over all edges until none changes anything. */
#ifndef N
#define N 8
#endif
#ifndef E
#define E 16
#endif

void breadth_first(const int tail[E], const int head[E], int distance[N])
{
#pragma scop
    for (int n = 0; n < N; n++)
        distance[n] = n == 0 ? 0 : N;
    int changed = 1;
    for (int pass = 0; pass < N && changed; pass++) {
        changed = 0;
        for (int e = 0; e < E; e++) {
            int next = distance[tail[e] & (N - 1)] + 1;
            if (next < distance[head[e] & (N - 1)]) {
                distance[head[e] & (N - 1)] = next;
                changed = 1;
            }
        }
    }
#pragma endscop
}
