/* Macros with parameters, as PolyBench and others have them. */
#include <stdint.h>

#define N 6
#define FOR(v, low, high) for (int v = (low); v < (high); v++)
#define ARRAY(name, rows, columns) name[rows][columns]
#define MUL(a, b) ((a) * (b))
#define SQUARE(x) MUL(x, x)
#define LITERAL(x) x##u
#define PART(name, number) name##number
#define TWICE(f, x) f(f(x, x), x)
#define NOTHING() 0
#define MAX(a, b) ((a) > (b) ? (a) : (b))

void macro_functions(const int16_t ARRAY(a, N, N), const int16_t ARRAY(b2, N, N), int32_t ARRAY(c, N, N))
{
#pragma scop
  FOR(i, 0, N)
    FOR(j, NOTHING(), N) {
      c[i][j] = LITERAL(3);
      FOR(k, 0, N)
        c[i][j] += MUL(a[i][k], PART(b, 2)[k][j]) - SQUARE(a[i][k] - 1);
      c[i][j] = MAX(c[i][j], TWICE(MUL, (a[i][j])));
    }
#pragma endscop
}
