"""A cycle-by-cycle emulation of a configured array with symbolic words, and the same netlist without time.

Written from the timing rules of the hardware (one register per switch-box output, one per input stage plus its delay,
one behind each core), not from the constraints that the retiming solves.
"""

from __future__ import annotations

from collections import deque
from functools import cache

from compiler.bind.cgra.netlist import MemNode, PeNode, Pin, StreamIn, StreamOut
from compiler.bind.cgra.place_and_route import Physical
from hw.fabric.routing import CoreSource, Network, Side, Source, Wire
from hw.fabric.spec import FabricSpec

_STEP = {Side.N: (-1, 0), Side.E: (0, 1), Side.S: (1, 0), Side.W: (0, -1)}
_HOLD = 64
"""Logical cycles that a memory holds a word here; any number that is later than it is written will do."""

Word = int | None


class ArrayEmulator:
    """State of the array; `step` is one unstalled cycle."""

    def __init__(self, physical: Physical, spec: FabricSpec):
        self.physical, self.spec = physical, spec
        self.units = {physical.placement[name]: node for name, node in physical.netlist.nodes.items()}
        self.cycle = 0
        self.wires: dict[Wire, Word] = dict.fromkeys(physical.routes.switches)
        self.cores: dict[Pin, Word] = {}
        self.stages: dict[Pin, deque[Word]] = {}
        for edge in physical.netlist.edges:
            delay = physical.retiming.delays.get(edge.sink, 0)
            self.stages[edge.sink] = deque([None] * (1 + delay), maxlen=1 + delay)
        self.networks = {edge.sink: Network(edge.network) for edge in physical.netlist.edges}
        self.stored: dict[tuple[str, int], Word] = {}
        self.collected: dict[tuple[str, int], Word] = {}

    def step(self) -> None:
        """Advance by a cycle."""
        at_core = {pin: stage[0] for pin, stage in self.stages.items()}
        times = self.physical.retiming.times
        for (name, port), word in ((_split(pin), word) for pin, word in at_core.items()):
            node = self.physical.netlist.nodes[name]
            if isinstance(node, MemNode):
                self.stored[name, self.cycle - times[Pin(name, port)]] = word
            elif isinstance(node, StreamOut):
                self.collected[name, self.cycle - times[Pin(name, port)]] = word
        wires = {wire: self._selected(wire.row, wire.column, wire.network, source)
                 for wire, source in self.physical.routes.switches.items()}
        for pin, stage in self.stages.items():
            row, column = self.physical.placement[pin.node]
            stage.append(self._selected(row, column, self.networks[pin], self.physical.routes.connections[pin]))
        self.wires = wires
        self.cycle += 1
        self._compute(at_core)

    def _selected(self, row: int, column: int, network: Network, source: Source) -> Word:
        """The word at one input of a multiplexer of the tile at (row, column), or of the IO above row 0."""
        if isinstance(source, CoreSource):
            return self.cores.get(Pin(self.units[row, column].name, source.port))
        down, right = _STEP[source.side]
        if row == 0 and source.side is Side.N:
            stream = self.units[-1, column]
            assert isinstance(stream, StreamIn) and network is Network.WORD
            return hash((stream.name, self.cycle - self.physical.retiming.times[Pin(stream.name, "out")]))
        return self.wires[Wire(row + down, column + right, network, source.side.opposite, source.track)]

    def _compute(self, at_core: dict[Pin, Word]) -> None:
        """Result registers after the clock edge: `self.cycle` is already the new cycle."""
        times = self.physical.retiming.times
        for name, node in self.physical.netlist.nodes.items():
            if isinstance(node, PeNode):
                operands = [at_core.get(Pin(name, port)) for port in node.config.inputs]
                self.cores[Pin(name, node.config.output)] = _result(node, operands)
            elif isinstance(node, MemNode):
                for pin in (pin for pin in times if pin.node == name and pin.port.startswith("out")):
                    self.cores[pin] = self._read(pin, self.cycle - times[pin])

    def _read(self, pin: Pin, logical: int) -> Word:
        """What a memory shows on an output at a logical time; a word must have been written by then."""
        word = self.stored.get((pin.node, logical - _HOLD))
        return None if word is None else hash((pin, word))


def _split(pin: Pin) -> tuple[str, str]:
    return pin.node, pin.port


def _result(node: PeNode, operands: list[Word]) -> Word:
    """A word that says which operation was done on which words; a PE that only passes changes nothing."""
    if None in operands:
        return None
    if node.name.split("_delay")[0] != node.name:
        return operands[0]
    return hash((node.name, *operands))


def expected(physical: Physical, name: str, logical: int) -> int:
    """What the netlist without time says the output stream `name` gets at a logical cycle."""
    netlist = physical.netlist
    into = {edge.sink: edge for edge in netlist.edges}

    @cache
    def value(pin: Pin, cycle: int) -> int:
        node = netlist.nodes[pin.node]
        if isinstance(node, StreamIn):
            return hash((node.name, cycle))
        if isinstance(node, MemNode):
            return hash((pin, at(Pin(node.name, "in0"), cycle - _HOLD)))
        assert isinstance(node, PeNode)
        result = _result(node, [at(Pin(node.name, port), cycle) for port in node.config.inputs])
        assert result is not None
        return result

    def at(pin: Pin, cycle: int) -> int:
        edge = into[pin]
        return value(edge.source, cycle - edge.distance)

    return at(Pin(name, "in"), logical)
