"""Matrix product in Halide: c = a b of int16 matrices of `size` x `size`, wrapping, the sum's loop outermost, as
`apps/gemm.py` does."""

import halide as hl


def build(size: int = 64) -> hl.Func:
    x, y = hl.Var("x"), hl.Var("y")
    a, b = hl.ImageParam(hl.Int(16), 2, "a"), hl.ImageParam(hl.Int(16), 2, "b")
    r = hl.RDom([(0, size)], "r")
    c = hl.Func("c")
    c[x, y] = hl.cast(hl.Int(16), 0)
    c[x, y] += a[r.x, y] * b[x, r.x]
    c.update().reorder(x, y, r.x)
    c.bound(x, 0, size).bound(y, 0, size)
    return c
