"""`apps/laplacian_pyramid.py` in Halide: three levels, taken apart and put together, uint16. `size` outputs in each
direction, a multiple of 4, need `size` + 12 inputs, the first at (-7, -7)."""

import halide as hl

WEIGHTS = ((3, 21, 3), (21, 158, 21), (3, 21, 3))
x, y = hl.Var("x"), hl.Var("y")


def stored(name: str, value: hl.Expr) -> hl.Func:
    func = hl.Func(name)
    func[x, y] = value
    func.compute_root()
    return func


def blurred(func: hl.Func | hl.ImageParam, step: int = 1) -> hl.Expr:
    """Blurred at (x, y), of an image that is `step` times as large in each direction."""
    terms = [func[(x + i - 1) // step, (y + j - 1) // step] * weight
             for j, row in enumerate(WEIGHTS) for i, weight in enumerate(row)]
    total = terms[0]
    for term in terms[1:]:
        total += term
    return total >> 8


def build(size: int = 64) -> hl.Func:
    f0 = hl.ImageParam(hl.UInt(16), 2, "input")
    l0 = stored("l0", blurred(f0))
    f1 = hl.Func("f1")
    f1[x, y] = l0[2 * x, 2 * y]
    l1 = stored("l1", blurred(f1))
    f2 = hl.Func("f2")
    f2[x, y] = l1[2 * x, 2 * y]
    h1 = stored("h1", f1[x, y] - l1[x, y])
    f1u = stored("f1u", blurred(f2, 2) + h1[x, y])
    h0 = stored("h0", f0[x, y] - l0[x, y])
    output = stored("output", blurred(f1u, 2) + h0[x, y])
    output.bound(x, 0, size).bound(y, 0, size)
    return output
