"""Single passes: constants fold, equal expressions are one, the order of evaluation needs the least memory."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import numpy as np
import pytest
from compiled import compile_and_check
from random_arrays import random_inputs

from compiler.bind.vector.build import GraphBuilder
from compiler.bind.vector.graph import Leaf, Node, nodes_of
from compiler.bind.vector.ir import Instruction, unrolled
from compiler.bind.vector.order import evaluation_order
from compiler.bind.vector.target import Options, compile_arrays
from compiler.bind.vector.translate import translate
from compiler.frontend import parallel_array as pa


def instructions(**outputs: pa.Array) -> list[tuple[str, int]]:
    """Name and scalar operand of every instruction of a program that fits the scratchpad at once."""
    program = pa.program("passes", **outputs)
    design = compile_and_check(program, random_inputs(program, np.random.default_rng(1)), lanes=4, segment=(64,))
    return [(s.mode.op.name, s.a if s.mode.scalar and isinstance(s.a, int) else -1)
            for s in unrolled(design.code.body) if isinstance(s, Instruction)]


X, Y, Z = (pa.input(name, 64, "int32") for name in "xyz")


@pytest.mark.parametrize(("expression", "expected"), [
    (X + (pa.full(64, 3, "int32") * 4 - 2), [("VADD", 10)]),
    ((X + 5 - 5) * 1 ^ 0, []),
    (X * (np.array([6, 7, 8], np.int32)[1] - pa.full(64, 7, "int32")) + Y, []),
    (pa.where(pa.full(64, 2, "int32") > 1, X, Y) << 0, []),
    (X + pa.arange(64, dtype="int32")[9] * 2, [("VADD", 18)]),
    (pa.minimum(pa.maximum(X, 9), 4) + Y, [("VADD", 4)]),
    (7 - (3 - X) - 9, [("VADD", 0xFFFFFFFB)]), ((3 - X) - 4, [("VSUB", 0xFFFFFFFF)]),
    (X * 3 * -5, [("VMUL", 0xFFFFFFF1)]), (X << 2 << 3, [("VSHL", 5)]),
    (X >> 9 >> 20, [("VSHR", 29)]), ((X & 12) & 6 | 0, [("VAND", 4)]),
    (X ^ 5 ^ 5, []), (pa.maximum(3, pa.maximum(X, 8)), [("VMAX", 8)]),
])
def test_constants_fold(expression: pa.Array, expected: list[tuple[str, int]]) -> None:
    """What is left of an expression is one instruction on an array, or a copy of it."""
    found = [line for line in instructions(out=expression) if line[0] != "VMOV"]
    assert found == expected


def test_equal_expressions_are_one() -> None:
    """Also with operands the other way round, in another result, or read from another place on."""
    assert sorted(instructions(a=(X + Y) * Z, b=Z & (Y + X), c=-(Y + X) - 1)) == [
        ("VADD", -1), ("VAND", -1), ("VMUL", -1), ("VSUB", 0xFFFFFFFF)]


def test_numbers_are_regrouped_only_where_nothing_changes() -> None:
    """Shifts beyond the type, other types between, and numbers that wrap."""
    narrow = pa.input("narrow", 64, "uint8")
    assert instructions(out=X << 20 << 15) == [("VSHL", 20), ("VSHL", 15)]
    assert instructions(out=narrow + 200 + 100) == [("VADD", 44)]
    assert [line[0] for line in instructions(out=(narrow + 200).astype("int32") - 100)] == ["VADD", "VADD"]
    assert [line[0] for line in instructions(out=(X >> 4).astype("int16") >> 2)] == ["VSHR", "VSHR"]
    instructions(out=pa.minimum(pa.minimum(X, 5).astype("int16"), 3))
    instructions(out=pa.maximum(pa.maximum(X, 5).astype("uint8"), 9))


# The order of evaluation.


def tree(rng: np.random.Generator, size: int) -> pa.Array:
    """A random tree of so many operations, each with arrays of its own."""
    if size == 0:
        return pa.input(f"x{rng.integers(1 << 40)}", 4, "int32")
    if rng.random() < 0.2:
        return tree(rng, size - 1) ^ 3
    left = int(rng.integers(size))
    return tree(rng, left) - tree(rng, size - 1 - left) if rng.random() < 0.5 else pa.where(
        pa.input(f"c{rng.integers(1 << 40)}", 4, "int32"), tree(rng, left), tree(rng, size - 1 - left))


def children(node: Node) -> list[Node]:
    return [a.node for a in node.accesses if not isinstance(a.node, Leaf)]


def orders(node: Node) -> Iterator[tuple[Node, ...]]:
    """Every order in which a tree can be evaluated, operand after operand."""
    for permutation in itertools.permutations(children(node)):
        for parts in itertools.product(*(list(orders(child)) for child in permutation)):
            yield (*itertools.chain(*parts), node)


def memory(order: Sequence[Node], weight: dict[Node, int]) -> int:
    """The most bytes in use at once; a result may take the place of its operands."""
    live: set[Node] = set()
    most = 0
    for node in order:
        live = (live - set(children(node))) | {node}
        most = max(most, sum(weight[n] for n in live))
    return most


@pytest.mark.parametrize("seed", range(12))
def test_the_order_of_evaluation_needs_the_least_memory(seed: int) -> None:
    """The generalisation of Sethi and Ullman's algorithm to values of any size, against all orders there are."""
    rng = np.random.default_rng(seed)
    graph = translate(pa.program("tree", out=tree(rng, 7)), GraphBuilder())
    root = graph.results[0].node
    weight = {node: int(rng.integers(1, 9)) for node in nodes_of([root])}
    found = evaluation_order(graph, weight, set())
    assert memory(found.nodes, weight) == min(memory(order, weight) for order in orders(root))


