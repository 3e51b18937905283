"""Local contrast of a uint16 colour image [c, y, x] raised, and edges kept (Paris 2011).

The grey image is remapped around each of some grey levels; of these images pyramids of differences are made. Every
pixel of the result's pyramid is taken from between the two whose levels are nearest to the grey value there.
"""

import halide as hl

x, y, c, k = hl.Var("x"), hl.Var("y"), hl.Var("c"), hl.Var("k")
FLOAT, INT = hl.Float(32), hl.Int(32)


def halved(source: hl.Func, name: str, more: list[hl.Var]) -> hl.Func:
    """Weights 1, 3, 3, 1 in both directions, at half the size."""
    across, down = hl.Func(f"{name}_across"), hl.Func(name)
    across[(x, y, *more)] = (source[(2 * x - 1, y, *more)] + 3.0 * (source[(2 * x, y, *more)]
                             + source[(2 * x + 1, y, *more)]) + source[(2 * x + 2, y, *more)]) / 8.0
    down[(x, y, *more)] = (across[(x, 2 * y - 1, *more)] + 3.0 * (across[(x, 2 * y, *more)]
                           + across[(x, 2 * y + 1, *more)]) + across[(x, 2 * y + 2, *more)]) / 8.0
    down.compute_root()
    return down


def doubled(source: hl.Func, name: str, more: list[hl.Var]) -> hl.Func:
    """Linear between pixels, at twice the size."""
    across, down = hl.Func(f"{name}_across"), hl.Func(name)
    across[(x, y, *more)] = 0.25 * source[(x // 2 - 1 + 2 * (x % 2), y, *more)] + 0.75 * source[(x // 2, y, *more)]
    down[(x, y, *more)] = 0.25 * across[(x, y // 2 - 1 + 2 * (y % 2), *more)] + 0.75 * across[(x, y // 2, *more)]
    return down


def pyramid(bottom: hl.Func, name: str, count: int, more: list[hl.Var]) -> list[hl.Func]:
    found = [bottom]
    for level in range(1, count):
        found.append(halved(found[-1], f"{name}{level}", more))
    return found


def build(width: int = 16, height: int = 16, levels: int = 3, greys: int = 4, alpha: float = 0.25,
          beta: float = 1.0) -> hl.Func:
    image = hl.ImageParam(hl.UInt(16), 3, "input")
    for dimension, extent in enumerate((width, height, 3)):
        image.dim(dimension).set_bounds(0, extent)
    remap, colour, grey, bottom = (hl.Func(name) for name in ("remap", "colour", "grey", "remapped0"))
    scaled = hl.cast(FLOAT, x) / 256.0
    remap[x] = hl.f32(alpha) * scaled * hl.exp(-scaled * scaled / 2.0)
    edge = hl.BoundaryConditions.repeat_edge(image)
    colour[x, y, c] = hl.cast(FLOAT, edge[x, y, c]) / 65535.0
    grey[x, y] = hl.f32(0.299) * colour[x, y, 0] + hl.f32(0.587) * colour[x, y, 1] + hl.f32(0.114) * colour[x, y, 2]
    grey.compute_root()
    level = hl.cast(FLOAT, k) * hl.f32(1.0 / (greys - 1))
    index = hl.clamp(hl.cast(INT, grey[x, y] * float(256 * (greys - 1))), 0, 256 * (greys - 1))
    bottom[x, y, k] = hl.f32(beta) * (grey[x, y] - level) + level + remap[index - 256 * k]
    bottom.compute_root()
    remapped, means = pyramid(bottom, "remapped", levels, [k]), pyramid(grey, "grey", levels, [])
    results: list[hl.Func] = []
    for number in reversed(range(levels)):
        details = hl.Func(f"details{number}")
        if number == levels - 1:
            details[x, y, k] = remapped[number][x, y, k]
        else:
            details[x, y, k] = remapped[number][x, y, k] - doubled(remapped[number + 1], f"wide{number}", [k])[x, y, k]
        position = means[number][x, y] * float(greys - 1)
        below = hl.clamp(hl.cast(INT, position), 0, greys - 2)
        rest = position - hl.cast(FLOAT, below)
        mixed = (1.0 - rest) * details[x, y, below] + rest * details[x, y, below + 1]
        whole = hl.Func(f"result{number}")
        whole[x, y] = mixed + doubled(results[-1], f"coarse{number}", [])[x, y] if results else mixed
        whole.compute_root()
        results.append(whole)
    output = hl.Func("output")
    ratio = results[-1][x, y] * (colour[x, y, c] + hl.f32(0.01)) / (grey[x, y] + hl.f32(0.01))
    output[x, y, c] = hl.cast(hl.UInt(16), hl.clamp(ratio, 0.0, 1.0) * 65535.0)
    output.bound(x, 0, width).bound(y, 0, height).bound(c, 0, 3)
    return output
