/* Sorts by merging: runs of one, two, four numbers and so on, from one array to the other and back. */
#ifndef N
#define N 11
#endif
#ifndef PASSES
#define PASSES 4 /* runs of 2 to the PASSES hold all N numbers */
#endif

void merge_sort(int x[N])
{
    int other[N];
#pragma scop
    int width = 1, left = 0, right = 0;
    for (int pass = 0; pass < PASSES; pass++) {
        for (int k = 0; k < N; k++) {
            int start = k & -2 * width;
            int middle = start + width < N ? start + width : N, end = middle + width < N ? middle + width : N;
            if (k == start) {
                left = start;
                right = middle;
            }
            int a = left < middle ? x[left] : 0, b = right < end ? x[right] : 0;
            if (left < middle && (right >= end || a <= b)) {
                other[k] = a;
                left++;
            } else {
                other[k] = b;
                right++;
            }
        }
        for (int k = 0; k < N; k++)
            x[k] = other[k];
        width *= 2;
    }
#pragma endscop
}
