"""`apps/upsample.py` in Halide: nearest-neighbour magnification by two, uint16, of `width` x `height` pixels."""

import halide as hl


def build(width: int = 64, height: int = 64) -> hl.Func:
    x, y = hl.Var("x"), hl.Var("y")
    image = hl.ImageParam(hl.UInt(16), 2, "input")
    output = hl.Func("output")
    output[x, y] = image[x // 2, y // 2]
    output.bound(x, 0, 2 * width).bound(y, 0, 2 * height)
    return output
