"""Programs on triangles and other parts of boxes, in C as people write them."""

from __future__ import annotations

from compiler.frontend.c_scop import parse_scop
from compiler.ir.program import Program

__all__ = ["TRIANGULAR", "triangular"]

TRIANGULAR = {
    "trmv": ("const short A[N][N], const short x[N], short y[N]", """
    for (int i = 0; i < N; i++) {
        y[i] = 0;
        for (int j = 0; j <= i; j++)
            y[i] += A[i][j] * x[j];
    }"""),
    "triu": ("const short A[N][N], short B[N][N]", """
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            B[i][j] = j >= i ? A[i][j] : 0;"""),
    "trmm": ("const short A[N][N], short B[N][N]", """
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            for (int k = i + 1; k < N; k++)
                B[i][j] += A[k][i] * B[k][j];
            B[i][j] = 3 * B[i][j];
        }"""),
    "part of an output": ("const short A[N][N], short B[N][N]", """
    for (int i = 0; i < N; i++)
        for (int j = 0; j < i; j++)
            B[i][j] = A[i][j] + A[j][i];"""),
    "checkerboard": ("const short A[N][N], short B[N][N]", """
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            if ((i + j) % 2 == 0) B[i][j] = A[i][j];
            else B[i][j] = -i;
        }"""),
    "words of 32 bits": ("const int A[N][N], const int x[N], int y[N]", """
    for (int i = 0; i < N; i++) {
        y[i] = x[i];
        for (int j = i; j < N; j++)
            y[i] -= A[i][j] * x[j];
    }"""),
    "factors": ("short A[N][N]", """
    for (int k = 0; k < N; k++)
        for (int i = k + 1; i < N; i++)
            for (int j = k + 1; j < N; j++)
                A[i][j] -= A[i][k] * A[k][j] >> 4;"""),
    "factors by inverses": ("const short r[N], short A[N][N]", """
    for (int k = 0; k < N; k++)
        for (int i = k + 1; i < N; i++) {
            A[i][k] *= r[k];
            for (int j = k + 1; j < N; j++)
                A[i][j] -= A[i][k] * A[k][j];
        }"""),
    "half of the factors": ("short A[N][N]", """
    for (int k = 0; k < N; k++)
        for (int i = k + 1; i < N; i++)
            for (int j = i; j < N; j++)
                A[i][j] -= A[k][i] * A[k][j] >> 4;"""),
    "solve": ("const short L[N][N], const short b[N], short x[N]", """
    for (int i = 0; i < N; i++) {
        x[i] = b[i];
        for (int j = 0; j < i; j++)
            x[i] -= L[i][j] * x[j] >> 4;
    }"""),
    "symmetric": ("const short A[N][N], short C[N][N]", """
    for (int i = 0; i < N; i++)
        for (int j = 0; j <= i; j++) {
            C[i][j] *= 3;
            for (int k = 0; k < N; k++)
                C[i][j] += 2 * A[i][k] * A[j][k];
        }"""),
    "three cases": ("const short A[N][N], short B[N][N]", """
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            if (i == j) B[i][j] = 1;
            else if (i > j) B[i][j] = A[i][j];
            else B[i][j] = A[j][i];
        }"""),
    "reversed prefix": ("const short r[N], short y[N]", """
    short z[N];
    y[0] = r[0];
    for (int k = 1; k < N; k++) {
        for (int i = 0; i < k; i++)
            z[i] = y[i] + r[k] * y[k - i - 1];
        for (int i = 0; i < k; i++)
            y[i] = z[i];
        y[k] = r[k];
    }"""),
    "reversed prefix of rows": ("const short a[N][N], short y[N][N]", """
    short z[N][N];
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            z[i][j] = a[i][j] * 3;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            y[i][j] = 0;
            for (int k = 0; k <= j; k++)
                y[i][j] += z[i][j - k] * a[k][i];
        }"""),
    "diagonals": ("const short a[N][N], short y[N][N]", """
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            y[i][j] = a[i][j];
    for (int i = 0; i < N; i++)
        for (int j = 0; j <= i; j++)
            y[i][j] += y[i - j][j] + 2 * y[i - j][0];"""),
}
"""Parameters and body of every function, by name; some need more than an 8x4 array."""


def triangular(name: str, size: int) -> Program:
    """One of `TRIANGULAR`, on arrays of `size` elements in each dimension."""
    parameters, body = TRIANGULAR[name]
    text = f"void f({parameters}) {{\n#pragma scop{body}\n#pragma endscop\n}}\n".replace("[N]", f"[{size}]")
    return parse_scop(text.replace("< N", f"< {size}"), "f.c")
