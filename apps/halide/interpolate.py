"""Colours where there are none: a float32 image [y, x, c] of three colours and how much is known of each pixel, c = 3.

A pyramid of weighted means, and back from its coarsest level: each level keeps what is known of it, and takes the rest
from the level below it, between whose pixels it interpolates.
"""

import halide as hl

x, y, c = hl.Var("x"), hl.Var("y"), hl.Var("c")


def halved(source: hl.Func, name: str) -> hl.Func:
    """A level of half the size: weights 1, 2, 1 in both directions."""
    across, down = hl.Func(f"{name}_across"), hl.Func(name)
    across[x, y, c] = (source[2 * x - 1, y, c] + 2.0 * source[2 * x, y, c] + source[2 * x + 1, y, c]) * 0.25
    down[x, y, c] = (across[x, 2 * y - 1, c] + 2.0 * across[x, 2 * y, c] + across[x, 2 * y + 1, c]) * 0.25
    across.compute_root()
    down.compute_root()
    return down


def doubled(source: hl.Func, name: str) -> hl.Func:
    """A level of twice the size, linear between the pixels."""
    across, down = hl.Func(f"{name}_across"), hl.Func(name)
    across[x, y, c] = (source[x // 2, y, c] + source[(x + 1) // 2, y, c]) * 0.5
    down[x, y, c] = (across[x, y // 2, c] + across[x, (y + 1) // 2, c]) * 0.5
    across.compute_root()
    return down


def build(width: int = 32, height: int = 32, levels: int = 3) -> hl.Func:
    image = hl.ImageParam(hl.Float(32), 3, "input")
    for dimension, extent in enumerate((width, height, 4)):
        image.dim(dimension).set_bounds(0, extent)
    edge = hl.BoundaryConditions.repeat_edge(image)
    known = hl.Func("known")
    known[x, y, c] = hl.select(c < 3, edge[x, y, c] * edge[x, y, 3], edge[x, y, 3])
    known.compute_root()
    pyramid = [known]
    for level in range(1, levels):
        pyramid.append(halved(pyramid[-1], f"level{level}"))
    whole = pyramid[-1]
    for level in reversed(range(levels - 1)):
        between, filled = doubled(whole, f"between{level}"), hl.Func(f"filled{level}")
        filled[x, y, c] = pyramid[level][x, y, c] + (1.0 - pyramid[level][x, y, 3]) * between[x, y, c]
        filled.compute_root()
        whole = filled
    output = hl.Func("output")
    output[x, y, c] = whole[x, y, c] / whole[x, y, 3]
    output.bound(x, 0, width).bound(y, 0, height).bound(c, 0, 3)
    return output
