"""A bilateral filter through a coarse grid (Chen 2007): a float32 image of values from 0 to 1.

Pixels are gathered by place, `spacing` a cell, and by value; the grid is blurred in its three directions, and read
between its cells, where each pixel is.
"""

import halide as hl

x, y, z, c = hl.Var("x"), hl.Var("y"), hl.Var("z"), hl.Var("c")
FLOAT, INT = hl.Float(32), hl.Int(32)


def blurred(source: hl.Func, name: str, direction: int) -> hl.Func:
    """Weights 1, 4, 6, 4, 1 along one dimension of the grid."""
    made = hl.Func(name)

    def at(offset: int) -> hl.Expr:
        place = [x, y, z]
        place[direction] = place[direction] + offset
        return source[(*place, c)]

    made[x, y, z, c] = at(-2) + at(-1) * 4.0 + at(0) * 6.0 + at(1) * 4.0 + at(2)
    made.compute_root()
    return made


def build(width: int = 16, height: int = 16, spacing: int = 8, values: int = 10) -> hl.Func:
    image = hl.ImageParam(FLOAT, 2, "input")
    image.dim(0).set_bounds(0, width)
    image.dim(1).set_bounds(0, height)
    edge = hl.BoundaryConditions.repeat_edge(image)
    cell = hl.RDom([(0, spacing), (0, spacing)], "cell")
    value = hl.clamp(edge[x * spacing + cell.x - spacing // 2, y * spacing + cell.y - spacing // 2], 0.0, 1.0)
    grid = hl.Func("grid")
    grid[x, y, z, c] = hl.cast(FLOAT, 0)
    place = hl.clamp(hl.cast(INT, value * float(values) + 0.5), 0, values)
    grid[x, y, place, c] += hl.select(c == 0, value, 1.0)
    smooth = blurred(blurred(blurred(grid, "deep", 2), "across", 0), "down", 1)
    here = hl.clamp(image[x, y], 0.0, 1.0) * float(values)
    depth = hl.clamp(hl.cast(INT, here), 0, values)
    parts = (here - hl.cast(FLOAT, depth), hl.cast(FLOAT, x % spacing) / float(spacing),
             hl.cast(FLOAT, y % spacing) / float(spacing))
    between = hl.Func("between")

    def line(i: int, j: int) -> hl.Expr:
        first, second = (smooth[x // spacing + i, y // spacing + j, depth + d, c] for d in (0, 1))
        return hl.lerp(first, second, parts[0])

    rows = [hl.lerp(line(0, j), line(1, j), parts[1]) for j in (0, 1)]
    between[x, y, c] = hl.lerp(rows[0], rows[1], parts[2])
    output = hl.Func("output")
    output[x, y] = between[x, y, 0] / between[x, y, 1]
    output.bound(x, 0, width).bound(y, 0, height)
    return output
