"""`apps/unsharp.py` in Halide: a colour image sharpened by a 7x7 blur of its grey values, uint16, six less in each
direction out."""

import halide as hl
import numpy as np

UINT16, INT16 = hl.UInt(16), hl.Int(16)
HALF = ((0, 1, 2, 2, 2, 1, 0), (1, 3, 6, 7, 6, 3, 1), (2, 6, 12, 15, 12, 6, 2), (2, 7, 15, 18, 15, 7, 2))
WEIGHTS = (*HALF, *HALF[2::-1])
x, y, c = hl.Var("x"), hl.Var("y"), hl.Var("c")


def weighted(func: hl.Func) -> hl.Expr:
    terms = [func[x + i, y + j] * weight for j, row in enumerate(WEIGHTS) for i, weight in enumerate(row) if weight]
    total = terms[0]
    for term in terms[1:]:
        total += term
    return total


def build(width: int = 64, height: int = 64) -> hl.Func:
    image = hl.ImageParam(UINT16, 3, "input")
    reciprocal = hl.Buffer(np.array([256 // (n + 1) for n in range(255)], np.uint16), "reciprocal")
    grey, blur, ratio, output = (hl.Func(name) for name in ("grey", "blur", "ratio", "output"))
    grey[x, y] = (image[x, y, 0] * 77 + image[x, y, 1] * 150 + image[x, y, 2] * 29) >> 8
    blur[x, y] = (weighted(grey) >> 8) & 255
    g = grey[x + 3, y + 3]
    sharp = hl.cast(UINT16, hl.clamp(hl.cast(INT16, 2 * g - blur[x, y]), hl.cast(INT16, 0), hl.cast(INT16, 255)))
    ratio[x, y] = sharp * reciprocal[hl.cast(hl.Int(32), hl.clamp(g, hl.cast(UINT16, 1), hl.cast(UINT16, 255))) - 1]
    wide = hl.cast(hl.UInt(32), ratio[x, y]) * hl.cast(hl.UInt(32), image[x + 3, y + 3, c])
    output[x, y, c] = hl.cast(UINT16, wide >> 8)
    for func in (grey, blur, ratio):
        func.compute_root()
    output.bound(x, 0, width - 6).bound(y, 0, height - 6).bound(c, 0, 3).unroll(c)
    return output
