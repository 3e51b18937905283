"""Harris corner detector on a grey image (Liu 2023, table 7.1; Halide-to-Hardware app ``harris``).

Per pixel, with a 3x3 Sobel operator clamped to +-255 for the gradients gx and gy:

    lxx, lxy, lyy = gx*gx >> 7, gx*gy >> 7, gy*gy >> 7     (16-bit products wrap)
    Lxx, Lxy, Lyy = 3x3 box sums of lxx, lxy, lyy
    a, b, c       = Lxx >> 6, Lyy >> 6, Lxy >> 6
    cim           = a*b - c*c - ((a+b)*(a+b) >> 4)
    output        = 255 where cim >= 1 and cim exceeds all its 8 neighbours, else 0

int16 throughout; the valid region only: six less in each direction.
"""

from collections.abc import Callable

from compiler.frontend.kernel import Typed, clamp, constant, select
from compiler.frontend.loop_nest import Prog, prog
from compiler.ir.program import Program
from compiler.ir.types import INT16

WINDOW = [(i, j) for j in range(3) for i in range(3)]
CENTRE = WINDOW.index((1, 1))


def gradient_x(*w: Typed) -> Typed:
    return clamp((w[2] + 2 * w[5] + w[8]) - (w[0] + 2 * w[3] + w[6]), -255, 255)


def gradient_y(*w: Typed) -> Typed:
    return clamp((w[6] + 2 * w[7] + w[8]) - (w[0] + 2 * w[1] + w[2]), -255, 255)


def product(a: Typed, b: Typed) -> Typed:
    return (a * b) >> 7


def box(*w: Typed) -> Typed:
    total = w[0]
    for value in w[1:]:
        total = total + value
    return total


def corner_response(lxx: Typed, lxy: Typed, lyy: Typed) -> Typed:
    a, b, c = lxx >> 6, lyy >> 6, lxy >> 6
    return a * b - c * c - (((a + b) * (a + b)) >> 4)


def local_maximum(*w: Typed) -> Typed:
    centre = w[CENTRE]
    highest = centre >= 1
    for k, value in enumerate(w):
        if k != CENTRE:
            highest = highest & (centre > value)
    return select(highest, constant(INT16, 255), 0)


def add_stage(prg: Prog, name: str, size: tuple[int, int], function: Callable[..., Typed],
              loads: list[tuple[str, int, int]]) -> None:
    """A stage of `size` (width, height) that stores to array `name` and loads (array, x offset, y offset)."""
    width, height = size
    y = prg.add_loop(f"y_{name}", 0, height)
    x = y.add_loop(f"x_{name}", 0, width)
    op = x.add_op(f"Compute_{name}")
    op.add_function(function)
    for array, i, j in loads:
        op.add_load(array, f"x_{name} + {i}", f"y_{name} + {j}")
    op.add_store(name, f"x_{name}", f"y_{name}")


def window(array: str) -> list[tuple[str, int, int]]:
    return [(array, i, j) for i, j in WINDOW]


def build(width: int = 64, height: int = 64) -> Program:
    prg = prog("harris", INT16)
    prg.add_input("input", shape=(height, width))
    prg.add_output("output")
    size = width - 2, height - 2
    add_stage(prg, "gx", size, gradient_x, window("input"))
    add_stage(prg, "gy", size, gradient_y, window("input"))
    for name, first, second in (("lxx", "gx", "gx"), ("lxy", "gx", "gy"), ("lyy", "gy", "gy")):
        add_stage(prg, name, size, product, [(first, 0, 0), (second, 0, 0)])
        add_stage(prg, f"s{name}", (width - 4, height - 4), box, window(name))
    sums = [(name, 0, 0) for name in ("slxx", "slxy", "slyy")]
    add_stage(prg, "cim", (width - 4, height - 4), corner_response, sums)
    add_stage(prg, "output", (width - 6, height - 6), local_maximum, window("cim"))
    return prg.build()
