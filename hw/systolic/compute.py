"""The arithmetic of a step: the body in every lane, guards, and the tree that combines lanes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value

from hw.dataflow.operators import Unit
from hw.dataflow.spec import Operator, Word
from hw.labels import Label
from hw.lib.taps import Taps
from hw.systolic.bundles import Bundles
from hw.systolic.feeder import feeder_latency
from hw.systolic.formats import find_format
from hw.systolic.spec import INTERIOR, ArraySpec

__all__ = ["Compute"]


class Compute:
    """How the array `spec` computes a step. `latency`: cycles from the step's start to its value, at least 2."""

    def __init__(self, spec: ArraySpec):
        self._spec = spec
        self._format = find_format(spec.format)

    @cached_property
    def body(self) -> tuple[Operator, ...]:
        """The body with its schedule."""
        return self._format.schedule(self._spec.body)

    @property
    def levels(self) -> int:
        """Levels of the tree over the lanes."""
        return 0 if self._spec.result.vector else (self._spec.lanes - 1).bit_length()

    @property
    def tree(self) -> int:
        """Cycles of the tree: of each of its levels those of the operation that combines, at least one."""
        return self.levels * max(1, self._spec.result.latency)

    @property
    def reading(self) -> int:
        """Cycles from the step's start until the words of all operands are there."""
        interior = [o for o in self._spec.operands if o.direction == INTERIOR]
        return max((feeder_latency(self._spec, operand) for operand in interior), default=1)

    @property
    def latency(self) -> int:
        """Reading, then the body, then the tree; with initial values for accumulators a cycle more than reading."""
        early = any(o.initial for o in self._spec.operands) and self._spec.result.space == "none"
        return max(2, self.reading + max(self.body[-1].done + self.tree, int(early)))

    @property
    def completion(self) -> int:
        """Cycles from a result's last step until it is there: the accumulator has its value, and partial sums have been
        added."""
        return self.latency + self._spec.result.latency * (1 + self._spec.result.levels)

    def build(self, m: Module, taps: Taps, reads: Sequence[Value], left: Sequence[Value],
              units: Mapping[str, Unit]) -> Value:
        """The value of a step, `latency` cycles after it starts, as bits. `reads`: the operands' words, `reading`
        cycles after the start. `left`: of every guard, at the start. `units`: operations that are built otherwise."""
        spec, body = self._spec, self.body
        bundles = Bundles(spec)
        words = [list(bundles.elements(o, word)) for o, word in zip(spec.operands, reads, strict=True)]
        lanes = []
        for lane in range(spec.lanes):
            elements = [word[lane] for word in words]
            value = self._format.build(m, taps, spec.label.of(f"lane{lane}"), body, elements, units)
            lanes.append(self._guarded(m, taps, value, left, lane))
        if spec.result.vector:
            value = Cat(_resized(m, value, spec.result.word, f"value{k}") for k, value in enumerate(lanes))
        else:
            value = _resized(m, self._tree(m, taps, lanes), spec.result.word, "value")
        return taps.delayed(value, self.latency - self.reading - body[-1].done - self.tree, "late")

    def _guarded(self, m: Module, taps: Taps, value: Value, left: Sequence[Value], lane: int) -> Value:
        """What changes nothing in place of the value of a lane beyond a bound."""
        spec = self._spec
        if not left or spec.result.combine is None:
            return value
        inside, word = Signal(name=f"inside{lane}"), spec.result.word
        beyond = [amount > lane * guard.lanes for amount, guard in zip(left, spec.guards, strict=True)]
        m.d.comb += inside.eq(Cat(beyond).all())
        neutral = Const(self._format.neutral(spec.result.combine, word), word.shape)
        guarded = Signal(self.lane_word(0).shape, name=f"guarded{lane}")
        m.d.comb += guarded.eq(Mux(taps.delayed(inside, self.reading + self.body[-1].done), value, neutral))
        return guarded

    def lane_word(self, level: int) -> Word:
        """The word of a lane after `level` levels of the tree: sums are as narrow as they can be."""
        body, result = self.body[-1].word, self._spec.result
        narrow = result.combine == "add" and not result.word.exponent and body.width + level <= result.word.width
        return Word(body.width + level, body.signed) if narrow else result.word

    def _tree(self, m: Module, taps: Taps, values: Sequence[Value]) -> Value:
        level = 0
        while len(values) > 1:
            level += 1
            values = [self._pair(m, taps, values[k : k + 2], level, k // 2) for k in range(0, len(values), 2)]
        return values[0]

    def _pair(self, m: Module, taps: Taps, pair: Sequence[Value], level: int, number: int) -> Value:
        name, word, cycles = f"level{level}_{number}", self.lane_word(level), self._spec.result.latency
        value, late = pair[0], max(1, cycles)
        if len(pair) == 2:
            combine = self._spec.result.combine
            assert combine is not None
            a, b = (_resized(m, part, word, f"{name}_{k}") for k, part in enumerate(pair))
            value = self._format.combine(m, Label(name, self._spec.label.source), combine, word, a, b, cycles)
            late -= cycles
        return taps.delayed(_resized(m, value, word, f"{name}_sum"), late, name)


def _resized(m: Module, value: Value, word: Word, name: str) -> Value:
    """`value` in `word`, extended by its own sign."""
    resized = Signal(word.shape, name=name)
    m.d.comb += resized.eq(value)
    return resized
