"""The west and north edges: tokens pick up the words that enter the array there."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from hw.systolic.buffers import step_queue
from hw.systolic.bundles import Bundles, chain_beat, field
from hw.systolic.feeder import Feeder, feeder_latency
from hw.systolic.spec import EAST, INTERIOR, ArraySpec, Direction

__all__ = ["EdgeFeeder", "nearer"]


class EdgeFeeder(wiring.Component):
    """One row of the west edge (`direction` is `EAST`) or one column of the north edge (`SOUTH`).

    Ports: `token` (steps come), `next` (they go on to the next row or column one cycle later), `out` (to the PE, with
    the words of the step, two cycles later, or three if a feeder at either edge is block RAM). `fill_K`, `next_K`:
    chain of operand K.
    """

    def __init__(self, spec: ArraySpec, direction: Direction):
        self._spec = spec
        self._bundles = bundles = Bundles(spec)
        self._operands = bundles.operands(direction)
        self._token = bundles.west_token if direction == EAST else bundles.north_token
        self._out = bundles.east if direction == EAST else bundles.south
        self._delay = spec.delay("rows" if direction == EAST else "columns")
        ports = {"token": In(stream.Signature(self._token)), "next": Out(stream.Signature(self._token)),
                 "out": Out(stream.Signature(self._out))}
        for k, operand in self._operands:
            beats = stream.Signature(chain_beat(spec, operand))
            ports |= {f"fill_{k}": In(beats), f"next_{k}": Out(beats)}
        super().__init__(ports)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.steps = steps = step_queue(self._token, self._delay)
        connect(m, flipped(self.token), steps.i)
        token, go, ready = steps.o, Signal(), Signal()
        # Both edges take as long as the slower one: what is ahead on its way from the sequencer to a PE would have to
        # wait there, and steps that wait hold up those behind them.
        slow = max((feeder_latency(self._spec, operand) for operand in self._spec.operands
                    if operand.direction != INTERIOR), default=1)
        stages = [Signal(self._out, name=f"stage{k}", reset_less=True) for k in range(slow)]
        moves = [go, *(Signal(name=f"move{k}") for k in range(1, slow))]
        full: list[Value] = []
        for k, operand in self._operands:
            m.submodules[f"feeder_{k}"] = feeder = Feeder(self._spec, operand)
            connect(m, flipped(getattr(self, f"fill_{k}")), feeder.fill)
            connect(m, feeder.next, flipped(getattr(self, f"next_{k}")))
            m.d.comb += [
                feeder.read.eq(go), feeder.address.eq(field(token.p, f"address_{k}")),
                feeder.release.eq(token.p[f"release_{k}"]), feeder.claim.eq(field(token.p, f"claim_{k}")),
                feeder.advance.eq(moves[-1]),
            ]
            word = feeder.word
            if feeder_latency(self._spec, operand) < slow:
                word = stages[-1][f"data_{k}"]
                with m.If(moves[-1]):
                    m.d.sync += word.eq(feeder.word)
            m.d.comb += self.out.p[f"data_{k}"].eq(word)
            full.append(feeder.full)
        free = self._stages(m, moves, stages, [name for name in self._out.members if name in self._token.members])
        m.d.comb += [
            ready.eq(Cat(full).all() & free), *(self.out.p[name].eq(stages[-1][name]) for name in self._out.members if
                                                name in self._token.members),
            go.eq(token.valid & ready & self.next.ready), token.ready.eq(go),
            self.next.valid.eq(token.valid & ready), nearer(self._spec, self.next.p, token.p, "rows"),
        ]
        with m.If(go):
            m.d.sync += [stages[0][name].eq(token.p[name]) for name in self._out.members if name in
                         self._token.members]
        return m

    def _stages(self, m: Module, moves: list[Signal], stages: list[data.View], names: list[str]) -> Value:
        """Registers between the token and the way out; `moves[k]`: a step enters number k. Returns whether the first
        one is free."""
        valid = [Signal(name=f"valid{k}") for k in range(len(stages))]
        free: Value = ~valid[-1] | self.out.ready
        leaves: Value = self.out.ready
        m.d.comb += self.out.valid.eq(valid[-1])
        for k in reversed(range(len(stages))):
            with m.If(leaves):
                m.d.sync += valid[k].eq(0)
            with m.If(moves[k]):
                m.d.sync += valid[k].eq(1)
            if k:
                m.d.comb += moves[k].eq(valid[k - 1] & free)
                with m.If(moves[k]):
                    m.d.sync += [stages[k][name].eq(stages[k - 1][name]) for name in names]
                leaves, free = moves[k], ~valid[k - 1] | free
        return free


def nearer(spec: ArraySpec, after: data.View, before: data.View, axis: str) -> list:
    """Assignments of a bundle to the next one along an axis (``"rows"``, ``"columns"``), where guards are nearer to
    their bounds by what a position counts."""
    layout = before.shape()
    assert isinstance(layout, data.StructLayout)
    steps = {f"left_{k}": getattr(guard, axis) for k, guard in enumerate(spec.guards)}
    assignments = []
    for name in layout.members:
        left, step = before[name], steps.get(name, 0)
        assignments.append(after[name].eq(Mux(left > step, left - step, 0) if step else left))
    return assignments
