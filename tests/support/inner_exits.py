"""A loop that ends when the data say so, inside another one, with data from the shortest run to a long one."""

from __future__ import annotations

__all__ = ["GCD_CASES", "GCD_OF_ALL"]

GCD_OF_ALL = """void f(const int x[4], int y[4]) {
    int a, b;
#pragma scop
    b = x[0];
    for (int i = 0; i < 4; i++) {
        a = x[i];
#pragma sluice max_trips(20)
        while (a != b) {
            if (a > b) a -= b;
            else b -= a;
        }
        y[i] = b;
    }
#pragma endscop
}"""
"""Every loop begins with what the one before it has left."""

GCD_CASES = ((5, 5, 5, 5), (9, 6, 40, 3), (21, 1, 21, 21))
"""Values of `x`."""
