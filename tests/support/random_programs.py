"""Random members of the array target's class of programs: small image pipelines with all its kinds of accesses.

Stages read one or two earlier arrays through windows (constant distance), at half or twice the rate, or
transposed, and compute random expressions of 8- and 16-bit integers, comparisons, selections, bit logic and tables.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from compiler.frontend import kernel
from compiler.frontend.loop_nest import prog
from compiler.ir.program import Program
from compiler.ir.types import Int

WORD_TYPES = (Int(16, False), Int(16, True), Int(8, False), Int(8, True))
BINARY = ("add", "sub", "mul", "min", "max", "absd", "and", "or", "xor", "mul_mid", "mul_high", "shl", "shr")
COMPARE = ("eq", "ne", "lt", "le", "gt", "ge")


@dataclass(frozen=True)
class Source:
    """An array that later stages can read: its shape is (height, width)."""

    name: str
    height: int
    width: int
    type: Int


@dataclass(frozen=True)
class Access:
    """One load: source and the text of its two addresses, fastest first."""

    source: Source
    x: str
    y: str


@st.composite
def programs(draw: st.DrawFn, largest: int = 14, stages: int = 3, tiles: bool = True) -> Program:
    """A random program with inputs of up to `largest` x `largest` elements and up to `stages` stages."""
    prg = prog("random")
    tile_count = draw(st.sampled_from((1, 1, 2, 3))) if tiles else 1
    sources = [_input(draw, prg, k, largest, tile_count) for k in range(draw(st.integers(1, 2)))]
    tile = prg.add_loop("t", 0, tile_count) if tile_count > 1 else prg
    count = draw(st.integers(1, stages))
    table = prg.add_table("curve", [(k * 37 + 11) & 0xFFFF for k in range(256)], Int(16, False))
    for number in range(count):
        sources.append(_stage(draw, prg, tile, number, sources, number == count - 1, tile_count, table))
    return prg.build()


def _input(draw: st.DrawFn, prg: Any, number: int, largest: int, tiles: int) -> Source:
    source = Source(f"in{number}", draw(st.integers(4, largest)), draw(st.integers(4, largest)),
                    draw(st.sampled_from(WORD_TYPES)))
    shape = (source.height, source.width)
    prg.add_input(source.name, shape=(tiles, *shape) if tiles > 1 else shape, type=source.type)
    return source


def _stage(draw: st.DrawFn, prg: Any, tile: Any, number: int, sources: list[Source], last: bool, tiles: int,
           table: Any) -> Source:
    newest = sources[-1]
    picked = [newest, *([draw(st.sampled_from(sources))] if draw(st.booleans()) else [])]
    accesses, height, width = _accesses(draw, picked)
    result = Source(f"s{number}", height, width, draw(st.sampled_from(WORD_TYPES)))
    declare = prg.add_output if last else prg.add_intermediate
    declare(result.name, type=result.type)
    loops = tile.add_loop(f"y{number}", 0, height).add_loop(f"x{number}", 0, width)
    op = loops.add_op(f"Stage{number}")
    recipe = draw(expressions(len(accesses)))
    op.add_function(lambda *args: kernel.cast(result.type, recipe.build(list(args), table)))
    for access in accesses:
        where = (access.x.replace("x", f"x{number}"), access.y.replace("y", f"y{number}"))
        if "x" in access.y or "y" in access.x:
            where = (access.x.replace("y", f"y{number}"), access.y.replace("x", f"x{number}"))
        op.add_load(access.source.name, *where, *_tile(access.source.name, tiles))
    op.add_store(result.name, f"x{number}", f"y{number}", *_tile(result.name, tiles))
    return result


def _tile(name: str, tiles: int) -> tuple[str, ...]:
    """Every array but the intermediates, which are used again in every tile, has a plane per tile."""
    return ("t",) if tiles > 1 else ()


def _accesses(draw: st.DrawFn, picked: list[Source]) -> tuple[list[Access], int, int]:
    """Loads of a stage, and the largest domain on which all of them are in bounds."""
    accesses: list[Access] = []
    heights, widths = [], []
    for source in dict.fromkeys(picked):
        kind = draw(st.sampled_from(("window", "window", "window", "down", "up", "transpose")))
        scale = {"down": "2*", "up": "", "window": "", "transpose": ""}[kind]
        reach_y, reach_x = (draw(st.integers(0, max(0, min(2, source.height - 2)))),
                            draw(st.integers(0, max(0, min(2, source.width - 2)))))
        offsets = draw(st.lists(st.tuples(st.integers(0, reach_x), st.integers(0, reach_y)), min_size=1, max_size=4,
                                unique=True))
        for dx, dy in offsets:
            accesses.append(_access(source, kind, scale, dx, dy))
        height, width = _domain(source, kind, reach_y, reach_x)
        heights.append(height)
        widths.append(width)
    return accesses, max(1, min(heights)), max(1, min(widths))


def _access(source: Source, kind: str, scale: str, dx: int, dy: int) -> Access:
    if kind == "transpose":
        return Access(source, f"y + {dx}", f"x + {dy}")
    if kind == "up":
        return Access(source, f"x // 2 + {dx}", f"y // 2 + {dy}")
    return Access(source, f"{scale}x + {dx}", f"{scale}y + {dy}")


def _domain(source: Source, kind: str, reach_y: int, reach_x: int) -> tuple[int, int]:
    height, width = source.height - reach_y, source.width - reach_x
    if kind == "transpose":
        return width, height
    if kind == "up":
        return 2 * height, 2 * width
    if kind == "down":
        return (height + 1) // 2, (width + 1) // 2
    return height, width


@dataclass(frozen=True)
class Recipe:
    """A random expression: a list of steps, each on earlier values."""

    steps: tuple[tuple[Any, ...], ...]

    def build(self, values: list[Any], table: Any) -> Any:
        """The value of the last step, for loaded words `values`."""
        for step in self.steps:
            values.append(_step(step, values, table))
        return values[-1]


def _step(step: tuple[Any, ...], values: list[Any], table: Any) -> Any:
    kind, first, second, type_, extra = step
    a = kernel.cast(type_, values[first % len(values)])
    b = kernel.cast(type_, values[second % len(values)])
    if kind == "constant":
        return kernel.apply(extra[0], a, type_.wrap(extra[1]))
    if kind == "binary":
        return kernel.apply(extra[0], a, b)
    if kind == "compare":
        return kernel.select(kernel.apply(extra[0], a, b), a, b)
    if kind == "logic":
        p, q = kernel.apply("lt", a, b), kernel.apply("ne", a, type_.wrap(extra[1]))
        return kernel.select((p & ~q) | (q ^ p), b, a)
    if kind == "abs":
        return kernel.apply("abs", a)
    if kind == "wide":
        return _wide(a, b, extra[1])
    return kernel.lookup(table, kernel.cast(Int(16, False), a) & 255)


def _wide(a: Any, b: Any, amount: int) -> Any:
    """16 bits out of the 32-bit product of two 16-bit words."""
    word, wide = Int(16, a.type.signed), Int(32, a.type.signed)
    product = kernel.cast(wide, kernel.cast(word, a)) * kernel.cast(wide, kernel.cast(word, b))
    return kernel.cast(word, product >> (0, 8, 16)[amount % 3])


def expressions(loads: int, tables: bool = True) -> st.SearchStrategy[Recipe]:
    """Random expressions over `loads` words that use each load at least once."""
    kinds = ["constant", "constant", "binary", "binary", "compare", "logic", "abs", "wide", *(["table"] * tables)]
    detail = st.tuples(st.sampled_from(BINARY), st.integers(-40000, 70000))
    step = st.tuples(st.sampled_from(kinds), st.integers(0, 20), st.integers(0, 20),
                     st.sampled_from(WORD_TYPES), detail)
    some = st.lists(step.map(_named), min_size=1, max_size=5)
    return some.map(lambda steps: Recipe((*steps, *_sum_up(loads, len(steps)))))


def _named(step: tuple[Any, ...]) -> tuple[Any, ...]:
    """Give comparisons one of their operations."""
    kind, first, second, type_, (op, value) = step
    return (kind, first, second, type_, (COMPARE[value % len(COMPARE)] if kind == "compare" else op, value))


def _sum_up(loads: int, steps: int) -> list[tuple[Any, ...]]:
    """Steps that add all loads to the last value, so that none is unused."""
    word = Int(16, False)
    return [("binary", loads + steps - 1 + k, k, word, ("add", 0)) for k in range(loads)]

