"""Programs whose statements can share units: random sets of isomorphic statements in chains of different rates."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from compiler.frontend.kernel import Typed, maximum
from compiler.frontend.loop_nest import prog
from compiler.ir.program import Program
from compiler.passes import directives as transform


def alike(a: Typed, b: Typed) -> Typed:
    return a * b + (maximum(a, b) >> 1)


def weighted(a: Typed, b: Typed) -> Typed:
    return (a * 5 + b * 3) >> 2


def spread(a: Typed, b: Typed, c: Typed) -> Typed:
    return maximum(maximum(a, b), c) - b


FUNCTIONS: dict[Any, int] = {alike: 2, weighted: 2, spread: 3}


def chain(function: Any, taps: list[list[tuple[int, int]]], steps: list[int], size: int = 8) -> Program:
    """Stages one after the other, each from every ``steps[k]``-th place of the one before, on shared units.

    `taps`: for each stage the places (x, y) of its operands, counted from there. The last stage has `size` x `size`
    elements; the stages before have what is read of them.
    """
    sizes = [size]
    for places, step in zip(reversed(taps), reversed(steps), strict=True):
        sizes.insert(0, (sizes[0] - 1) * step + 1 + max(max(place) for place in places))
    prg = prog("chain")
    prg.add_input("s0", shape=(sizes[0], sizes[0]))
    prg.add_output(f"s{len(taps)}")
    for k, (places, step) in enumerate(zip(taps, steps, strict=True)):
        op = prg.add_loop(f"y{k}", 0, sizes[k + 1]).add_loop(f"x{k}", 0, sizes[k + 1]).add_op(f"Stage{k}")
        op.add_function(function)
        for x, y in places:
            op.add_load(f"s{k}", f"{step}*x{k} + {x}", f"{step}*y{k} + {y}")
        op.add_store(f"s{k + 1}", f"x{k}", f"y{k}")
    return transform.share(prg.build(), *(f"Stage{k}" for k in range(len(taps))))


@st.composite
def shared_chains(draw: st.DrawFn) -> Program:
    """Two or three stages of one random function, with random windows and steps."""
    function = draw(st.sampled_from(list(FUNCTIONS)))
    place = st.tuples(st.integers(0, 2), st.integers(0, 2))
    windows = st.lists(place, min_size=FUNCTIONS[function], max_size=FUNCTIONS[function], unique=True)
    steps = draw(st.lists(st.sampled_from((1, 2, 2)), min_size=2, max_size=3))
    return chain(function, [draw(windows) for _ in steps], steps, draw(st.integers(3, 6)))
