"""The decoded configuration as a circuit: from the input of a unit back to the output that drives it.

Follows what the multiplexers of the switch boxes, connection boxes and edge stages select, and counts registers.
Every multiplexer selects one source, so every input and wire has one driver.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from compiler.sched.verify import ValidationError
from hw.fabric.config import ArrayConfig, TileConfig
from hw.fabric.routing import (
    CoreOutput,
    Network,
    Side,
    StreamSource,
    TrackSource,
    Wire,
    core_inputs,
    core_outputs,
    neighbour,
)
from hw.fabric.spec import IO_OUTPUT_LATENCY, FabricSpec
from hw.pe.config import PeConfig

__all__ = ["PE_LATENCY", "Arrival", "Fabric", "Origin", "operand"]

Origin = CoreOutput | StreamSource

PE_LATENCY = 1
"""Cycles from the operands of a processing element to its result, without arithmetic on floating-point numbers."""


def operand(unit: CoreOutput, number: int | None) -> CoreOutput:
    """Word operand `number` of a processing element, as a place where a word is visible: where its operation takes
    it, `PE_LATENCY` before the result."""
    return CoreOutput(unit.row, unit.column, f"operand{number}")


@dataclass(frozen=True)
class Arrival:
    """What an input takes: a word is there `lag` cycles after it is visible at `origin`."""

    origin: Origin
    lag: int


@dataclass(frozen=True)
class Fabric:
    """The configured array."""

    config: ArrayConfig
    spec: FabricSpec

    def tile(self, row: int, column: int) -> TileConfig:
        """Configuration of a tile, all off if it has none."""
        return self.config.tiles.get((row, column), TileConfig())

    def arrival(self, row: int, column: int, port: str) -> Arrival:
        """What core input `port` of a tile takes. Raises `ValidationError` if it is not driven by a unit."""
        tile = self.tile(row, column)
        what = f"input {port} of tile ({row}, {column})"
        if port not in tile.connections:
            raise ValidationError(f"{what} is not connected")
        bits = core_inputs(self.spec, self.spec.tile_kind(row, column), Network.BIT)
        network = Network.BIT if port in bits else Network.WORD
        origin, hops = self._walk(row, column, network, tile.connections[port], what)
        return Arrival(origin, hops + 1 + tile.delays.get(port, 0))

    def steps(self, config: PeConfig) -> int:
        """Cycles from the operands of an element to its result; those of its input stage are part of `arrival`."""
        return self.spec.pe.latency(config.op) - 1

    def fed_back(self, origin: Origin) -> PeConfig | None:
        """The configuration of the element if `origin` is its operand that can be its own result, as the operation
        takes it; None for any output."""
        if not isinstance(origin, CoreOutput):
            return None
        core = self.tile(origin.row, origin.column).core
        return core if isinstance(core, PeConfig) and origin == operand(origin, core.feedback) else None

    def passed(self, origin: Origin) -> Arrival | None:
        """What a unit that only passes its input on takes, a cycle before it shows it; None for any other unit."""
        return self._passed(origin, "word0", lambda core: core.op == "pass" and core.constants[0] is None)

    def passed_bit(self, origin: Origin) -> Arrival | None:
        """As `passed`, for a bit: a truth table of one bit alone that is that bit."""
        return self._passed(origin, "bit0", lambda core: (core.op == "lut3" and core.bit_constants == (None, 0, 0)
                                                          and core.table & 0b11 == 0b10))

    def _passed(self, origin: Origin, port: str, passes: Callable[[PeConfig], bool]) -> Arrival | None:
        if not isinstance(origin, CoreOutput):
            return None
        core = self.tile(origin.row, origin.column).core
        if not isinstance(core, PeConfig) or origin.port != core.output or core.feedback is not None:
            return None
        if not passes(core):
            return None
        arrival = self.arrival(origin.row, origin.column, port)
        return Arrival(arrival.origin, arrival.lag + PE_LATENCY)

    def capture(self, column: int) -> Arrival:
        """What the bank of a column takes."""
        what = f"the bank of column {column}"
        if column not in self.config.ios:
            raise ValidationError(f"{what} captures words, but its edge stage is off")
        wire = Wire(0, column, Network.WORD, Side.N, self.config.ios[column].track)
        origin, hops = self._follow(wire, what)
        return Arrival(origin, hops + IO_OUTPUT_LATENCY)

    def _walk(self, row: int, column: int, network: Network, selected: TrackSource, what: str) -> tuple[Origin, int]:
        """The driver of an incoming track of a tile, and the registers on the way."""
        place = neighbour(self.spec, row, column, selected.side)
        if place is not None:
            return self._follow(Wire(*place, network, selected.side.opposite, selected.track), what)
        if row == 0 and selected.side is Side.N and network is Network.WORD:
            return StreamSource(column), 0
        raise ValidationError(f"{what} is fed from beyond the {selected.side.name} edge of the array")

    def _follow(self, wire: Wire, what: str) -> tuple[Origin, int]:
        seen: set[Wire] = set()
        while True:
            if wire in seen:
                raise ValidationError(f"{what} is fed by a loop of tracks through {wire}")
            seen.add(wire)
            tile = self.tile(wire.row, wire.column)
            selected = tile.switches.get((wire.network, wire.side, wire.track))
            if selected is None:
                raise ValidationError(f"{what} is fed by {wire}, which nothing drives")
            if not isinstance(selected, TrackSource):
                return self._core(wire, selected.port, what), len(seen)
            place = neighbour(self.spec, wire.row, wire.column, selected.side)
            if place is None:
                origin, _ = self._walk(wire.row, wire.column, wire.network, selected, what)
                return origin, len(seen)
            wire = Wire(*place, wire.network, selected.side.opposite, selected.track)

    def _core(self, wire: Wire, port: str, what: str) -> CoreOutput:
        kind = self.spec.tile_kind(wire.row, wire.column)
        if port not in core_outputs(self.spec, kind, wire.network):
            raise ValidationError(f"{what} is fed by {wire}, which takes {port}: there is no such output")
        return CoreOutput(wire.row, wire.column, port)
