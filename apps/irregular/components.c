/* Connected components of a graph, given as edges: both ends of an edge get the smaller of their labels, until a pass over
   all edges changes nothing. */
#ifndef N
#define N 8
#endif
#ifndef E
#define E 8
#endif

void components(const int tail[E], const int head[E], int label[N], int passes[1])
{
#pragma scop
    for (int n = 0; n < N; n++)
        label[n] = n;
    int changed = 1, count = 0;
#pragma sluice max_trips(N)
    while (changed) {
        changed = 0;
        for (int e = 0; e < E; e++) {
            int a = tail[e] & (N - 1), b = head[e] & (N - 1);
            int left = label[a], right = label[b];
            if (left < right) {
                label[b] = left;
                changed = 1;
            }
            if (right < left) {
                label[a] = right;
                changed = 1;
            }
        }
        count++;
    }
    passes[0] = count;
#pragma endscop
}
