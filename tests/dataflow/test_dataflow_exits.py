"""Loops that data end, which random search found wrong."""

from __future__ import annotations

from c_targets import MODELS, require_gcc_results
from random_data import function_data

LONGER_VECTORS = """void f(const unsigned char x[8], const int h[8], int y[8], int r[3])
{
    int a = 2, b = -2, n = -2;
#pragma scop
r[2] = 0;
for (int k = 0; k < 8; k++) y[k] = h[k];
#pragma sluice max_trips(64)
for (int k = 0; k < 64 && (b ^ b) >= 33; k++) {
if (n != 44) break;
if (1) a = (h[(n) & 7] ^ h[(b) & 7]);
a -= ((1) + x[(n) & 7]);
if (1) a -= (y[(b) & 7] - n);
b ^= (x[(n) & 7] + (b ^ a));
n += k;
}
#pragma endscop
}
"""
"""For its recurrence isl's scheduler gives time vectors of more dimensions than the program has."""


def test_schedules_in_more_dimensions_than_the_program_has_are_not_tried() -> None:
    options = {"interleave": 2, "latency": {"sub": 2, "select": 2, "lt": 4}, "reorder": "chip", "clock_mhz": 60}
    require_gcc_results(LONGER_VECTORS, "f", function_data(LONGER_VECTORS, "f", 4), MODELS["dataflow"], options)
