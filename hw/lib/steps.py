"""One operator under construction: named values, what they take, and registers between steps."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

from amaranth.hdl import C, Cat, Module, Mux, Shape, ShapeLike, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hw.delays import operator_delays
from hw.lib.taps import Taps

__all__ = ["Delayed", "SteppedOperator", "Steps"]

Delayed = Callable[[Value, int], Value]
"""A value so many cycles later."""


class Steps:
    """Builds one operator in module `m`: values get names so that they are built once, and registers between steps.
    Without a module there is nothing but its delays.

    `counts`: registers of each place that `cut` makes, none where it ends. `delays` are nanoseconds of the steps so
    far, the last of them that of the step under construction; `multipliers`: those of an FPGA so far. Signals are
    called `name`.
    """

    def __init__(self, m: Module | None, delayed: Delayed, counts: Sequence[int] = (), name: str = "float") -> None:
        self._m, self._delayed, self._counts, self._name = m, delayed, counts, name
        self.delays = [0.0]
        self.multipliers = 0

    def wire(self, value: Value, shape: Shape | None = None) -> Signal:
        """The value through a signal of its own (of a shape)."""
        signal = Signal(value.shape() if shape is None else shape, name=self._name)
        if self._m is not None:
            self._m.d.comb += signal.eq(value)
        return signal

    def takes(self, op: str, width: int) -> None:
        """The step under construction has operation `op` of `hw.ops` on `width` bits on its way, too."""
        self.delays[-1] += operator_delays().delay(op, width)

    def abreast(self, builds: Iterable[Callable[[], Value]]) -> list[Value]:
        """What `builds` make beside each other, all without a place for registers: the slowest of them counts."""
        start, found, ends = self.delays[-1], [], []
        for build in builds:
            self.delays[-1] = start
            found.append(build())
            ends.append(self.delays[-1])
        self.delays[-1] = max(ends)
        return found

    def cut(self, *values: Value) -> list[Value]:
        """The values behind the registers of the next place."""
        place = len(self.delays) - 1
        count = self._counts[place] if place < len(self._counts) else 0
        self.delays.append(0.0)
        wired = [self.wire(value) for value in values]
        return [self._delayed(value, count) for value in wired] if count else list(wired)

    def finish(self, value: Value) -> Value:
        """The result behind the registers of the last place."""
        return self._delayed(self.wire(value), self._counts[-1]) if self._counts else value

    def limited(self, distance: Value, limit: int) -> Value:
        """`distance` (unsigned) of a shift in as many bits as `limit` has, all of them ones if it has more."""
        bits = limit.bit_length()
        self.takes("select", bits)
        return self.wire(distance[:bits] | distance[bits:].any().replicate(bits))

    def sticky(self, value: Value, distance: Value) -> Value:
        """`value` shifted right, its lowest bit also standing for all that is shifted out."""
        self.takes("shr", len(value))
        shifted, lost = value, C(0, 1)
        for bit in reversed(range(len(distance))):
            step = 1 << bit
            lost = self.wire(lost | (distance[bit] & shifted[:step].any()))
            shifted = self.wire(Mux(distance[bit], shifted >> step, shifted))
        return Cat(shifted[0] | lost, shifted[1 : len(value)])

    def shifted_left(self, value: Value, distance: Value) -> Value:
        """`value` shifted left in its own width."""
        self.takes("shr", len(value))
        return (value << distance[: len(value).bit_length()])[: len(value)]

    def table(self, values: Sequence[int], index: Value, shape: Shape) -> Value:
        """Entry `index` of a table, without a clock; what lies beyond its end may be anything."""
        signal = Signal(shape, name=self._name)
        for _ in range(-(-len(index) // 2)):
            self.takes("select", 8)
        if self._m is not None:
            with self._m.Switch(index):
                for place, value in enumerate(values):
                    with self._m.Case(place):
                        self._m.d.comb += signal.eq(value)
        return signal

    def leading_zeros(self, value: Value) -> Value:
        """Zeros above the highest one; the width if there is none. A tree of halves, filled up with ones below, in
        which a count gets one bit more on every level."""
        bits = len(value).bit_length()
        for _ in range(bits):
            self.takes("select", 8)
        filling = (1 << bits) - len(value)
        return self._counted(Cat(C((1 << filling) - 1, filling), value))[0]

    def _counted(self, value: Value) -> tuple[Value, Value]:
        """Zeros above the highest one, and whether there is a one."""
        if len(value) == 1:
            return C(0, 0), value
        half = len(value) // 2
        (low, some_low), (high, some) = self._counted(value[:half]), self._counted(value[half:])
        return self.wire(Cat(Mux(some, high, low), ~some)), self.wire(some | some_low)


class SteppedOperator(wiring.Component):
    """One operator between ports: `operands` of these shapes, and the result ``o``, `latency` cycles with `en` later,
    as `build` says. Its registers are called `name`."""

    def __init__(self, operands: Mapping[str, ShapeLike], result: ShapeLike, name: str):
        self._operands, self._name = tuple(operands), name
        super().__init__({"en": In(1), **{operand: In(shape) for operand, shape in operands.items()},
                          "o": Out(result)})

    @abstractmethod
    def build(self, m: Module, delayed: Delayed, operands: Sequence[Value]) -> Value:
        """The result in `m`, of `operands` of some cycles before."""

    def elaborate(self, platform: object) -> Module:
        m = Module()
        delayed = partial(Taps(m, self.en).delayed, name=self._name, reset_less=True)
        m.d.comb += self.o.eq(self.build(m, delayed, [getattr(self, name) for name in self._operands]))
        return m
