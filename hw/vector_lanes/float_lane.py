"""The floating-point units of a lane: a product, and behind it a sum, a comparison and the conversions.

::

    a, b --- product ---+--- sum -----------+
      |                 |                   |
      +---- as late ----+--- order ---------+--- result
                        +--- conversions ---+

A product and a sum that are rounded once are a unit of their own beside all this, on lanes that have it.

A product passes the adder with -0 beside it, which keeps every number; so a multiply-add rounds twice, as a product and
a sum behind it do. For bfloat16 there are two such units, one for each half of the lane; the lower one also takes and
gives words.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hw.float import Float, FloatSpec, Integer, build_float
from hw.float.compare import ordering
from hw.float.operator import step_delays
from hw.lib.steps import Steps
from hw.vector_lanes.dispatch_decode import element_sizes
from hw.vector_lanes.isa import FLOAT, Op, Size
from hw.vector_lanes.spec import VectorSpec

__all__ = ["FLOAT_CONTROL", "FloatCycles", "FloatLane", "decode_float", "float_cycles"]

SINGLE = Float(8, 23)
BFLOAT16 = Float(8, 7)

FLOAT_CONTROL = data.StructLayout({
    "multiply": 1, "add_d": 1, "subtract": 1, "signed": 1, "to_float": 1, "to_integer": 1, "choose": 1, "compare": 1,
    "use_less": 1, "use_equal": 1, "invert": 1, "halves": 1, "word": 1,
})
"""A wavefront on floating-point numbers: `multiply` and then `add_d` to the old destination; `subtract` B. Conversions
`to_float` from and `to_integer` of `signed` numbers; both: from 32 bits to bfloat16. `choose` A or B (minimum, maximum)
or `compare` them: whether A is less (`use_less`) or equal (`use_equal`), or with `invert` neither. `halves`: its
numbers are bfloat16; `word`: an element for a lane, not two."""

_LESS = (Op.VMIN, Op.VMAX, Op.VSLT, Op.VSLE, Op.VSGT, Op.VSGE)
_OPS: dict[str, tuple[Op, ...]] = {
    "multiply": (Op.VMUL, Op.VMAC), "add_d": (Op.VMAC,), "subtract": (Op.VSUB,), "choose": (Op.VMIN, Op.VMAX),
    "compare": (Op.VSEQ, Op.VSNE, Op.VSLT, Op.VSLE, Op.VSGT, Op.VSGE), "use_less": _LESS,
    "use_equal": (Op.VSEQ, Op.VSNE, Op.VSLE, Op.VSGT), "invert": (Op.VMAX, Op.VSNE, Op.VSGT, Op.VSGE),
}


def decode_float(m: Module, control: Any, mode: Any, spec: VectorSpec) -> None:
    """Drive all of `control` (`FLOAT_CONTROL`) from a `mode` word (`isa.MODE`) that takes or gives such numbers, on a
    machine of `spec`."""
    for name, ops in _OPS.items():
        m.d.comb += control[name].eq(mode.op.matches(*(int(op) for op in ops)))
    moves = mode.op == Op.VMOV
    sizes = element_sizes(mode, spec)
    m.d.comb += [control.signed.eq(mode.signed), control.to_float.eq(moves & (mode.out_size == FLOAT)),
                 control.to_integer.eq(moves & (mode.in_size == FLOAT)),
                 control.halves.eq(mode.absolute if spec.bfloat16 else 0),
                 control.word.eq((sizes[0] == Size.WORD) | (sizes[1] == Size.WORD))]


@dataclass(frozen=True)
class FloatCycles:
    """Cycles of a product and of the `rest` behind it, and the formats that a lane has; `fused`: with units for fused
    multiply-add."""

    product: int
    rest: int
    single: bool = True
    pairs: bool = False
    fused: bool = False


def float_cycles(spec: VectorSpec, cycles: int) -> FloatCycles:
    """The units of a machine with `cycles` for a product and what is behind it, cut so that steps take about as long.
    """
    form = SINGLE if spec.float32 else BFLOAT16
    product, total = (sum(step_delays(FloatSpec(op, form))) for op in ("mul", "add"))
    first = min(range(1, cycles), key=lambda n: max(product / n, total / (cycles - n)))
    return FloatCycles(first, cycles - first, spec.float32, spec.bfloat16, spec.fuses)


class FloatLane(wiring.Component):
    """Floating-point numbers of 32 bits, or pairs of bfloat16: ``a``, ``b`` and the old destination ``d`` with
    `begins`, a wavefront per cycle; `adds` belongs to the wavefront `product` cycles later, `ends` to the one `rest`
    cycles after that, whose `result` is in that cycle. Results of comparisons are 0 and 1; integers have 32 bits, or
    in pairs 16. `fused`, at the end, on lanes that have it: the result is that of a fused multiply-add."""

    def __init__(self, cycles: FloatCycles):
        self._cycles = cycles
        super().__init__({
            "a": In(32), "b": In(32), "d": In(32), "begins": In(FLOAT_CONTROL), "adds": In(FLOAT_CONTROL),
            "ends": In(FLOAT_CONTROL), "result": Out(32), **({"fused": In(1)} if cycles.fused else {}),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        results: list[Value] = []
        if self._cycles.pairs:
            low, high = (self._unit(m, BFLOAT16, half) for half in range(2))
            results.append(Mux(self.ends.word, low, Cat(low[:16], high[:16])))
        if self._cycles.single:
            results.append(self._unit(m, SINGLE, 0))
        m.d.comb += self.result.eq(results[0] if len(results) == 1 else Mux(self.ends.halves, *results))
        return m

    def _unit(self, m: Module, form: Float, place: int) -> Value:
        """The result, in 32 bits, of a unit for numbers of `form` at `place` in the lane."""
        begins, adds, ends, cycles = self.begins, self.adds, self.ends, self._cycles
        a, b, d = (value.word_select(place, form.width) for value in (self.a, self.b, self.d))
        negated = Cat(b[:-1], b[-1] ^ begins.subtract)
        product = build_float(m, _delayer(m), FloatSpec("mul", form, cycles.product), [a, b])
        other = Mux(begins.multiply, Mux(begins.add_d, d, 1 << form.width - 1), negated)
        late, other = (_delay(m, value, cycles.product) for value in (a, other))
        total = build_float(m, _delayer(m), FloatSpec("add", form, cycles.rest),
                            [Mux(adds.multiply, product, late), other])
        whole = _delay(m, self.a, cycles.product) if place == 0 else late
        moved, ordered = self._converted(m, form, late, whole), self._ordered(m, form, late, other)
        last = data.View(FLOAT_CONTROL, _delay(m, adds.as_value(), cycles.rest - 1))
        others = _delay(m, Mux(last.to_float | last.to_integer, moved, ordered), 1)
        special = ends.to_float | ends.to_integer | ends.choose | ends.compare
        found = Mux(special, others, total)
        if not cycles.fused:
            return found
        once = build_float(m, _delayer(m), FloatSpec("mad", form, cycles.product + cycles.rest), [a, b, d])
        return Mux(self.fused, once, found)

    def _converted(self, m: Module, form: Float, number: Value, whole: Value) -> Value:
        """`number` as an integer, or the integer that it is, or `whole`, a word of the lane, as a number: a cycle
        before the end."""
        rest, adds = self._cycles.rest - 1, self.adds
        last = data.View(FLOAT_CONTROL, _delay(m, adds.as_value(), rest))
        sign = adds.signed & number[-1]
        integer: Value = Cat(number, sign)
        if len(whole) > len(number):
            above = Cat(number[-1] & adds.signed for _ in range(len(whole) - len(number)))
            integer = Mux(adds.word, Cat(whole, whole[-1] & adds.signed), Cat(number, above, sign))
        found = build_float(m, _delayer(m), FloatSpec("cast", Integer(len(integer)), rest, form), [integer])
        if form == BFLOAT16 and len(whole) == SINGLE.width:
            rounded = build_float(m, _delayer(m), FloatSpec("cast", SINGLE, rest, form), [whole])
            found = Mux(last.to_integer, rounded, found)
        integers = [build_float(m, _delayer(m), FloatSpec("cast", form, rest, Integer(32, signed)), [number])
                    for signed in (False, True)]
        return Mux(last.to_float, found, Mux(last.signed, integers[1], integers[0]))

    def _ordered(self, m: Module, form: Float, a: Value, b: Value) -> Value:
        """A minimum, a maximum, or whether a comparison holds: a cycle before the end."""
        spec = FloatSpec("lt", form, self._cycles.rest - 1)
        adds = self.adds
        steps = Steps(m, lambda value, cycles: value)
        nan_a, nan_b, equal, less = ordering(steps, spec, [a, b])
        found = ((adds.use_less & less & ~equal) | (adds.use_equal & equal)) ^ adds.invert
        holds = Mux(nan_a | nan_b, adds.invert & ~adds.use_less, found)
        better = nan_b | (~nan_a & ~equal & (less ^ adds.invert))
        return _delay(m, Mux(adds.compare, holds, Mux(better, a, b)), self._cycles.rest - 1)


def _delayer(m: Module) -> Any:
    return lambda value, cycles: _delay(m, value, cycles)


def _delay(m: Module, value: Value, cycles: int) -> Value:
    for _ in range(cycles):
        register = Signal(value.shape(), name="float", reset_less=True)
        m.d.sync += register.eq(value)
        value = register
    return value
