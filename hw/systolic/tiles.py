"""The tile loops of a run: which tile is next, and where it is in main memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hw.systolic.spec import ArraySpec, OperandSpec

__all__ = ["EXTENT_BITS", "TileAddresses", "TileLoops", "TilePlans", "each",
           "loop_steps_tile", "tile_plan"]

EXTENT_BITS = 24
ADDRESS_BITS = 32


def each(ports: Sequence[Value], values: Sequence[Value]) -> list[Any]:
    """Assignments of one array of ports to another one."""
    return [port.eq(value) for port, value in zip(ports, values, strict=True)]


class TileLoops(wiring.Component):
    """Nested loops, `count` (at least 1) of them, outermost first, whose extents are inputs; a turn in two cycles.

    Ports: `load` starts them with `extents`; `valid`: `first` and `last` say for each loop whether it is in its first
    and its last turn; `step`, while `valid`, goes on, after the last turn of all of them to the end. `turn`: for each
    loop whether `step` makes it count; those inside that one start over.
    """

    def __init__(self, count: int):
        self._count = count
        super().__init__({
            "load": In(1), "extents": In(EXTENT_BITS).array(count), "step": In(1), "valid": Out(1),
            "first": Out(count), "last": Out(count), "turn": Out(count),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        left = [Signal(EXTENT_BITS, name=f"left{k}") for k in range(self._count)]
        settling = Signal()
        m.d.sync += [Cat(self.last).eq(Cat(rest == 1 for rest in left)), settling.eq(0)]
        with m.If(settling):
            m.d.sync += self.valid.eq(1)
        for k, rest in enumerate(left):
            inner = self.last[k + 1 :].all() if k + 1 < self._count else Value.cast(1)
            m.d.comb += self.turn[k].eq(inner & ~self.last[k])
            over = ~self.valid | self.last[k]  # loads come while nothing is valid: `load` need not choose what is next
            with m.If(self.load | (self.step & inner)):
                m.d.sync += [rest.eq(Mux(over, self.extents[k], rest - 1)), self.first[k].eq(over)]
        with m.If(self.step):
            m.d.sync += [self.valid.eq(0), settling.eq(~self.last.all())]
        with m.If(self.load):
            m.d.sync += settling.eq(1)
        return m


class TileAddresses(wiring.Component):
    """Byte addresses of tiles: ``base + sum(stride * loop)`` over `strided` loops among the first `count` ones.

    Ports: `load`, `base`, `extents`, `strides` (one for each of `strided`), `o` (stream of addresses, one for each turn
    of the loops, in three cycles), `busy`: there are more. Without loops there is one tile.
    """

    def __init__(self, count: int, strided: Sequence[int]):
        self._count, self._strided = count, list(strided)
        super().__init__({
            "load": In(1), "base": In(ADDRESS_BITS), "extents": In(EXTENT_BITS).array(count),
            "strides": In(ADDRESS_BITS).array(len(self._strided)), "o": Out(stream.Signature(ADDRESS_BITS)),
            "busy": Out(1),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        count = max(1, self._count)
        m.submodules.loops = loops = TileLoops(count)
        places = [Signal(ADDRESS_BITS, name=f"place{k}") for k in range(count)]
        taken, step = Signal(), Signal()  # loops go on a cycle later: addresses are far from what takes them
        m.d.comb += [
            loops.load.eq(self.load), self.o.payload.eq(places[-1]), self.o.valid.eq(loops.valid & ~step),
            taken.eq(self.o.valid & self.o.ready), loops.step.eq(step),
        ]
        turning = Signal(count)  # of loops; they do not change between the two cycles
        m.d.sync += [step.eq(taken), turning.eq(loops.turn)]
        with m.If(taken):
            m.d.sync += self.busy.eq(~loops.last.all())
        for k in range(count):
            m.d.comb += loops.extents[k].eq(self.extents[k] if self._count else 1)
            following = Signal(ADDRESS_BITS, name=f"following{k}")
            stride = self.strides[self._strided.index(k)] if k in self._strided else 0
            m.d.comb += following.eq(places[k] + stride)
            with m.If(step & turning[k]):
                m.d.sync += [place.eq(following) for place in places[k:]]
        with m.If(self.load):
            m.d.sync += [self.busy.eq(1), *(place.eq(self.base) for place in places)]
        return m


def tile_plan(spec: ArraySpec) -> data.StructLayout:
    """What steps have to know about their tile: whether it is the `first` and `last` one of the reduction, for each
    operand K whether its feeders are done with it afterwards (`release_K`), the index bound of guard G (`limit_G`)."""
    fields = {"first": 1, "last": 1} | {f"release_{k}": 1 for k in range(len(spec.operands))}
    return data.StructLayout(fields | {f"limit_{k}": guard.tile.bit_length() for k, guard in enumerate(spec.guards)})


def loop_steps_tile(operand: OperandSpec, loop: int, several: Value) -> Value:
    """Whether the operand's tile is another one when tile loop number `loop` steps and those inside it begin again:
    if a loop that it depends on, this one or one inside, has `several` turns (a bit for each loop)."""
    return Cat(several[k] for k in operand.tile_loops if k >= loop).any()


class TilePlans(wiring.Component):
    """The plan of one tile after the other. Ports: `load`, `extents` (of all tile loops), `bounds` (of the guards), `o`
    (stream of `tile_plan`; one every two cycles)."""

    def __init__(self, spec: ArraySpec):
        self._spec = spec
        super().__init__({
            "load": In(1), "extents": In(EXTENT_BITS).array(len(spec.tile_loops)),
            "bounds": In(ADDRESS_BITS).array(len(spec.guards)), "o": Out(stream.Signature(tile_plan(spec))),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        spec = self._spec
        m.submodules.loops = loops = TileLoops(len(spec.tile_loops))
        reduced = [k for k, loop in enumerate(spec.tile_loops) if loop.reduction]
        m.d.comb += [
            loops.load.eq(self.load), self.o.valid.eq(loops.valid), loops.step.eq(self.o.valid & self.o.ready),
            self.o.p.first.eq(Cat(loops.first[k] for k in reduced).all()),
            self.o.p.last.eq(Cat(loops.last[k] for k in reduced).all()),
        ]
        m.d.comb += [loops.extents[k].eq(self.extents[k]) for k in range(len(spec.tile_loops))]
        several = Signal(len(spec.tile_loops))  # of loops: they have more than one turn
        m.d.sync += several.eq(Cat(extent != 1 for extent in self.extents))
        for k, operand in enumerate(spec.operands):
            fetched = [loop_steps_tile(operand, loop, several) for loop in range(len(spec.tile_loops))]
            m.d.comb += self.o.p[f"release_{k}"].eq((loops.last | Cat(fetched)).all())
        for k, guard in enumerate(spec.guards):
            rest = Signal(ADDRESS_BITS, name=f"rest{k}")
            m.d.comb += self.o.p[f"limit_{k}"].eq(Mux(rest > guard.tile, guard.tile, rest))
            with m.If(loops.step & loops.turn[guard.tile_loop]):
                m.d.sync += rest.eq(rest - guard.tile)
            with m.If(self.load | (loops.step & loops.turn[: guard.tile_loop].any())):
                m.d.sync += rest.eq(self.bounds[k])
        return m
