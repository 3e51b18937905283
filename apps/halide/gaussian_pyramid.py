"""`apps/gaussian_pyramid.py` in Halide: three times the mean of 2x2 blocks, uint16; `size` is a multiple of 8."""

import halide as hl

x, y = hl.Var("x"), hl.Var("y")


def halved(source: hl.Func | hl.ImageParam, name: str) -> hl.Func:
    func = hl.Func(name)
    func[x, y] = (source[2 * x, 2 * y] + source[2 * x + 1, 2 * y] + source[2 * x, 2 * y + 1]
                  + source[2 * x + 1, 2 * y + 1]) >> 2
    func.compute_root()
    return func


def build(size: int = 64) -> hl.Func:
    image = hl.ImageParam(hl.UInt(16), 2, "input")
    output = halved(halved(halved(image, "f1"), "f2"), "output")
    output.bound(x, 0, size // 8).bound(y, 0, size // 8)
    return output
