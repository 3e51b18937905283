"""A lane beside a plain 8-bit description of one of its bytes, for a solver.

All inputs are free in every cycle. A register of the lane depends on registers of the stage before and on inputs only,
so what leaves depends on the inputs of the last few cycles alone, and a proof over the length of the pipeline covers
every run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import formal
from amaranth.hdl import Assert, Assume, Const, Module, Mux, Signal, Value, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In

from hw.vector_lanes.datapath_control import CONTROL, decode
from hw.vector_lanes.isa import MODE, Op
from hw.vector_lanes.lane import Lane
from hw.vector_lanes.multiplier import PARTIAL_BITS
from hw.vector_lanes.spec import VectorSpec

FRACTION_BITS = (4, 15, 16)
STAGES = ("select", "multiply", "choose", "result", "sum")
DEPTH = len(STAGES)
_MULTIPLY = 2
"""Registers between the inputs and stage multiply."""


class Slice:
    """Operands of byte `index`: `a`, `b`, `d` as numbers (by signedness), the unsigned `a_byte` …, and flags; with
    `OpenLane`, the exact `product` of a and b."""

    def __init__(self, m: Module, words: dict[str, Signal], mode: Any, index: int, product: Value | None = None):
        self._product = product
        self.signed, self.absolute = mode.signed, mode.absolute
        self.a_byte, self.b_byte, self.d_byte = (words[name].word_select(index, 8) for name in "abd")
        self.a, self.b, self.d = (
            self._number(m, f"number_{name}", words[name].word_select(index, 8)) for name in "abd"
        )
        self.fa, self.fb = words["a_flags"][index], words["b_flags"][index]

    def _number(self, m: Module, name: str, byte: Value) -> Signal:
        number = Signal(signed(9), name=name)
        m.d.comb += number.eq(Mux(self.signed, byte.as_signed(), byte))
        return number

    @property
    def product(self) -> Value:
        assert self._product is not None
        return self._product

    def misfit(self, number: Value) -> Value:
        """Whether a number is none of 8 bits."""
        return ~Mux(self.signed, (number >= -128) & (number <= 127), (number >= 0) & (number <= 255))


class Expected(NamedTuple):
    """Result, flag and whether it is written, of one byte."""

    result: Value
    flag: Value = Const(0, 1)
    written: Value = Const(1, 1)


Meaning = Callable[[Slice], Expected]


class OpenLane(Lane):
    """A lane without its multipliers: `factors` go out by unit, `products` come in."""

    def __init__(self, fraction_bits: tuple[int, int, int]):
        super().__init__(fraction_bits)
        self.factors = [(Signal(signed(17), name=f"x{unit}"), Signal(signed(17), name=f"y{unit}")) for unit in range(4)]
        self.products = [Signal(signed(PARTIAL_BITS), name=f"product{unit}") for unit in range(4)]

    def _products(self, m: Module, factors: list[tuple[Value, Value]]) -> list[Value]:
        for kept, pair in zip(self.factors, factors, strict=True):
            m.d.comb += [kept[0].eq(pair[0]), kept[1].eq(pair[1])]
        return list(self.products)


class Proof(wiring.Component):
    """Lane on bytes that executes any operation of `meanings`; asserts what comes of the bytes numbered `places`.

    With `products`, the lane is an `OpenLane`: asserts that its multipliers get the operands of the bytes, and what
    comes of any products of 16 bits, which those of two bytes are.
    """

    def __init__(self, meanings: dict[Op, Meaning], places: Iterable[int] = range(4), *, products: bool = False):
        self.meanings, self.places = meanings, tuple(places)
        self._lane = OpenLane(FRACTION_BITS) if products else Lane(FRACTION_BITS)
        super().__init__({
            "product": In(signed(PARTIAL_BITS)).array(4),
            "a": In(32), "b": In(32), "a_flags": In(4), "b_flags": In(4), "active": In(4),
            "scalar": In(32), "index_row": In(32), "number": In(6), "mode": In(MODE),
        })  # fmt: skip

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.lane = lane = self._lane
        mode: Any = Signal(MODE)
        m.d.comb += [mode.eq(self.mode), mode.in_size.eq(0), mode.out_size.eq(0), mode.accumulate.eq(0)]
        control: Any = Signal(CONTROL)
        decode(m, control, mode, Value.cast(0), Value.cast(0), VectorSpec())
        names = ("a", "b", "a_flags", "b_flags", "scalar", "index_row", "number")
        words = {name: [getattr(self, name)] for name in names} | {"mode": [mode.as_value()]}
        controls, active = [control.as_value()], [self.active]
        for _ in STAGES:
            controls.append(delay(m, controls[-1]))
            active.append(delay(m, active[-1]))
            for history in words.values():
                history.append(delay(m, history[-1]))
        self._connect(m, lane, words, controls, active)
        at = [{name: history[stage] for name, history in words.items()} for stage in range(DEPTH + 1)]
        age = Signal(range(DEPTH + 1))
        with m.If(age < DEPTH):
            m.d.sync += age.eq(age + 1)
        products = self._multiply(m, lane, at[_MULTIPLY], age) if isinstance(lane, OpenLane) else [None] * 4
        with m.If(age == DEPTH):
            self._assert(m, lane, at[-1], active[-1], products)
        return m

    def _multiply(self, m: Module, lane: OpenLane, words: dict[str, Value], age: Value) -> list[Value | None]:
        """Proves what is multiplied; returns the products that belong to the outputs."""
        mode, late = data.View(MODE, words["mode"]), []
        for place, (product, factors) in enumerate(zip(self.product, lane.factors, strict=True)):
            m.d.comb += lane.products[place].eq(product)
            piece = Slice(m, self._operands(m, words, mode, place), mode, place)
            fits = Mux(mode.signed, product[:16].as_signed(), product[:16]) == product
            with m.If((age >= _MULTIPLY) & mode.op.matches(*(int(op) for op in self.meanings))):
                m.d.comb += [
                    Assert(factors[0] == piece.a, "a"), Assert(factors[1] == piece.b, "b"), Assume(fits, "16 bits"),
                ]
            for _ in STAGES[_MULTIPLY - 1 : -1]:
                product = delay(m, product)
            late.append(product.as_signed())
        return late

    @staticmethod
    def _connect(
        m: Module, lane: Lane, words: dict[str, list[Value]], controls: list[Value], active: list[Value]
    ) -> None:
        for stage, control in zip(STAGES, controls[1:], strict=True):
            m.d.comb += getattr(lane, f"control_{stage}").eq(control)
        selected = {name: history[1] for name, history in words.items()}
        for port in "ab":
            m.d.comb += [
                getattr(lane, f"{port}_word").eq(selected[port]),
                getattr(lane, f"{port}_word_flags").eq(selected[f"{port}_flags"]),
            ]
        m.d.comb += [
            lane.scalar.eq(selected["scalar"]), lane.index.eq(selected["index_row"]),
            lane.number.eq(selected["number"]), lane.active.eq(active[3]),
        ]  # fmt: skip

    def _assert(
        self, m: Module, lane: Lane, last: dict[str, Value], active: Value, products: Sequence[Value | None]
    ) -> None:
        mode = data.View(MODE, last["mode"])
        for place in self.places:
            piece = Slice(m, self._operands(m, last, mode, place), mode, place, products[place])
            with m.Switch(mode.op):
                for op, meaning in self.meanings.items():
                    with m.Case(int(op)):
                        expected = meaning(piece)
                        m.d.comb += [
                            Assert(lane.enable[place] == (active[place] & expected.written), "enable"),
                            Assert(lane.result.word_select(place, 8) == expected.result[:8], "result"),
                            Assert(lane.flags[place] == expected.flag, "flag"),
                        ]

    @staticmethod
    def _operands(m: Module, last: dict[str, Value], mode: Any, place: int) -> dict[str, Signal]:
        number = (last["index_row"].word_select(place, 8) | (last["number"] << 2 | place))[:8]
        words = {
            "a": Mux(mode.scalar, last["scalar"], last["a"]),
            "b": Mux(mode.enumerated, number << 8 * place, last["b"]),
            "d": Mux(mode.scalar, last["a"], last["b"]),
            "a_flags": last["a_flags"] & ~mode.scalar.replicate(4),
            "b_flags": last["b_flags"] & ~mode.enumerated.replicate(4),
        }
        signals = {name: Signal(32, name=f"operand{place}_{name}") for name in words}
        m.d.comb += [signals[name].eq(value) for name, value in words.items()]
        return signals


def delay(m: Module, value: Value) -> Signal:
    register = Signal(len(value), reset_less=True)
    m.d.sync += register.eq(value)
    return register


def prove(folder: Path, proof: Proof) -> str:
    """Run the solver; what it printed if it found a counterexample or failed, else an empty text."""
    return formal.prove(folder, proof, DEPTH + 1)
