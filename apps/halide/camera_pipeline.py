"""Camera pipeline in Halide, the stages of `apps/camera_pipeline.py`: a raw Bayer image to colour.

The raw image has green-red and red pixels in even rows, blue and green-blue ones in odd rows. `width` x `height` blocks
of 2x2 pixels come out; two blocks more are read on each side. The tone curve is a Func without inputs.
"""

import halide as hl

MATRIX = ((549, -103, 7), (-96, 373, 62), (-31, -261, 883))
OFFSETS = (-40, -29, -22)
UINT16, INT32 = hl.UInt(16), hl.Int(32)
x, y, c = hl.Var("x"), hl.Var("y"), hl.Var("c")


def stored(name: str, value: hl.Expr) -> hl.Func:
    func = hl.Func(name)
    func[x, y] = value
    func.compute_root()
    return func


def mean(a: hl.Expr, b: hl.Expr) -> hl.Expr:
    return (a + b) >> 1


def flatter(a: hl.Expr, b: hl.Expr, d: hl.Expr, e: hl.Expr) -> hl.Expr:
    return hl.select(hl.absd(a, b) < hl.absd(d, e), mean(a, b), mean(d, e))


def interleaved(even: tuple[hl.Func, hl.Func], odd: tuple[hl.Func, hl.Func]) -> hl.Expr:
    """Pixels of four planes: (even columns, odd columns) of even rows, and of odd rows."""
    rows = [hl.select(x % 2 == 0, hl.Expr(left[x // 2, y // 2]), hl.Expr(right[x // 2, y // 2]))
            for left, right in (even, odd)]
    return hl.select(y % 2 == 0, rows[0], rows[1])


def corrected(name: str, green: hl.Func, colour: hl.Func, own: hl.Func, dx: int, dy: int) -> hl.Func:
    """A colour where only green was measured: the mean of two neighbours, corrected by what green does there."""
    pair = mean(colour[x, y], colour[x + dx, y + dy])
    return stored(name, green[x, y] + pair - mean(own[x, y], own[x + dx, y + dy]))


def diagonal(name: str, green: hl.Func, colour: hl.Func, own: hl.Func, dx: int, dy: int) -> hl.Func:
    """A colour at the pixel of the opposite one: along the diagonal whose two values differ less."""
    def along(a: tuple[int, int], b: tuple[int, int]) -> tuple[hl.Expr, hl.Expr]:
        first, second = colour[x + a[0], y + a[1]], colour[x + b[0], y + b[1]]
        there = mean(own[x + a[0], y + a[1]], own[x + b[0], y + b[1]])
        return hl.absd(first, second), green[x, y] + mean(first, second) - there
    first, second = along((0, 0), (dx, dy)), along((dx, 0), (0, dy))
    return stored(name, hl.select(first[0] < second[0], first[1], second[1]))


def curve(name: str = "curve") -> hl.Func:
    """256 times a power of 10-bit numbers, at most 255."""
    func = hl.Func(name)
    scaled = hl.pow(hl.cast(hl.Float(32), x) / 1024.0, hl.f32(1.0 / 1.8)) * 256.0
    func[x] = hl.cast(UINT16, hl.clamp(scaled, 0.0, 255.0))
    func.compute_root()
    return func


def build(width: int = 8, height: int = 8) -> hl.Func:
    raw = hl.ImageParam(UINT16, 2, "input")
    around = hl.max(hl.max(raw[x - 2, y], raw[x + 2, y]), hl.max(raw[x, y - 2], raw[x, y + 2]))
    denoised = stored("denoised", hl.min(raw[x, y], around))
    places = {"gr": (0, 0), "r": (1, 0), "b": (0, 1), "gb": (1, 1)}
    gr, r, b, gb = (stored(name, denoised[2 * x + i, 2 * y + j]) for name, (i, j) in places.items())
    g_r = stored("g_r", flatter(gr[x + 1, y], gr[x, y], gb[x, y - 1], gb[x, y]))
    g_b = stored("g_b", flatter(gb[x - 1, y], gb[x, y], gr[x, y + 1], gr[x, y]))
    r_gr, b_gr = corrected("r_gr", gr, r, g_r, -1, 0), corrected("b_gr", gr, b, g_b, 0, -1)
    r_gb, b_gb = corrected("r_gb", gb, r, g_r, 0, 1), corrected("b_gb", gb, b, g_b, 1, 0)
    r_b, b_r = diagonal("r_b", g_b, r, g_r, -1, 1), diagonal("b_r", g_r, b, g_b, 1, -1)
    red = interleaved((r_gr, r), (r_b, r_gb))
    green = interleaved((gr, g_r), (g_b, gb))
    blue = interleaved((b_gr, b_r), (b, b_gb))
    colours = [hl.cast(INT32, hl.min(value, hl.cast(UINT16, 10000))) for value in (red, green, blue)]
    tone = curve()
    channels = []
    for weights, offset in zip(MATRIX, OFFSETS, strict=True):
        total = colours[0] * weights[0] + colours[1] * weights[1] + colours[2] * weights[2]
        channels.append(hl.Expr(tone[hl.clamp((total >> 8) + offset, 0, 1023)]))
    output = hl.Func("output")
    output[x, y, c] = hl.mux(c, channels)
    output.bound(x, 0, 2 * width).bound(y, 0, 2 * height).bound(c, 0, 3)
    return output
