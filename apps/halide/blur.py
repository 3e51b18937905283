"""A 3x3 box in two passes of three, uint16, two less in each direction out; the pass along rows is computed as far as a
strip of the other one needs it."""

import halide as hl

x, y, yi = hl.Var("x"), hl.Var("y"), hl.Var("yi")


def build(width: int = 64, height: int = 64) -> hl.Func:
    image = hl.ImageParam(hl.UInt(16), 2, "input")
    along, down = hl.Func("along"), hl.Func("down")
    along[x, y] = (image[x, y] + image[x + 1, y] + image[x + 2, y]) // 3
    down[x, y] = (along[x, y] + along[x, y + 1] + along[x, y + 2]) // 3
    down.split(y, y, yi, 8, hl.TailStrategy.GuardWithIf)
    along.store_at(down, y).compute_at(down, yi)
    down.bound(x, 0, width - 2).bound(y, 0, height - 2)
    return down
