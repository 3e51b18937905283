"""Finite impulse response filter: y[j] = sum over i of h[i] * x[j + i], wrapping at the element type."""

from collections.abc import Sequence

from compiler.frontend import parallel_array as pa

TAPS = (3, 7, 12, 20, 29, 38, 45, 49, 48, 43, 35, 26, 18, 11, 6, 2)


def build(n: int = 8192, taps: Sequence[int] = TAPS, dtype: str = "uint32") -> pa.ArrayProgram:
    """`n` outputs from n + len(taps) - 1 inputs."""
    x = pa.input("x", n + len(taps) - 1, dtype)
    y = sum(h * x[i:i + n] for i, h in enumerate(taps))
    return pa.program("fir", y=y)
