"""Unsharp mask with a 7x7 blur on a colour image (Liu 2023, table 7.1; Halide-to-Hardware app ``unsharp``, 7x7).

Per pixel of an image with channels R, G, B (8-bit values in 16-bit words):

    g         = (77 R + 150 G + 29 B) >> 8
    blur      = ((sum over i, j in 0..6 of K[j][i] * g(x+i, y+j)) >> 8) & 255
    sharp     = clamp(2 g - blur, 0, 255)                 at the window's centre
    ratio     = sharp * RECIPROCAL[max(g, 1) - 1]         8.8 fixed point, wraps to 16 bits
    out_c     = (ratio * in_c) >> 8                       32-bit product, low 16 bits kept

The weights sum to 246. The valid region only: six less in each direction.
"""

from collections.abc import Callable

from compiler.frontend.kernel import Typed, apply, cast, clamp, lookup, weighted_sum
from compiler.frontend.loop_nest import Prog, prog
from compiler.ir.program import Program
from compiler.ir.types import INT16, UINT16

_HALF = (
    (0, 1, 2, 2, 2, 1, 0),
    (1, 3, 6, 7, 6, 3, 1),
    (2, 6, 12, 15, 12, 6, 2),
    (2, 7, 15, 18, 15, 7, 2),
)
WEIGHTS = (*_HALF, *_HALF[2::-1])
REACH = 3
TAPS = [(i, j) for j in range(7) for i in range(7) if WEIGHTS[j][i]]
CHANNELS = ("red", "green", "blue")


def grey(red: Typed, green: Typed, blue: Typed) -> Typed:
    return weighted_sum((77, 150, 29), (red, green, blue)) >> 8


def blur(*window: Typed) -> Typed:
    return (weighted_sum([WEIGHTS[j][i] for i, j in TAPS], window) >> 8) & 255


def build(width: int = 64, height: int = 64) -> Program:
    prg = prog("unsharp")
    prg.add_input("input", shape=(3, height, width))
    prg.add_output("output")
    reciprocal = prg.add_table("reciprocal", [256 // (n + 1) for n in range(255)])

    def ratio(g: Typed, b: Typed) -> Typed:
        sharp = cast(UINT16, clamp(cast(INT16, 2 * g - b), 0, 255))
        return sharp * lookup(reciprocal, apply("max", g, 1) - 1)

    def coloured(factor: Typed, value: Typed) -> Typed:
        return apply("mul_mid", factor, value)

    _stage(prg, "grey", width, height, grey, [("input", f"x, y, {c}") for c in range(3)])
    inner = (width - 2 * REACH, height - 2 * REACH)
    _stage(prg, "blur", *inner, blur, [("grey", f"x + {i}, y + {j}") for i, j in TAPS])
    _stage(prg, "ratio", *inner, ratio, [("grey", f"x + {REACH}, y + {REACH}"), ("blur", "x, y")])
    for c, name in enumerate(CHANNELS):
        loads = [("ratio", "x, y"), ("input", f"x + {REACH}, y + {REACH}, {c}")]
        _stage(prg, name, *inner, coloured, loads, ("output", f"x, y, {c}"))
    return prg.build()


def _stage(prg: Prog, name: str, width: int, height: int, function: Callable[..., Typed], loads: list[tuple[str, str]],
           store: tuple[str, str] | None = None) -> None:
    """A stage of `width` x `height` pixels; loads and store as (array, addresses), fastest address first."""
    op = prg.add_loop("y", 0, height).add_loop("x", 0, width).add_op(name)
    op.add_function(function)
    for array, addresses in loads:
        op.add_load(array, *addresses.split(", "))
    array, addresses = store or (name, "x, y")
    op.add_store(array, *addresses.split(", "))
