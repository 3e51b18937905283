"""`apps/gaussian.py` in Halide: a 3x3 blur, uint16, `width` x `height` in, two less in each direction out."""

import halide as hl

WEIGHTS = ((24, 30, 24), (30, 37, 30), (24, 30, 24))


def build(width: int = 64, height: int = 64) -> hl.Func:
    x, y = hl.Var("x"), hl.Var("y")
    image = hl.ImageParam(hl.UInt(16), 2, "input")
    taps = [image[x + i, y + j] * weight for j, row in enumerate(WEIGHTS) for i, weight in enumerate(row)]
    total = taps[0]
    for tap in taps[1:]:
        total += tap
    output = hl.Func("output")
    output[x, y] = total >> 8
    output.bound(x, 0, width - 2).bound(y, 0, height - 2)
    return output
