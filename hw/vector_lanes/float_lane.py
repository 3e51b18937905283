"""The floating-point unit of a lane: a product, and behind it a sum, a comparison and the conversions.

::

    a, b --- product ---+--- sum -----------+
      |                 |                   |
      +---- as late ----+--- order ---------+--- result
                        +--- conversions ---+

A product passes the adder with -0 beside it, which keeps every number; so a multiply-add rounds twice, as a product and
a sum behind it do.
"""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hw.float import Float, FloatSpec, Integer, build_float
from hw.float.compare import ordering
from hw.float.operator import step_delays
from hw.lib.steps import Steps
from hw.vector_lanes.isa import FLOAT, Op

__all__ = ["FLOAT_CONTROL", "FloatLane", "decode_float", "split_latency"]

SINGLE = Float(8, 23)

FLOAT_CONTROL = data.StructLayout({
    "multiply": 1, "add_d": 1, "subtract": 1, "signed": 1, "to_float": 1, "to_integer": 1, "choose": 1, "compare": 1,
    "use_less": 1, "use_equal": 1, "invert": 1,
})
"""A wavefront on floating-point numbers: `multiply` and then `add_d` to the old destination; `subtract` B. Conversions
`to_float` from and `to_integer` of `signed` numbers. `choose` A or B (minimum, maximum) or `compare` them: whether A is
less (`use_less`) or equal (`use_equal`), or with `invert` neither."""

_LESS = (Op.VMIN, Op.VMAX, Op.VSLT, Op.VSLE, Op.VSGT, Op.VSGE)
_OPS: dict[str, tuple[Op, ...]] = {
    "multiply": (Op.VMUL, Op.VMAC), "add_d": (Op.VMAC,), "subtract": (Op.VSUB,), "choose": (Op.VMIN, Op.VMAX),
    "compare": (Op.VSEQ, Op.VSNE, Op.VSLT, Op.VSLE, Op.VSGT, Op.VSGE), "use_less": _LESS,
    "use_equal": (Op.VSEQ, Op.VSNE, Op.VSLE, Op.VSGT), "invert": (Op.VMAX, Op.VSNE, Op.VSGT, Op.VSGE),
}


def decode_float(m: Module, control: Any, mode: Any) -> None:
    """Drive all of `control` (`FLOAT_CONTROL`) from a `mode` word (`isa.MODE`) that takes or gives such numbers."""
    for name, ops in _OPS.items():
        m.d.comb += control[name].eq(mode.op.matches(*(int(op) for op in ops)))
    moves = mode.op == Op.VMOV
    m.d.comb += [control.signed.eq(mode.signed), control.to_float.eq(moves & (mode.out_size == FLOAT)),
                 control.to_integer.eq(moves & (mode.in_size == FLOAT))]


def split_latency(cycles: int) -> tuple[int, int]:
    """Cycles of the product and of what is behind it, so that steps take about as long."""
    product, total = (sum(step_delays(FloatSpec(op, SINGLE))) for op in ("mul", "add"))
    first = min(range(1, cycles), key=lambda n: max(product / n, total / (cycles - n)))
    return first, cycles - first


class FloatLane(wiring.Component):
    """Floating-point numbers of 32 bits: ``a``, ``b`` and the old destination ``d`` with `begins`, a wavefront per
    cycle; `adds` belongs to the wavefront `product` cycles later, `ends` to the one `rest` cycles after that, whose
    `result` is in that cycle. Results of comparisons are 0 and 1; integers have 32 bits."""

    def __init__(self, product: int, rest: int):
        self._product, self._rest = product, rest
        super().__init__({
            "a": In(32), "b": In(32), "d": In(32), "begins": In(FLOAT_CONTROL), "adds": In(FLOAT_CONTROL),
            "ends": In(FLOAT_CONTROL), "result": Out(32),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        a, b = self.a, Cat(self.b[:-1], self.b[-1] ^ self.begins.subtract)
        product = build_float(m, self._delayer(m), FloatSpec("mul", SINGLE, self._product), [self.a, self.b])
        other = Mux(self.begins.multiply, Mux(self.begins.add_d, self.d, 1 << 31), b)
        a, other = (_delay(m, value, self._product) for value in (a, other))
        adds = self.adds
        total = build_float(m, self._delayer(m), FloatSpec("add", SINGLE, self._rest),
                            [Mux(adds.multiply, product, a), other])
        rest = self._rest - 1
        number = build_float(m, self._delayer(m), FloatSpec("cast", Integer(33), rest, SINGLE),
                             [Cat(a, a[-1] & adds.signed)])
        integers = [build_float(m, self._delayer(m), FloatSpec("cast", SINGLE, rest, Integer(32, signed)), [a])
                    for signed in (False, True)]
        ordered = self._ordered(m, a, other)
        last = _delay(m, adds.as_value(), rest)
        last = data.View(FLOAT_CONTROL, last)
        moved = Mux(last.to_float, number, Mux(last.signed, integers[1], integers[0]))
        moves = last.to_float | last.to_integer
        others = _delay(m, Mux(moves, moved, ordered), 1)
        ends = self.ends
        special = ends.to_float | ends.to_integer | ends.choose | ends.compare
        m.d.comb += self.result.eq(Mux(special, others, total))
        return m

    def _ordered(self, m: Module, a: Value, b: Value) -> Value:
        """A minimum, a maximum, or whether a comparison holds: a cycle before the end."""
        spec = FloatSpec("lt", SINGLE, self._rest - 1)
        adds = self.adds
        steps = Steps(m, lambda value, cycles: value)
        nan_a, nan_b, equal, less = ordering(steps, spec, [a, b])
        found = ((adds.use_less & less & ~equal) | (adds.use_equal & equal)) ^ adds.invert
        holds = Mux(nan_a | nan_b, adds.invert & ~adds.use_less, found)
        better = nan_b | (~nan_a & ~equal & (less ^ adds.invert))
        return _delay(m, Mux(adds.compare, holds, Mux(better, a, b)), self._rest - 1)

    @staticmethod
    def _delayer(m: Module) -> Any:
        return lambda value, cycles: _delay(m, value, cycles)


def _delay(m: Module, value: Value, cycles: int) -> Value:
    for _ in range(cycles):
        register = Signal(value.shape(), name="float", reset_less=True)
        m.d.sync += register.eq(value)
        value = register
    return value
