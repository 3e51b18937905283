"""`apps/harris.py` in Halide: corners of a grey image, int16, `width` x `height` in, six less in each direction out."""

import halide as hl

INT16 = hl.Int(16)
x, y = hl.Var("x"), hl.Var("y")
WINDOW = [(i, j) for j in range(3) for i in range(3)]


def stage(name: str, value: hl.Expr) -> hl.Func:
    func = hl.Func(name)
    func[x, y] = hl.cast(INT16, value)
    func.compute_root()
    return func


def box(func: hl.Func) -> hl.Expr:
    total = func[x, y]
    for i, j in WINDOW[1:]:
        total += func[x + i, y + j]
    return total


def limited(value: hl.Expr) -> hl.Expr:
    return hl.clamp(value, hl.cast(INT16, -255), hl.cast(INT16, 255))


def build(width: int = 64, height: int = 64) -> hl.Func:
    image = hl.ImageParam(INT16, 2, "input")
    w = [image[x + i, y + j] for i, j in WINDOW]
    gx = stage("gx", limited((w[2] + 2 * w[5] + w[8]) - (w[0] + 2 * w[3] + w[6])))
    gy = stage("gy", limited((w[6] + 2 * w[7] + w[8]) - (w[0] + 2 * w[1] + w[2])))
    sums = []
    for name, first, second in (("lxx", gx, gx), ("lxy", gx, gy), ("lyy", gy, gy)):
        product = stage(name, (first[x, y] * second[x, y]) >> 7)
        sums.append(stage(f"s{name}", box(product)))
    a, c, b = (part[x, y] >> 6 for part in sums)
    response = stage("cim", a * b - c * c - (((a + b) * (a + b)) >> 4))
    centre = response[x + 1, y + 1]
    highest = centre >= 1
    for i, j in WINDOW:
        if (i, j) != (1, 1):
            highest &= centre > response[x + i, y + j]
    output = stage("output", hl.select(highest, hl.cast(INT16, 255), hl.cast(INT16, 0)))
    output.bound(x, 0, width - 6).bound(y, 0, height - 6)
    return output
