// A fast Fourier transform of 64 complex numbers in fixed point: six stages of butterflies, decimation in time. Each
// stage halves, so that nothing overflows: the result is the transform over 64.
complex fix16.14[:] main (complex fix16.14 Signal[64]) {
    // PRAGMA (no_unroll)
    complex fix16.14 A[64] = for uint8 i in [64] return (array (Signal[reversed (i)]));
    complex fix16.14 Work[:] = A;
    uint8 half = 1;
    // PRAGMA (no_unroll)
    complex fix16.14 result[:] =
        for uint3 stage in [6] {
            next Work = butterflies (Work, half);
            next half = half << 1;
        } return (final (Work));
} return (result);

// A number of six bits from its last bit to its first.
uint6 reversed (uint6 n) {
    uint6 source = n;
    uint6 found = 0;
    uint6 result =
        for uint3 k in [6] {
            next found = (found << 1) | (source & 1);
            next source = source >> 1;
        } return (final (found));
} return (result);

// One stage: pairs of numbers that are `half` apart.
complex fix16.14[:] butterflies (complex fix16.14 A[:], uint8 half) {
    // PRAGMA (no_unroll)
    complex fix16.14 R[:] =
        for uint8 i in [64] {
            uint8 within = i & (2 * half - 1);
            bool first = within < half;
            uint8 top = first ? i : i - half;
            complex fix16.14 w = twiddle (first ? within : within - half, half);
            complex fix17.14 a = A[top];
            complex fix17.14 b = times (A[top + half], w);
            complex fix17.14 sum = first ? a + b : a - b;
        } return (array (halved (sum)));
} return (R);

// exp (-pi i k / half).
complex fix16.14 twiddle (uint8 k, uint8 half) {
    double angle = 3.141592653589793 * k / half;
} return (make_complex ((fix16.14)cos (angle), (fix16.14)(-sin (angle))));

complex fix17.14 times (complex fix16.14 a, complex fix16.14 b) {
    fix32.28 re = (fix32.28)real (a) * real (b) - (fix32.28)imag (a) * imag (b);
    fix32.28 im = (fix32.28)real (a) * imag (b) + (fix32.28)imag (a) * real (b);
} return (make_complex ((fix17.14)re, (fix17.14)im));

complex fix16.14 halved (complex fix17.14 a)
    return (make_complex ((fix16.14)(real (a) >> 1), (fix16.14)(imag (a) >> 1)));
