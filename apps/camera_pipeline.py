"""Camera pipeline: raw Bayer image to colour, four pixels at a time (Liu 2023, table 7.1; Halide-to-Hardware app
``camera_pipeline_2x2``).

Per 2x2 block of the raw image, whose even rows hold green-red (GR) and red (R), odd rows blue (B) and green-blue (GB):

    D        = min(I, max of the four neighbours of the same colour)                      hot pixels
    G at R   = the mean of the two green pairs around it that differ less; likewise G at B
    R, B     = the neighbours' mean, corrected by what green does there
    colour   = M * min(rgb, 10000) + t       8.8 fixed point, 32-bit products of which bits 8 to 23 are kept
    out      = CURVE[clamp(colour, 0, 1023)]

uint16, wrapping. The input is the raw image of ``2*height + 8`` rows and ``2*width + 8`` columns, seen as
(row pair, row in it, column pair, column in it): ``raw.reshape(height + 4, 2, width + 4, 2)``. The output is
(channel, row pair, row in it, column pair, column in it).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from compiler.frontend.kernel import Typed, absolute_difference, apply, cast, clamp, lookup, maximum, minimum, select
from compiler.frontend.loop_nest import OpNode, Prog, prog
from compiler.ir.program import Program, Table
from compiler.ir.types import INT16, UINT16

MATRIX = ((549, -103, 7), (-96, 373, 62), (-31, -261, 883))
OFFSETS = (-40, -29, -22)
PLANES = {"gr": (0, 0), "r": (1, 0), "b": (0, 1), "gb": (1, 1)}
"""Where a colour's pixel lies in its block: column, row."""


def curve() -> list[int]:
    """The tone curve: 1024 entries, computed in single precision."""
    b = np.float32(2.0 - math.sqrt(2.0))
    a = np.float32(2.0) - np.float32(2.0) * b
    found = []
    for n in range(1024):
        u = np.sqrt(np.float32(n) / np.float32(1024))
        v = np.float32(1) - u
        value = np.float32(1) - (a * v * v + b * v) if u > 0.5 else a * u * u + b * u
        found.append(int(min(max(np.float32(256) * value, np.float32(0)), np.float32(255))))
    return found


def mean(a: Typed, b: Typed) -> Typed:
    return (a + b) >> 1


def unhot(centre: Typed, left: Typed, right: Typed, above: Typed, below: Typed) -> Typed:
    return minimum(centre, maximum(maximum(left, right), maximum(above, below)))


def flatter(a: Typed, b: Typed, c: Typed, d: Typed) -> Typed:
    """The mean of the pair that differs less; the second one if both differ alike."""
    return select(absolute_difference(a, b) < absolute_difference(c, d), mean(a, b), mean(c, d))


def corrected(green: Typed, a: Typed, b: Typed, green_a: Typed, green_b: Typed) -> Typed:
    return green + mean(a, b) - mean(green_a, green_b)


def diagonal(green: Typed, a: Typed, b: Typed, green_a: Typed, green_b: Typed, c: Typed, d: Typed, green_c: Typed,
             green_d: Typed) -> Typed:
    """Along the diagonal whose two values differ less."""
    first, second = corrected(green, a, b, green_a, green_b), corrected(green, c, d, green_c, green_d)
    return select(absolute_difference(a, b) < absolute_difference(c, d), first, second)


def channel(weights: tuple[int, ...], offset: int, table: Table) -> Callable[..., Typed]:
    """One output channel from red, green and blue."""

    def function(*rgb: Typed) -> Typed:
        total = None
        for weight, value in zip(weights, rgb, strict=True):
            product = apply("mul_mid", cast(INT16, minimum(value, 10000)), INT16.wrap(weight))
            total = product if total is None else total + product
        assert total is not None
        return lookup(table, cast(UINT16, clamp(total + offset, 0, 1023)))

    return function


Tap = tuple[str, int, int]
"""A load: array, and offset in blocks: columns, rows."""


