/* Sorts by merging: runs of one, two, four numbers and so on, from one array to the other and back. */
#ifndef N
#define N 8
#endif

void merge_sort(int x[N])
{
    int other[N];
#pragma scop
    for (int width = 1; width < N; width *= 2) {
        for (int start = 0; start < N; start += 2 * width) {
            int left = start, right = start + width;
            for (int k = start; k < start + 2 * width; k++) {
                if (right >= start + 2 * width || (left < start + width && x[left] <= x[right & (N - 1)])) {
                    other[k] = x[left];
                    left++;
                } else {
                    other[k] = x[right];
                    right++;
                }
            }
        }
        for (int k = 0; k < N; k++)
            x[k] = other[k];
    }
#pragma endscop
}