def test_several_evaluations_share_the_scratchpad() -> None:
    """Results that have nothing to do with each other are one program; none takes memory from the other."""
    a, b = pa.input("a", (40, 50), "int16"), pa.input("b", 3000, "int32")
    outputs = {"edges": pa.abs_difference(a[1:], a[:-1]), "largest": b.max(), "scaled": b * 3 - 1}
    program = pa.program("evaluations", **outputs)
    whole = compile_and_check(program, random_inputs(program, np.random.default_rng(3)), lanes=4, scratchpad=4096,
                              search=True)
    alone = [compile_arrays(pa.program("one", out=out), Options(lanes=4, scratchpad=4096)) for out in outputs.values()]
    assert len(whole.phases) == sum(len(design.phases) for design in alone) >= 3
    assert whole.c_code.count("_kernel(void)") == 1
    assert whole.resources["bytes of scratchpad"] == max(d.resources["bytes of scratchpad"] for d in alone) <= 4096


# Reductions.


@pytest.mark.parametrize(("expression", "work"), [
    (pa.input("x", 5000, "int32").max(), 5000), (pa.input("x", (3, 3001), "int16").min(axis=1), 9003 / 2),
    ((pa.input("x", 4000, "uint8") ^ 90).min(), 4000 / 4 * 12), (pa.input("x", (2, 1500), "int32").max(), 3000),
    (pa.input("x", (90, 40), "int32").min(axis=0), 3600), (pa.input("x", (50, 24), "int32").sum(axis=0), 1200),
], ids=["whole", "rows", "computed", "both", "columns", "sums"])
def test_reductions_of_more_than_the_scratchpad_holds(expression: pa.Array, work: float) -> None:
    """About one operation for every element, and as many again at most for what is rounded up and stored between."""
    program = pa.program("reduced", out=expression)
    design = compile_and_check(program, random_inputs(program, np.random.default_rng(4)), lanes=1, scratchpad=2048)
    assert design.figures.operations <= 2 * work


BLOCK = pa.input("block", (3, 4, 9), "int32")
LINE = pa.input("line", (40,), "int32")


@pytest.mark.parametrize("expression", [
    pa.shift(BLOCK.min(axis=2, keepdims=True), (-2, 2, 0), pa.WRAP),
    pa.shift(BLOCK.max(axis=2, keepdims=True), (0, 7, 0), pa.CLAMP),
    pa.shift(LINE.max(keepdims=True), (1,), pa.default(3)),
    pa.shift(LINE.sum(keepdims=True), (-1,), pa.WRAP) + pa.shift(LINE.min(keepdims=True), (5,), pa.default(-2)),
], ids=["wrap", "clamp", "all outside", "in and outside"])
@pytest.mark.parametrize("lanes", [1, 16])
def test_results_of_reductions_are_extended(expression: pa.Array, lanes: int) -> None:
    """What is stored for an extension is the whole of what is extended, of which nothing at all may be needed."""
    program = pa.program("extended", y=expression)
    compile_and_check(program, random_inputs(program, np.random.default_rng(6)), lanes=lanes)


@pytest.mark.parametrize("lanes", [1, 16])
def test_interleaved_arrays_are_written_before_they_are_read(lanes: int) -> None:
    """What is stored of an interleaved array, its greatest element here, waits for its parts."""
    both = pa.interleave([BLOCK, BLOCK + 1])
    program = pa.program("interleaved", y=both & both.max(), z=both[:3].sum(axis=0) ^ BLOCK)
    compile_and_check(program, random_inputs(program, np.random.default_rng(8)), lanes=lanes)