@dataclass
class Stages:
    """Adds stages over blocks. `origins`: the block at which an array begins, counted from the output's first one."""

    prg: Prog
    width: int
    height: int
    origins: dict[str, tuple[int, int]] = field(default_factory=dict)

    def add(self, name: str, function: Callable[..., Typed], taps: list[Tap], left: int = 0, right: int = 0,
            above: int = 0, below: int = 0) -> None:
        """The stage `name` on the blocks of the output and so many more in every direction."""
        self.origins[name] = -left, -above
        op = self._op(name, left + right, above + below)
        op.add_function(function)
        for array, x, y in taps:
            first_x, first_y = self.origins[array]
            op.add_load(array, f"x + {x - left - first_x}", f"y + {y - above - first_y}")
        op.add_store(name, "x", "y")

    def add_hot_pixel_suppression(self, plane: str) -> None:
        """The raw plane of one colour without hot pixels, one block more in every direction."""
        column, row = PLANES[plane]
        self.origins[plane] = -1, -1
        op = self._op(plane, 2, 2)
        op.add_function(unhot)
        for x, y in ((1, 1), (0, 1), (2, 1), (1, 0), (1, 2)):
            op.add_load("input", column, f"x + {x}", row, f"y + {y}")
        op.add_store(plane, "x", "y")

    def add_output(self, number: int, plane: str, function: Callable[..., Typed], colours: list[str]) -> None:
        """One channel of the pixels at one place in their blocks."""
        column, row = PLANES[plane]
        op = self._op(f"output_{number}_{plane}", 0, 0)
        op.add_function(function)
        for array in colours:
            op.add_load(array, "x", "y")
        op.add_store("output", column, "x", row, "y", number)

    def _op(self, name: str, more_columns: int, more_rows: int) -> OpNode:
        y = self.prg.add_loop("y", 0, self.height + more_rows)
        return y.add_loop("x", 0, self.width + more_columns).add_op(f"Compute_{name}")


def build(width: int = 128, height: int = 96) -> Program:
    prg = prog("camera_pipeline", UINT16)
    prg.add_input("input", shape=(height + 4, 2, width + 4, 2))
    prg.add_output("output", shape=(3, height, 2, width, 2))
    table = prg.add_table("curve", curve(), UINT16)
    stages = Stages(prg, width, height)
    for plane in PLANES:
        stages.add_hot_pixel_suppression(plane)
    _add_green(stages)
    _add_red_and_blue(stages)
    here = {"gr": ("r_gr", "gr", "b_gr"), "r": ("r", "g_r", "b_r"), "b": ("r_b", "g_b", "b"),
            "gb": ("r_gb", "gb", "b_gb")}
    for plane, colours in here.items():
        for colour in colours:
            stages.add(f"limited_{colour}", lambda value: minimum(value, 10000), [(colour, 0, 0)])
        for number, (weights, offset) in enumerate(zip(MATRIX, OFFSETS, strict=True)):
            stages.add_output(number, plane, channel(weights, offset, table), [f"limited_{c}" for c in colours])
    return prg.build()


def _add_green(stages: Stages) -> None:
    stages.add("g_r", flatter, [("gr", 1, 0), ("gr", 0, 0), ("gb", 0, -1), ("gb", 0, 0)], left=1, below=1)
    stages.add("g_b", flatter, [("gb", -1, 0), ("gb", 0, 0), ("gr", 0, 1), ("gr", 0, 0)], right=1, above=1)


def _add_red_and_blue(stages: Stages) -> None:
    stages.add("r_gr", corrected, [("gr", 0, 0), ("r", -1, 0), ("r", 0, 0), ("g_r", 0, 0), ("g_r", -1, 0)])
    stages.add("b_gr", corrected, [("gr", 0, 0), ("b", 0, 0), ("b", 0, -1), ("g_b", 0, 0), ("g_b", 0, -1)])
    stages.add("r_gb", corrected, [("gb", 0, 0), ("r", 0, 0), ("r", 0, 1), ("g_r", 0, 0), ("g_r", 0, 1)])
    stages.add("b_gb", corrected, [("gb", 0, 0), ("b", 0, 0), ("b", 1, 0), ("g_b", 0, 0), ("g_b", 1, 0)])
    stages.add("r_b", diagonal, [("g_b", 0, 0), ("r", 0, 0), ("r", -1, 1), ("g_r", 0, 0), ("g_r", -1, 1),
                                 ("r", -1, 0), ("r", 0, 1), ("g_r", -1, 0), ("g_r", 0, 1)])
    stages.add("b_r", diagonal, [("g_r", 0, 0), ("b", 0, 0), ("b", 1, -1), ("g_b", 0, 0), ("g_b", 1, -1),
                                 ("b", 1, 0), ("b", 0, -1), ("g_b", 1, 0), ("g_b", 0, -1)])
