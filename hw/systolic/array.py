# amaranth: UnusedElaboratable=no
# (An array instantiates its parts by name; they are elaborated once, beside it.)
"""The array: PEs, edges and chains, each a module of its own, wired to their neighbours only."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from amaranth.hdl import ClockSignal, Instance, Module, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import Flow, In, Out, connect, flipped

from hw.systolic.bundles import Bundles, chain_beat, result_beat
from hw.systolic.drain import Exit
from hw.systolic.east import EdgeAccumulator, EdgeSum
from hw.systolic.edges import EdgeFeeder
from hw.systolic.feeder import Junction
from hw.systolic.pe import ProcessingElement
from hw.systolic.spec import EAST, INTERIOR, SOUTH, ArraySpec, Direction

__all__ = ["SystolicArray"]

PE, WEST_EDGE, NORTH_EDGE, EXIT = "systolic_pe", "systolic_west_edge", "systolic_north_edge", "systolic_exit"
EDGE_SUM, EDGE_ACCUMULATOR = "systolic_edge_sum", "systolic_edge_accumulator"


class _Placed(wiring.Component):
    """Instance of a part that is emitted as module `name`. `clear` resets it a cycle later: each part has a register
    for that, so that the time in which all are reached does not grow with the array."""

    def __init__(self, name: str, part: wiring.Component):
        self._name = name
        self._part = part.signature
        super().__init__({**dict(part.signature.members.items()), "clear": In(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        reset = Signal(reset_less=True, attrs={"keep": 1})  # else synthesis merges those of all parts
        m.d.sync += reset.eq(self.clear)
        ports: dict[str, Any] = {"i_clk": ClockSignal(), "i_rst": reset}
        for path, member, value in self._part.flatten(self):
            ports[f"{'o' if member.flow is Flow.Out else 'i'}_{'__'.join(map(str, path))}"] = value
        m.submodules.instance = Instance(self._name, **ports)
        return m


def _parts(spec: ArraySpec) -> dict[str, wiring.Component]:
    """The parts of an array by the names of their modules."""
    bundles, space = Bundles(spec), spec.result.space
    parts: dict[str, wiring.Component] = {
        PE: ProcessingElement(spec), WEST_EDGE: EdgeFeeder(spec, EAST), EXIT: Exit(spec)}
    if bundles.goes_south:
        parts[NORTH_EDGE] = EdgeFeeder(spec, SOUTH)
    parts |= {_junction(k): Junction(spec, operand) for k, operand in bundles.operands(INTERIOR)}
    if space == "both":
        parts[EDGE_SUM] = EdgeSum(spec)
    if space != "none":
        parts[EDGE_ACCUMULATOR] = EdgeAccumulator(spec, below=space == "both")
    return parts


def _junction(operand: int) -> str:
    return f"systolic_junction_{operand}"


class SystolicArray(wiring.Component):
    """`spec.rows` times `spec.columns` PEs with their edges.

    Ports: `clear` (resets everything, a cycle later; high while the system is reset); `west`, `north` (steps, from the
    sequencer); `fill_K` (chain of operand K); `results` (beats of `result_beat`). `entered`: the PE in the north-west
    corner takes a step; `completed`: the last exit (the PE in the south-east corner if results are in PEs) has
    completed a result.
    """

    def __init__(self, spec: ArraySpec):
        self._spec = spec
        self._bundles = bundles = Bundles(spec)
        self._kinds = _parts(spec)
        bits = spec.result.pack * spec.word_bits(spec.result)
        ports = {
            "clear": In(1), "west": In(stream.Signature(bundles.west_token)), "entered": Out(1), "completed": Out(1),
            "results": Out(stream.Signature(result_beat(bits))),
        }
        if bundles.goes_south:
            ports["north"] = In(stream.Signature(bundles.north_token))
        for k, operand in enumerate(spec.operands):
            ports[f"fill_{k}"] = In(stream.Signature(chain_beat(spec, operand)))
        super().__init__(ports)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        rows, columns = range(self._spec.rows), range(self._spec.columns)
        grid = [[self._place(m, PE, f"pe_{r}_{c}") for c in columns] for r in rows]
        for row in grid:
            for c, pe in enumerate(row):
                m.d.comb += pe.head.eq(c == 0)
            for west, east in pairwise(row):
                connect(m, west.east, east.west)
        self._edge(m, EAST, [row[0].west for row in grid])
        if self._bundles.goes_south:
            self._edge(m, SOUTH, [pe.north for pe in grid[0]])
            for upper, lower in pairwise(grid):
                for north, south in zip(upper, lower, strict=True):
                    connect(m, north.south, south.north)
            m.d.comb += [pe.south.ready.eq(1) for pe in grid[-1]]
        for k, _ in self._bundles.operands(INTERIOR):
            self._interior(m, k, grid)
        self._exits(m, self._ends(m, grid))
        m.d.comb += self.entered.eq(grid[0][0].east.valid)
        return m

    @property
    def parts(self) -> dict[str, wiring.Component]:
        """The modules that the array is made of, by name; each once, however large the array is."""
        return self._kinds

    def _place(self, m: Module, kind: str, name: str) -> Any:
        m.submodules[name] = part = _Placed(kind, self._kinds[kind])
        m.d.comb += part.clear.eq(self.clear)
        return part

    def _edge(self, m: Module, direction: Direction, entries: list[Any]) -> None:
        """Feeders along an edge: tokens and chains go from each to the next."""
        kind, source = (WEST_EDGE, self.west) if direction == EAST else (NORTH_EDGE, self.north)
        feeders = [self._place(m, kind, f"{kind.removeprefix('systolic_')}_{k}") for k in range(len(entries))]
        connect(m, flipped(source), feeders[0].token)
        m.d.comb += feeders[-1].next.ready.eq(1)
        for feeder, after in pairwise(feeders):
            connect(m, feeder.next, after.token)
        for feeder, entry in zip(feeders, entries, strict=True):
            connect(m, feeder.out, entry)
        for k, _ in self._bundles.operands(direction):
            self._chain(m, flipped(getattr(self, f"fill_{k}")), feeders, k)

    def _chain(self, m: Module, source: Any, places: list[Any], operand: int) -> None:
        """The daisy chain of an operand through its feeders."""
        connect(m, source, getattr(places[0], f"fill_{operand}"))
        for place, after in pairwise(places):
            connect(m, getattr(place, f"next_{operand}"), getattr(after, f"fill_{operand}"))
        m.d.comb += getattr(places[-1], f"next_{operand}").ready.eq(1)

    def _interior(self, m: Module, operand: int, grid: list[list[Any]]) -> None:
        """A chain along the north edge, and from there one down each column."""
        kind = _junction(operand)
        junctions = [self._place(m, kind, f"junction_{operand}_{c}") for c in range(self._spec.columns)]
        connect(m, flipped(getattr(self, f"fill_{operand}")), junctions[0].fill)
        for junction, after in pairwise(junctions):
            connect(m, junction.next, after.fill)
        m.d.comb += junctions[-1].next.ready.eq(1)
        for c, junction in enumerate(junctions):
            self._chain(m, junction.down, [row[c] for row in grid], operand)

    def _ends(self, m: Module, grid: list[list[Any]]) -> list[Any]:
        """The streams of results that leave at the east edge."""
        last = [row[-1] for row in grid]
        space = self._spec.result.space
        if space == "none":
            m.d.comb += [pe.east.ready.eq(1) for pe in last]
            m.d.comb += self.completed.eq(last[-1].completed)
            for row in grid:
                for west, east in pairwise(row):
                    connect(m, west.drain, east.upstream)
            return [pe.drain for pe in last]
        self._sums(m, grid)
        sources = [(pe.east, pe.sum_o) for pe in last]
        if space == "both":
            sources = [self._down(m, sources)]
        ends = []
        for r, (steps, partial) in enumerate(sources):
            part = self._place(m, EDGE_ACCUMULATOR, f"accumulator_{r}")
            connect(m, steps, part.i)
            m.d.comb += [part.sum_i.eq(partial), self.completed.eq(part.completed)]
            ends.append(part.o)
        return ends

    def _sums(self, m: Module, grid: list[list[Any]]) -> None:
        for row in grid:
            for west, east in pairwise(row):
                m.d.comb += east.sum_i.eq(west.sum_o)

    def _down(self, m: Module, sources: list[Any]) -> tuple[Any, Value]:
        """Rows are combined down the east edge."""
        sums = [self._place(m, EDGE_SUM, f"sum_{r}") for r in range(len(sources))]
        for r, (part, (steps, partial)) in enumerate(zip(sums, sources, strict=True)):
            connect(m, steps, part.west)
            m.d.comb += [part.head.eq(r == 0), part.sum_w.eq(partial)]
        for part, after in pairwise(sums):
            connect(m, part.south, after.north)
            m.d.comb += after.sum_n.eq(part.sum_o)
        return sums[-1].south, sums[-1].sum_o

    def _exits(self, m: Module, ends: list[Any]) -> None:
        exits = [self._place(m, EXIT, f"exit_{k}") for k in range(len(ends))]
        for k, (end, part) in enumerate(zip(ends, exits, strict=True)):
            connect(m, end, part.own)
            m.d.comb += part.head.eq(k == 0)
        for part, after in pairwise(exits):
            connect(m, part.o, after.upstream)
        connect(m, exits[-1].o, flipped(self.results))
