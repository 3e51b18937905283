/* Fourier transform of N complex numbers in place, with 14 bits of fraction: Gentleman and Sande's butterflies, whose
   halves are N/2, N/4, ..., 1 elements apart. Every stage halves the numbers, so the result is divided by N; it stands in
   bit-reversed order. */
#include <stdint.h>

#ifndef N
#define N 8
#endif
#ifndef STAGES
#define STAGES 3
#endif

void fft(int16_t real[N], int16_t imag[N], const int16_t cosine[N / 2], const int16_t sine[N / 2])
{
#pragma scop
    int span = N / 2, turn = 1;
    for (int stage = 0; stage < STAGES; stage++) {
        for (int k = 0; k < N / 2; k++) {
            int low = k & (span - 1);
            int even = 2 * k - low, odd = even + span;
            int a = real[even], b = imag[even], c = real[odd], d = imag[odd];
            int r = a - c, m = b - d, cos = cosine[low * turn], sin = sine[low * turn];
            real[even] = (a + c) >> 1;
            imag[even] = (b + d) >> 1;
            real[odd] = (r * cos + m * sin) >> 15;
            imag[odd] = (m * cos - r * sin) >> 15;
        }
        span /= 2;
        turn *= 2;
    }
#pragma endscop
}
