"""What the compiler claims about a mapping: where statements' results and reads are, and when. Claims are proven.

Only data is taken from the schedule, the application and the placement; a wrong claim can only make a proof fail.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import islpy as isl

from compiler.bind.cgra.local_feedback import result_pin
from compiler.bind.cgra.mapping import Application
from compiler.bind.cgra.netlist import Pin, StreamIn, StreamOut
from compiler.bind.cgra.operands import Signal
from compiler.bind.cgra.place_and_route import Physical
from compiler.bind.cgra.validate.fabric import PE_LATENCY, Origin
from compiler.ir.program import Program, Statement
from compiler.sched.verify import ValidationError
from hw.fabric.routing import CoreOutput, StreamSource
from hw.fabric.spec import FabricSpec

__all__ = ["Claims"]


@dataclass(frozen=True)
class Claims:
    """Claims about `program` mapped as `application` and placed as `physical` on an array of `spec`. Tiles begin
    `period` cycles apart."""

    program: Program
    application: Application
    physical: Physical
    spec: FabricSpec
    period: int

    def origin(self, pin: Pin) -> Origin:
        """Where an output pin of the netlist is on the array."""
        site = self.physical.placement[pin.node]
        if isinstance(self.physical.netlist.nodes[pin.node], StreamIn):
            return StreamSource(site.column)
        return CoreOutput(site.row, site.column, pin.port)

    def result(self, statement: str) -> Origin:
        """The output that carries the values of a statement."""
        if statement not in self.application.results:
            raise ValidationError(f"statement '{statement}' is needed, but nothing computes it")
        return self.origin(self.application.results[statement].pin)

    def read(self, statement: str, index: int) -> Origin | None:
        """The output, or the operand of an element that takes its own result, that carries what a read sees; None if
        the read is not served."""
        signal = self.application.reads.get((statement, index))
        return None if signal is None else self.origin(signal.pin)

    @cached_property
    def held(self) -> dict[CoreOutput, str]:
        """The memory whose words a tile looks up, by its output."""
        sites = {name: self.physical.placement[name] for name in self.application.filled}
        return {CoreOutput(sites[name].row, sites[name].column, "out0"): memory
                for name, memory in self.application.filled.items()}

    def lag(self, statement: str, index: int) -> int:
        """Cycles from the word of a read to the result that is computed from it."""
        return self._shift(self.application.results[statement]) - self._shift(self.application.reads[statement, index])

    def _shift(self, signal: Signal) -> int:
        times, result = self.physical.retiming.times, result_pin(signal.pin)
        time = times.get(signal.pin, 0) if result is None else times.get(result, 0) - PE_LATENCY
        return time - signal.distance

    def visible(self, statement: Statement) -> isl.Map:
        """{instance -> [cycle]} in which its value is visible at `result`."""
        entry = self.application.schedule.statements[statement.name]
        constant = entry.offset + self._shift(self.application.results[statement.name])
        terms = [f"{stride}*({name} - {entry.low[name]})" for name, stride in entry.strides.items()]
        terms += self._tile_terms(statement)
        cycle = " + ".join([*terms, str(constant)])
        point = f"{statement.name}[{', '.join(statement.iterators)}]"
        return isl.Map(f"{{ {point} -> [{cycle}] }}").intersect_domain(statement.domain)

    def _tile_terms(self, statement: Statement) -> list[str]:
        """Cycles from the first tile to an instance's tile; the last tile loop is the fastest."""
        staged = self.application.schedule.staged
        lows = self._tile_lows(statement)
        terms, step = [], self.period
        for depth in reversed(range(staged.tile_depth)):
            terms.append(f"{step}*({statement.iterators[depth]} - {lows[depth]})")
            step *= staged.tile_counts[depth]
        return terms

    def _tile_lows(self, statement: Statement) -> list[int]:
        depth = self.application.schedule.staged.tile_depth
        domain = statement.domain
        return [domain.dim_min_val(k).to_python() for k in range(depth)]

    def bank(self, array: str) -> int:
        """Number of the bank that serves an array. Raises `ValidationError` if there is none."""
        streams = self.application.streams_in | self.application.streams_out
        if array not in streams:
            raise ValidationError(f"array {array} is needed, but no bank serves it")
        return self.physical.placement[streams[array]].bank(self.spec)

    @cached_property
    def names(self) -> dict[tuple[int, int], str]:
        """Names of units by site; streams have row -1."""
        return {(site.row, site.column): name for name, site in self.physical.placement.sites.items()}

    def name(self, origin: Origin) -> str:
        """An output as the netlist calls it."""
        if isinstance(origin, StreamSource):
            return f"stream {self.names.get((-1, origin.column), str(origin.column))}"
        unit = self.names.get((origin.row, origin.column), f"the unused tile ({origin.row}, {origin.column})")
        return f"{unit}.{origin.port}"

    def require_own_sites(self) -> None:
        """Raise `ValidationError` if two units share a site."""
        taken: dict[tuple[int, int], str] = {}
        for name, site in self.physical.placement.sites.items():
            node = self.physical.netlist.nodes.get(name)
            kind = "bank" if isinstance(node, StreamIn | StreamOut) else "tile"
            if (site.row, site.column) in taken:
                raise ValidationError(f"{name} and {taken[site.row, site.column]} share {kind} {site}")
            taken[site.row, site.column] = name
