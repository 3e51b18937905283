"""Random programs with reductions: matrix products and convolutions, loops in any order, some of them unrolled."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import strategies as st

from compiler.frontend.kernel import maximum
from compiler.frontend.loop_nest import Prog, prog
from compiler.ir.program import Program
from compiler.ir.types import INT16
from compiler.passes import directives as transform

SHAPES = ("product", "convolution", "convolution", "rows")


@st.composite
def accumulations(draw: st.DrawFn, shapes: Sequence[str] = SHAPES) -> Program:
    """A random product or convolution: sizes, strides, order of loops, initial value, what is added, unrolling."""
    shape = draw(st.sampled_from(shapes))
    extents, loads, result = _shape(draw, shape)
    prg = prog("random", INT16)
    prg.add_input("a")
    prg.add_input("b")
    prg.add_output("c")
    _start(draw, prg, extents, result)
    order = draw(st.permutations(sorted(extents)))
    _update(draw, prg, extents, order, loads, result)
    program = prg.build()
    inner = order[-1]
    if draw(st.booleans()) and extents[inner] > 1:
        program = _unrolled(draw, program, inner, extents[inner])
    return program


def _shape(draw: st.DrawFn, shape: str) -> tuple[dict[str, int], dict[str, tuple[str, ...]], tuple[str, ...]]:
    """Loops with their extents, addresses of both operands, and the address of the result; fastest first."""
    size = st.integers(2, 6)
    if shape == "product":
        return ({n: draw(size) for n in "yxr"}, {"a": ("r", "y"), "b": ("x", "r")}, ("x", "y"))
    if shape == "rows":
        return {n: draw(size) for n in "yr"}, {"a": ("r", "y"), "b": ("r",)}, ("y",)
    stride = draw(st.integers(1, 2))
    few = st.integers(1, 3)
    extents = {"y": draw(size), "x": draw(st.integers(3, 8)), "z": draw(few), "v": draw(few), "u": draw(few)}
    return extents, {"a": (f"{stride}*x + u", f"{stride}*y + v", "z"), "b": ("z", "u", "v")}, ("x", "y")


def _start(draw: st.DrawFn, prg: Prog, extents: dict[str, int], result: tuple[str, ...]) -> None:
    nest = prg
    for name in reversed(result):
        nest = nest.add_loop(name, 0, extents[name])
    op = nest.add_op("Start")
    value = draw(st.integers(-5, 5))
    if len(result) == 2 and draw(st.booleans()):
        op.add_load("bias", *result)
        prg.add_input("bias")
    else:
        op.add_function(lambda: value)
    op.add_store("c", *result)


def _update(draw: st.DrawFn, prg: Prog, extents: dict[str, int], order: list[str], loads: dict[str, tuple[str, ...]],
            result: tuple[str, ...]) -> None:
    nest = prg
    for name in order:
        nest = nest.add_loop(name, 0, extents[name])
    op = nest.add_op("Update")
    kind = draw(st.sampled_from(("mul", "mul", "add", "max")))
    functions = {"mul": lambda c, a, b: c + a * b, "add": lambda c, a, b: c + (a + b),
                 "max": lambda c, a, b: maximum(c, a - b)}
    op.add_function(functions[kind])
    op.add_load("c", *result)
    for name, address in loads.items():
        op.add_load(name, *address)
    op.add_store("c", *result)


def _unrolled(draw: st.DrawFn, program: Program, iterator: str, extent: int) -> Program:
    if extent % 2 == 0 and extent > 2:
        program = transform.split(program, iterator, 2, statements=["Update"])
        return transform.unroll(program, f"{iterator}_i", statements=["Update"])
    return transform.unroll(program, iterator, statements=["Update"])
