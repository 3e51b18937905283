"""Covering: the processing elements of an expression compute what the interpreter computes, with as few as possible."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler.bind.cgra.instruction_selection import CoverError, ExpressionSelector
from compiler.bind.cgra.netlist import Edge, Pin, SkewBound
from compiler.bind.cgra.operands import Signal
from compiler.bind.interning import interned
from compiler.frontend import kernel
from compiler.frontend.kernel import Typed
from compiler.frontend.loop_nest import load, prog
from compiler.ir.evaluate import evaluate
from compiler.ir.expr import Apply, Cast, Const, Expr, Iterator, Lookup, Read, postorder
from compiler.ir.program import Location, Statement, Table
from compiler.ir.types import BIT, Fixed, Float, Int
from hw.memtile import MemTileSpec
from hw.ops import OPERATIONS, Kind

MEM = MemTileSpec()
MASK = 0xFFFF
U16, S16, U8, S8 = Int(16, False), Int(16, True), Int(8, False), Int(8, True)
WORDS = (U16, S16, U8, S8, Int(5, False), Int(12, True), Int(13, False), Int(1, True), Int(2, True))
TABLES = {
    "curve": Table("curve", tuple((k * 40503 + 7) & MASK for k in range(256)), U16),
    "signed": Table("signed", tuple(((k * 91) % 256) - 128 for k in range(256)), S8),
    "bits": Table("bits", tuple(k * k % 7 % 2 for k in range(256)), BIT),
}


def statement(value: Expr, location: Location | None = None) -> Statement:
    """A statement of no particular program that computes `value`."""
    prg = prog("one")
    prg.add_input("a", shape=(4,))
    prg.add_output("b")
    op = prg.add_loop("x", 0, 4).add_op("Op")
    op.add_load("a", "x")
    op.add_store("b", "x")
    made = prg.build().statement("Op")
    return Statement("Op", made.iterators, made.domain, made.reads, made.write, value, location)


def cover(value: Expr, reads: int = 4, cycles: int | None = None) -> tuple[ExpressionSelector, Signal]:
    """The units of `value`, whose read k comes from pin ``source.k`` with distance k."""
    signals = [Signal(Pin("source", str(k)), Kind.WORD, k) for k in range(reads)]
    coverer = ExpressionSelector(statement(value), signals, MEM, cycles=cycles)
    return coverer, coverer.result()


def patterns(coverer: ExpressionSelector, result: Signal, words: dict[Pin, np.ndarray]) -> np.ndarray:
    """What the units put on the pin of `result`, as 16-bit patterns or bits, for the given words on the sources."""
    drivers = {edge.sink: edge for edge in coverer.edges}
    assert len(drivers) == len(coverer.edges), "every input has one driver"
    names = [pe.name for pe in coverer.pes] + list(coverer.roms)
    assert len(set(names)) == len(names)
    values = dict(words)
    waiting = {**{pe.name: pe for pe in coverer.pes}, **coverer.roms}
    while waiting:
        ready = [name for name in waiting if all(e.source in values for e in coverer.edges if e.sink.node == name)]
        assert ready, "units do not feed each other in a loop"
        for name in ready:
            waiting.pop(name)
            _run_unit(coverer, name, drivers, values)
    return values[result.pin]


def _run_unit(coverer: ExpressionSelector, name: str, drivers: dict[Pin, Edge], values: dict[Pin, np.ndarray]) -> None:
    if name in coverer.roms:
        table = TABLES[coverer.roms[name][1]]
        index = values[drivers[Pin(name, "in0")].source]
        values[Pin(name, "out0")] = np.array(table.values)[index] & MASK
        return
    config = next(pe.config for pe in coverer.pes if pe.name == name)
    fed = {edge.sink.port for edge in coverer.edges if edge.sink.node == name}
    assert fed == set(config.inputs), "a unit reads what is connected"
    operands: list[Any] = []
    place = {Kind.WORD: 0, Kind.BIT: 0}
    for kind in config.operation.operands:
        port = place[kind]
        place[kind] += 1
        constant = (config.constants if kind is Kind.WORD else config.bit_constants)[port]
        edge = drivers.get(Pin(name, f"{kind.value}{port}"))
        assert edge is None or edge.network == kind.value
        raw = np.array(constant) if edge is None else values[edge.source]
        operands.append(Int(16, config.signed).wrap(raw) if kind is Kind.WORD else raw)
    if config.op == "lut3":
        operands.insert(0, config.table)
    mask = MASK if config.operation.result is Kind.WORD else 1
    values[Pin(name, config.output)] = np.asarray(OPERATIONS[config.op].evaluate(16, *operands)) & mask


def require_same(value: Expr, types: tuple[Int, ...], seed: int, count: int = 64,
                 cycles: int | None = None) -> ExpressionSelector:
    """Units and interpreter agree on random and extreme words."""
    generator = np.random.default_rng(seed)
    words = [_words(generator, type_, count) for type_ in types]
    type_ = value.type
    assert isinstance(type_, Int)
    wanted = np.broadcast_to(evaluate(value, lambda k: words[k], {}, TABLES), (count,))
    coverer, result = cover(value, len(types), cycles)
    sources = {Pin("source", str(k)): data & MASK for k, data in enumerate(words)}
    got = np.broadcast_to(patterns(coverer, result, sources), (count,))
    assert result.kind is Kind.WORD
    np.testing.assert_array_equal(got, wanted & MASK)
    for edge in coverer.edges:
        assert edge.distance == (int(edge.source.port) if edge.source.node == "source" else 0)
    return coverer


def _words(generator: np.random.Generator, type_: Int, count: int) -> np.ndarray:
    data = generator.integers(type_.minimum, type_.maximum + 1, count)
    extremes = [type_.minimum, type_.maximum, 0, type_.wrap(1), type_.wrap(-1)]
    data[: len(extremes)] = generator.permutation(extremes)
    return data


def read(index: int, type_: Int) -> Typed:
    return Typed(Read(index, type_))


BINARY = [name for name, op in OPERATIONS.items() if op.operands == (Kind.WORD,) * 2]


@pytest.mark.parametrize("type_", WORDS, ids=str)
@pytest.mark.parametrize("name", [n for n, op in OPERATIONS.items() if n != "lut3" and Kind.WORD in op.operands])
def test_every_operation_in_every_type(name: str, type_: Int) -> None:
    """With all operands streams, and with each of them constant."""
    kinds = OPERATIONS[name].operands
    if name in ("mul_mid", "mul_high") and 8 < type_.width < 16:
        return
    types = tuple(BIT if kind is Kind.BIT else type_ for kind in kinds)
    streams = [read(k, t) for k, t in enumerate(types)]
    require_same(kernel.apply(name, *streams).expr, types, 1)
    for constant in range(len(kinds)):
        for number in (types[constant].minimum, types[constant].maximum, types[constant].wrap(3)):
            mixed = [kernel.constant(t, number) if k == constant else s
                     for k, (s, t) in enumerate(zip(streams, types, strict=True))]
            require_same(kernel.apply(name, *mixed).expr, types, 2)


@pytest.mark.parametrize("source", [*WORDS, BIT], ids=str)
@pytest.mark.parametrize("target", [*WORDS, BIT], ids=str)
def test_every_conversion(source: Int, target: Int) -> None:
    require_same(Cast(Read(0, source), target), (source,), 3, count=300)


@pytest.mark.parametrize("amount", [0, 8, 16])
@pytest.mark.parametrize("wide", [Int(32, False), Int(32, True), Int(40, True), Int(24, False)], ids=str)
@pytest.mark.parametrize("types", [(U16, U16), (S16, S16), (U8, S16), (U8, U16), (S8, S16), (U8, BIT)],
                         ids=lambda types: f"{types[0]}-{types[1]}")
def test_wide_products_keep_the_bits_that_are_asked_for(amount: int, wide: Int, types: tuple[Int, Int]) -> None:
    a, b = (kernel.cast(wide, read(k, t)) for k, t in enumerate(types))
    for target, narrowing in ((U16, 0), (S16, 0), (U8, 1), (S8, 2)):
        value = kernel.cast(target, (a * b) >> amount).expr
        if wide.width < amount + 16:
            with pytest.raises(CoverError):
                cover(value)
        else:
            assert len(require_same(value, types, 4).pes) == 1 + narrowing


@pytest.mark.parametrize(("type_", "number"), [(U16, 65535), (S16, -32768), (U16, 3), (S16, 3), (S8, 300)])
def test_wide_products_with_a_constant(type_: Int, number: int) -> None:
    wide = Int(32, True)
    value = kernel.cast(S16, (kernel.cast(wide, read(0, type_)) * kernel.constant(wide, number)) >> 8)
    assert len(require_same(value.expr, (type_,), 5).pes) == 1


@pytest.mark.parametrize("table", range(0, 256, 17))
def test_truth_tables(table: int) -> None:
    bits = tuple(Read(k, BIT) for k in range(3))
    value = Apply("lut3", (Const(table, Int(8, False)), *bits), BIT)
    require_same(value, (BIT, BIT, BIT), 6)
    mixed = Apply("lut3", (Const(table, Int(8, False)), bits[0], Const(1, BIT), bits[2]), BIT)
    require_same(mixed, (BIT, BIT, BIT), 6)
    constant = Apply("lut3", (Const(table, Int(8, False)), *(Const(k, BIT) for k in (1, 0, 1))), BIT)
    require_same(constant, (), 6)


@pytest.mark.parametrize("index", [U8, BIT, Int(7, True)], ids=str)
@pytest.mark.parametrize("name", sorted(TABLES))
def test_tables(name: str, index: Int) -> None:
    """Also of bits, and with bits and constants for an index."""
    type_ = TABLES[name].type
    where = Read(0, index) if index.minimum == 0 else Cast(Cast(Read(0, index), U8), U16)
    coverer = require_same(Lookup(name, where, type_), (index,), 7)
    assert list(coverer.roms) == ["Op.rom0"]
    latency = MEM.ROM_LATENCY
    assert coverer.separations == [SkewBound(Pin("Op.rom0", "out0"), Pin("Op.rom0", "in0"), latency, latency)]
    require_same(Lookup(name, Const(77, U8), type_), (), 7)
    chosen = kernel.select(Typed(Lookup("bits", Read(0, U8), BIT)), read(0, U8), read(1, U8))
    require_same(chosen.expr, (U8, U8), 7)


@st.composite
def expressions(draw: st.DrawFn, types: tuple[Int, ...]) -> Expr:
    """A random expression: ten steps that combine earlier values."""
    values = [read(k, t) for k, t in enumerate(types)]
    for _ in range(draw(st.integers(1, 10))):
        values.append(draw(_steps(values)))
    return values[-1].expr


@st.composite
def _steps(draw: st.DrawFn, values: list[Typed]) -> Typed:
    type_ = draw(st.sampled_from((U16, U16, S16, U8, S8, Int(5, False), Int(12, True))))
    a, b, c = (kernel.cast(type_, draw(st.sampled_from(values))) for _ in range(3))
    if draw(st.integers(0, 3)) == 0:
        b = kernel.constant(type_, type_.wrap(draw(st.integers(-70000, 70000))))
    kind = draw(st.sampled_from(("binary", "binary", "sum", "mad", "select", "logic", "shift", "abs", "table", "wide")))
    if kind == "binary":
        names = [n for n in BINARY if n not in ("mul_mid", "mul_high") or type_.width in (5, 8, 16)]
        return kernel.apply(draw(st.sampled_from(names)), a, b)
    if kind == "sum":
        return 3 * a - b + c * 5 - (a + b) * 2
    if kind == "mad":
        return kernel.apply("mad", a, b, c)
    if kind == "select":
        return kernel.select(kernel.apply(draw(st.sampled_from(("lt", "ge", "eq", "le"))), a, b), c, a)
    if kind == "logic":
        p, q = kernel.apply("gt", a, b), kernel.cast(BIT, c)
        return draw(st.sampled_from((p & q, p | ~q, p ^ q, ~p)))
    if kind == "shift":
        return kernel.apply(draw(st.sampled_from(("shl", "shr"))), a, type_.wrap(draw(st.integers(0, 17))))
    if kind == "abs":
        return kernel.absolute(a)
    if kind == "table":
        return kernel.lookup(TABLES["curve"], kernel.cast(U8, a))
    wide = Int(32, draw(st.booleans()))
    product = kernel.cast(wide, a) * kernel.cast(wide, b)
    return kernel.cast(U16, product >> draw(st.sampled_from((0, 8, 16))))


READ_TYPES = (U16, S8, U8, BIT)


@settings(max_examples=300, deadline=None)
@given(expressions(READ_TYPES), st.integers(0, 1000))
def test_random_expressions(value: Expr, seed: int) -> None:
    require_same(value, READ_TYPES, seed)


def test_constants_are_computed_in_advance() -> None:
    """What does not depend on a stream takes no unit but the one that holds it."""
    five = kernel.constant(S16, 5)
    value = kernel.select(five > 3, five * -7 + 1, five)
    coverer = require_same(kernel.cast(S8, kernel.maximum(value, -20)).expr, (), 8)
    assert [pe.config.op for pe in coverer.pes] == ["pass"]


def test_a_bit_that_was_a_word_for_a_while_is_that_bit() -> None:
    """As C has it: a comparison is an int, is stored as a bool, and is compared with zero."""
    a, b = read(0, S16), read(1, S16)
    stored = kernel.cast(U8, kernel.cast(S16, a > b) != 0)
    chosen = kernel.select(stored != 0, a, b)
    coverer = require_same(chosen.expr, (S16, S16), 9)
    assert [pe.config.op for pe in coverer.pes] == ["gt", "select"]


@pytest.mark.parametrize(("amount", "mask", "ops"), [(15, 1, ["shr"]), (12, 15, ["shr"]), (12, 7, ["shr", "and"]),
                                                     (12, 31, ["shr", "and"])])
def test_upper_bits_take_one_shift_where_none_beyond_them_is_kept(amount: int, mask: int, ops: list[str]) -> None:
    value = (read(0, S16) >> amount) & mask
    coverer = require_same(value.expr, (S16,), 10, count=300)
    assert [pe.config.op for pe in coverer.pes] == ops
    assert coverer.pes[0].config.signed == (len(ops) == 2)


@pytest.mark.parametrize(("up", "down", "ops"), [(14, 2, {"shr", "mad"}), (14, 3, {"shr", "mad"}),
                                                 (13, 2, {"shr", "shl", "or"}), (16, 2, {"shr", "shl", "or"})])
def test_bits_beside_each_other_are_joined_by_a_product(up: int, down: int, ops: set[str]) -> None:
    """Only where they are beside each other: a sum of bits that meet carries."""
    a, b = read(0, U16), read(1, U16)
    for value in (kernel.apply("or", kernel.apply("shl", a, kernel.constant(U16, up)), b >> down),
                  kernel.apply("or", b >> down, kernel.apply("shl", a, kernel.constant(U16, up)))):
        coverer = require_same(value.expr, (U16, U16), 11, count=300)
        assert {pe.config.op for pe in coverer.pes} == ops


def test_a_copy_takes_no_unit() -> None:
    coverer, result = cover(Read(2, U16))
    assert (coverer.pes, result.pin, result.distance) == ([], Pin("source", "2"), 2)


SUMS: list[tuple[Callable[[Typed, Typed, Typed], Typed], list[str]]] = [
    (lambda a, b, c: a * 3 + b * 5 + c * 7, ["mul", "mad", "mad"]),
    (lambda a, b, c: a * 3 + b + 9, ["mad", "add"]),
    (lambda a, b, c: (a + b) - (a - c), ["add"]),
    (lambda a, b, c: a + a + a, ["mul"]),
    (lambda a, b, c: a * b + c, ["mad"]),
    (lambda a, b, c: a * b - c * 2, ["mul", "mad"]),
    (lambda a, b, c: (a << 3) - b, ["mul", "sub"]),
    (lambda a, b, c: a - a, ["pass"]),
    (lambda a, b, c: (a - a) * b + c, []),
    (lambda a, b, c: 7 - a, ["sub"]),
    (lambda a, b, c: (a + b) * 4, ["add", "mul"]),
    (lambda a, b, c: (a * b) * 4 + a * b, ["mul", "mul"]),
    (lambda a, b, c: kernel.cast(U16, kernel.cast(S16, a) * 3) + b, ["mad"]),
]


@pytest.mark.parametrize(("build", "operations"), SUMS)
def test_sums_take_one_unit_per_product(build: Callable[[Typed, Typed, Typed], Typed], operations: list[str]) -> None:
    value = build(*(read(k, U16) for k in range(3))).expr
    coverer = require_same(value, (U16,) * 3, 9)
    assert sorted(pe.config.op for pe in coverer.pes) == sorted(operations)


def test_common_subexpressions_are_computed_once() -> None:
    a, b = read(0, U16), read(1, U16)
    twice = kernel.minimum(a * b + 1, b) + kernel.maximum(a * b + 1, b)
    coverer = require_same(twice.expr, (U16, U16), 10)
    assert sorted(pe.config.op for pe in coverer.pes) == ["add", "mad", "max", "min"]


def test_shared_subexpressions_cost_no_time() -> None:
    """Sixty squarings: as a tree the expression has 2^60 nodes."""
    value = read(0, U16)
    for _ in range(60):
        value = value * value
    start = time.process_time()
    coverer = require_same(value.expr, (U16,), 11)
    assert time.process_time() - start < 1
    assert len(coverer.pes) == 60


def test_equal_subexpressions_become_one_object() -> None:
    def tree() -> Expr:
        a, b = read(0, U16), read(1, U16)
        return (kernel.cast(U8, a * b) + kernel.cast(U8, kernel.lookup(TABLES["curve"], a * b))).expr

    value = Apply("add", (tree(), tree()), U8)
    made = interned(value)
    assert made == value
    assert isinstance(made, Apply)
    assert made.args[0] is made.args[1]
    assert len({id(node) for node in postorder(made)}) == len(set(postorder(value)))


def test_long_sums_do_not_nest() -> None:
    value = read(0, U16)
    for k in range(3000):
        value = value + read(k % 4, U16) * (2 * k + 3)
    coverer = require_same(value.expr, (U16,) * 4, 12)
    assert len(coverer.pes) <= 5


def depth(coverer: ExpressionSelector) -> int:
    """Units on the longest way."""
    graph = nx.DiGraph((edge.source.node, edge.sink.node) for edge in coverer.edges)
    return nx.dag_longest_path_length(graph)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 11), st.sampled_from((1, 1, 1, -1, 3, -5)), st.integers(-1, 11)), min_size=6,
                max_size=40), st.integers(-9, 9), st.integers(0, 99))
def test_long_sums_of_short_sums(terms: list[tuple[int, int, int]], constant: int, seed: int) -> None:
    """The same sum on a shorter way, of words, of what is subtracted, of products with constants and with each other.
    A few units more: one for each short sum but the first, and one that starts a sum of words."""
    types = (U16,) * 12
    value = kernel.constant(U16, U16.wrap(constant))
    for a, weight, b in terms:
        factor = read(a, U16) if b < 0 else read(a, U16) * read(b, U16)
        value = value + factor * weight if weight > 0 else value - factor * -weight
    soon = require_same(value.expr, types, seed, cycles=0)
    few = require_same(value.expr, types, seed)
    assert len(few.pes) <= len(soon.pes) <= len(few.pes) + 2 * len(terms) ** 0.5 + 2
    if len(few.pes) > 12:
        assert depth(soon) < depth(few)


def test_short_programs_are_worth_units_for_a_few_cycles() -> None:
    """Nine products: in a program of many thousand cycles the fewest units, in a short one two more."""
    value = sum((read(k, U16) * (2 * k + 3) for k in range(1, 9)), read(0, U16) * 3)
    counts = [len(require_same(value.expr, (U16,) * 9, 5, cycles=cycles).pes) for cycles in (None, 100_000, 4096)]
    assert counts == [9, 9, 11]


PLACE = Location("apps/some.py", 12)


def fails(value: Expr, location: Location | None = PLACE) -> str:
    coverer = ExpressionSelector(statement(value, location), [Signal(Pin("source", "0"), Kind.WORD)], MEM)
    with pytest.raises(CoverError) as error:
        coverer.result()
    return str(error.value)


def test_an_expression_that_nests_too_deeply_is_named() -> None:
    value = read(0, U16)
    for k in range(5000):
        value = kernel.minimum(value ^ k, 9)
    assert fails(value.expr) == "statement 'Op' (apps/some.py:12): its expression is nested too deeply"


WIDE = ("the array has 16-bit words, and pairs of them for sums, differences, products, comparisons, and divisions and "
        "shifts by constants; take target fpga or dataflow")


@pytest.mark.parametrize(("value", "reason"), [
    (Iterator("x", U16), "uses the value of iterator 'x', which no stream of the array carries"),
    (Cast(Apply("shr", (Cast(Read(0, U16), Int(32, False)),) * 2, Int(32, False)), U16),
     f"computes with uint32; {WIDE}"),
    (Cast(Apply("add", (Cast(Read(0, U16), Int(24, True)), Const(1, Int(24, True))), Int(24, True)), U16),
     f"computes with int24; {WIDE}"),
    (Cast(Apply("div", (Cast(Read(0, U16), Int(32)), Cast(Read(1, U16), Int(32))), Int(32)), U16),
     "divides int32 by what is no constant; the array has that for words of 16 bits; take target fpga or dataflow"),
    (Read(0, Int(32, True)), f"computes with int32; {WIDE}"),
    (Read(0, Int(24, True)), f"computes with int24; {WIDE}"),
    (Read(0, Fixed(16, 8, True)), f"computes with {Fixed(16, 8, True)}; the array has integer operations"),
    (Cast(Read(0, Fixed(16, 8, True)), U16), f"computes with {Fixed(16, 8, True)}; the array has integer operations"),
    (Cast(Read(0, Float(8, 7)), U16), f"computes with {Float(8, 7)}; the array has integer operations"),
    (Apply("mul_high", (Read(0, Int(12, True)), Read(0, Int(12, True))), Int(12, True)),
     "operation 'mul_high' on int12 needs a product wider than 16 bits"),
])
def test_what_cannot_be_computed_is_named(value: Expr, reason: str) -> None:
    assert fails(value) == f"statement 'Op' (apps/some.py:12): {reason}"
    assert fails(value, None) == f"statement 'Op': {reason}"


@pytest.mark.parametrize(("name", "counts"), [
    ("gaussian", [10]), ("conv_3_3", [8]), ("cascade", [8, 8]), ("brighten_blur", [1, 4]), ("upsample", [0]),
])
def test_units_of_the_applications(name: str, counts: list[int]) -> None:
    """Published: gaussian 19, conv_3_3 18, cascade 28, brighten-blur 5."""
    found = []
    for entry in load(name).statements:
        reads = [Signal(Pin("source", str(k)), Kind.WORD) for k in range(len(entry.reads))]
        coverer = ExpressionSelector(entry, reads, MEM)
        coverer.result()
        found.append(len(coverer.pes))
    assert found == counts
