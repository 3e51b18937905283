"""Addresses of memories that have no address generators, computed on processing elements (Liu 2023, section 6.1.2).

All delay lines share a *ramp*, which is the address of their writes and, with a constant added, of their reads. It is a
counter, if processing elements have that operation; else a loop of two elements that counts every 16 cycles, cleared by
the `started` bit of a memory, and four adders that turn its staircase into a number that grows by 1 in every cycle.
For other patterns, time modulo their period comes from counters of their own, or from the ramp. From there, digits of
the loop nest follow by shifts, masks and products with reciprocals, then addresses by products and sums.

Nothing is aligned with the data beforehand: after retiming, the constants of counters, or one constant that is added to
the ramp, shift every stream to where its port needs it. Only that addresses are there before the first word is a
constraint of the retiming.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise

from compiler.bind.buffers.circular import UNLIMITED
from compiler.bind.buffers.wide_fetch import AccessPatternError
from compiler.bind.cgra.address_patterns import AddressPattern
from compiler.bind.cgra.netlist import Edge, PeNode, Pin, SkewBound
from compiler.bind.cgra.timing import MEMORY_START
from compiler.ir.constant_division import reciprocal
from hw.memtile import MemTileSpec
from hw.ops import Kind
from hw.pe.config import COUNT, PeConfig

__all__ = ["AddressUnits"]

WORDS = 1 << 16
"""Numbers that a word of the array holds."""

_LOOP = 16
"""Cycles that the loop of the ramp takes; `MemTileSpec.START_CYCLES` must clear it."""

_READ_LATENCY = 2
"""Cycles from a read address at a memory to its word."""

_AND = 0b1000_0000
"""Truth table of a conjunction of three bits."""


@dataclass(frozen=True)
class _Value:
    """A stream of numbers below `limit`, or of bits."""

    pin: Pin
    limit: int


@dataclass(frozen=True)
class _Phase:
    """A unit whose first constant depends on when it is: a counter modulo `modulus` that shows time `late` cycles
    late, or, with modulus 0, the addition to the ramp."""

    unit: str
    modulus: int
    late: int = 0


@dataclass
class _Port:
    """A port with computed addresses: `data` is its word, `access` the pin whose time is that of its accesses, which
    are `latency` cycles before the word's. `origin`: the port that the ramp itself addresses, for one that follows."""

    pattern: AddressPattern
    data: Pin
    access: Pin
    latency: int
    phases: list[_Phase] = field(default_factory=list)
    origin: _Port | None = None


@dataclass
class AddressUnits:
    """Processing elements that compute addresses; `counter`: they have the operation `COUNT`. `cycles`: length of the
    run, about. `nodes` by name; new edges and separations go to the lists that are given."""

    counter: bool
    cycles: int
    edges: list[Edge]
    separations: list[SkewBound]
    nodes: dict[str, PeNode] = field(default_factory=dict)
    _ports: list[_Port] = field(default_factory=list)
    _ramp: Pin | None = None
    _started: Pin | None = None

    # Ports of memories.

    def write(self, tile: str, pattern: AddressPattern, follow: bool) -> int:
        """Addresses and enable of the input of a memory tile; a number by which reads may `follow` them.

        With `follow` on, a ramp may be taken as it is: all reads have to be `ascending`. Raises `AccessPatternError` if
        words are too narrow.
        """
        port = _Port(pattern, Pin(tile, "in0"), Pin(tile, "write_address"), 0)
        plain = follow and pattern.ascending
        if plain:
            self._connect(_Value(self._the_ramp(tile), WORDS), port.access)
            self._ready(port)
        else:
            builder = _Builder(self, port, f"{tile}.write")
            address, enable = builder.address(), builder.enable()
            self._drive(port, address, enable)
        self._ports.append(port)
        return len(self._ports) - 1 if plain else -1

    def read(self, tile: str, pattern: AddressPattern, origin: int = -1) -> None:
        """Addresses of the output of a memory tile; `origin` is what `write` has returned for its input, or -1."""
        port = _Port(pattern, Pin(tile, "out0"), Pin(tile, "read_address"), _READ_LATENCY)
        port.origin = None if origin < 0 else self._ports[origin]
        self._drive(port, _Builder(self, port, f"{tile}.read").address(), None)
        self._ports.append(port)

    def _drive(self, port: _Port, address: _Value | None, enable: _Value | None) -> None:
        pins = [(value, pin) for value, pin in ((address, port.access), (enable, Pin(port.data.node, "write_enable")))
                if value is not None]
        for value, pin in pins:
            self._connect(value, pin)
        if not pins:
            return
        port.access = pins[0][1]
        for _, pin in pins[1:]:
            self.separations.append(SkewBound(pin, port.access, 0, 0))
        self._ready(port)

    def _ready(self, port: _Port) -> None:
        """The first address of use comes after all registers on its way hold what was counted since the flush."""
        margin = -MEMORY_START if self.counter else MemTileSpec.START_CYCLES - MEMORY_START
        self.separations.append(SkewBound(port.data, port.access, margin + port.latency - port.pattern.start,
                                           UNLIMITED))

    def _connect(self, value: _Value, pin: Pin, distance: int = 0) -> None:
        network = "bit" if value.pin.port in ("bit0", "started") else "word"
        self.edges.append(Edge(value.pin, pin, network, distance))

    # Units.

    def unit(self, name: str, op: str, *operands: _Value | int, limit: int = WORDS) -> _Value:
        """A new element that does `op`; constants are given as numbers."""
        words: list[int | None] = [None, None, None]
        bits: list[int | None] = [None, None, None]
        config = PeConfig(op, table=_AND if op == "lut3" else 0)
        counts = {Kind.WORD: 0, Kind.BIT: 0}
        for kind, operand in zip(config.operation.operands, operands, strict=True):
            index = counts[kind]
            counts[kind] += 1
            if isinstance(operand, int):
                (words if kind is Kind.WORD else bits)[index] = operand % WORDS
            else:
                self._connect(operand, Pin(name, f"{kind.value}{index}"))
        config = replace(config, constants=(words[0], words[1], words[2]), bit_constants=(bits[0], bits[1], bits[2]))
        self.nodes[name] = PeNode(name, config)
        return _Value(Pin(name, config.output), limit)

    def count(self, name: str, modulus: int, port: _Port, pulse: bool = False) -> _Value:
        """A counter of `modulus` cycles from the first event of a port on, or with `pulse` a bit in each first one."""
        self.nodes[name] = PeNode(name, PeConfig(COUNT.name, constants=(0, 1, modulus - 1)))
        port.phases.append(_Phase(name, modulus, int(pulse)))
        return _Value(Pin(name, "bit0" if pulse else "word0"), modulus)

    def ramp(self, name: str, port: _Port) -> _Value:
        """The ramp, shifted to the first event of a port."""
        shifted = self.unit(name, "add", _Value(self._the_ramp(port.data.node), WORDS), 0)
        port.phases.append(_Phase(name, 0))
        return shifted

    def _the_ramp(self, tile: str) -> Pin:
        """A number that grows by 1 in every cycle: a counter, or, from 1 in the first cycle in which the `started` bit
        of the memory tile is 1, the ramp."""
        if self._ramp is None and self.counter:
            self.nodes["ramp"] = PeNode("ramp", PeConfig(COUNT.name, constants=(0, 1, WORDS - 1)))
            self._ramp = Pin("ramp", "word0")
        elif self._ramp is None:
            self._started = Pin(tile, "started")
            loop, step = Pin("ramp.clear", "word0"), Pin("ramp.step", "word0")
            self.unit(loop.node, "select", _Value(self._started, 2), _Value(step, WORDS), 0)
            self.nodes[step.node] = PeNode(step.node, PeConfig("add", constants=(None, 1, None)))
            self.edges.append(Edge(loop, Pin(step.node, "word0"), "word", _LOOP))
            self._ramp = loop
            for doubled in range((_LOOP - 1).bit_length()):
                name = f"ramp.sum{doubled}"
                self.nodes[name] = PeNode(name, PeConfig("add"))
                self.edges += [Edge(self._ramp, Pin(name, f"word{k}"), "word", k << doubled) for k in range(2)]
                self._ramp = Pin(name, "word0")
        return self._ramp

    # Once all times are known.

    def configurations(self, times: Mapping[Pin, int]) -> dict[str, PeConfig]:
        """The elements whose constants depend on times, with these constants."""
        return {phase.unit: self._configured(phase, self._delay(port, times), times)
                for port in self._ports for phase in port.phases}

    def _configured(self, phase: _Phase, delay: int, times: Mapping[Pin, int]) -> PeConfig:
        config = self.nodes[phase.unit].config
        if phase.modulus:
            at_start = -times[Pin(phase.unit, config.output)] - delay - phase.late
            return replace(config, constants=(at_start % phase.modulus, *config.constants[1:]))
        return replace(config, constants=(None, (self._ramp_delay(times) - delay) % WORDS, None))

    def _ramp_delay(self, times: Mapping[Pin, int]) -> int:
        """The ramp is 0 in this cycle of its own times."""
        if self._started is None:
            assert self._ramp is not None
            return -times[self._ramp]
        return MemTileSpec.START_CYCLES - times[self._started] - 1

    def _delay(self, port: _Port, times: Mapping[Pin, int]) -> int:
        """Cycle, in the times of its pins, of the event of a port that has address 0."""
        own = self._event(port, times)
        if port.origin is None:
            return own
        return own - self._event(port.origin, times) + self._ramp_delay(times)

    @staticmethod
    def _event(port: _Port, times: Mapping[Pin, int]) -> int:
        if port.access not in times:
            return 0
        return times[port.data] + port.pattern.start - port.latency - times[port.access]


class _Builder:
    """The units of one port. `u(k)` is the time since the last event of level k began, below level k + 1."""

    def __init__(self, units: AddressUnits, port: _Port, name: str) -> None:
        self.units, self.port, self.pattern, self.name = units, port, port.pattern, name
        self.rests: dict[int, _Value] = {}
        self.digits: dict[int, _Value] = {}
        self.used = 0

    def _fresh(self) -> str:
        self.used += 1
        return f"{self.name}{self.used - 1}"

    def _unit(self, op: str, *operands: _Value | int, limit: int = WORDS) -> _Value:
        return self.units.unit(self._fresh(), op, *operands, limit=limit)

    def address(self) -> _Value | None:
        """The sum of all digits times their strides; None if it is always 0."""
        total: _Value | None = None
        for number, level in enumerate(self.pattern.levels):
            stride = level.address % self.pattern.region
            if not stride:
                continue
            digit = self._digit(number)
            if stride == 1:
                total = digit if total is None else self._unit("add", total, digit)
            else:
                total = self._unit("mul", digit, stride) if total is None else self._unit("mad", digit, stride, total)
        if self.pattern.offset and total is None:
            raise AccessPatternError(f"{self.name}: an address that never changes has to be 0")
        if self.pattern.offset and total is not None:
            total = self._unit("add", total, self.pattern.offset)
        return total

    def enable(self) -> _Value | None:
        """1 in the cycles of events; None if these are all cycles."""
        if self.pattern.dense:
            return None
        bits: list[_Value | int] = []
        for number, level in enumerate(self.pattern.levels):
            span = level.time * (level.trips or 0)
            if level.trips is not None and span < self.pattern.levels[number + 1].time:
                bits.append(self._unit("lt", self._rest(number + 1), span))
        if self.pattern.levels[0].time > 1:
            bits.append(self._first())
        while len(bits) > 1:
            three = [*bits[:3], *[1] * (3 - len(bits))]
            bits = [self._unit("lut3", *three), *bits[3:]]
        (bit,) = bits
        assert isinstance(bit, _Value)
        return bit

    def _first(self) -> _Value:
        """Whether an event of the innermost level begins."""
        time = self.pattern.levels[0].time
        if self.units.counter and self._divides(0):
            return self.units.count(self._fresh(), time, self.port, pulse=True)
        return self._unit("eq", self._rest(0), 0)

    def _divides(self, number: int) -> bool:
        """Whether a level's time divides those of all outer levels and the pattern's modulus."""
        times = [*(level.time for level in self.pattern.levels[number:]), self.pattern.modulus]
        return all(after % before == 0 for before, after in pairwise(times))

    def _rest(self, number: int) -> _Value:
        """Time since the last event of level `number`; the one after the last is the whole pattern."""
        if number not in self.rests:
            self.rests[number] = self._new_rest(number)
        return self.rests[number]

    def _new_rest(self, number: int) -> _Value:
        if number == len(self.pattern.levels):
            return self._time()
        time = self.pattern.levels[number].time
        if self.units.counter and self._divides(number):
            return self.units.count(self._fresh(), time, self.port)
        whole = self._rest(number + 1)
        if time & (time - 1) == 0:
            return self._unit("and", whole, time - 1, limit=time)
        return self._unit("mad", self._digit(number), -time, whole, limit=time)

    def _time(self) -> _Value:
        """Time since the first event, modulo the pattern's modulus or the numbers of a word."""
        modulus = self.pattern.modulus
        if self.units.counter and self.port.origin is None:
            if self.units.cycles <= WORDS:
                modulus = min(modulus, WORDS)  # the run is over before it repeats
            if modulus > WORDS:
                raise AccessPatternError(f"addresses repeat after {modulus} cycles, a word counts {WORDS}")
            return self.units.count(self._fresh(), modulus, self.port)
        if self.port.origin is None and WORDS % modulus and self.units.cycles > WORDS:
            raise AccessPatternError(f"addresses repeat after {modulus} cycles, which does not divide "
                                     f"{WORDS}, in a run of {self.units.cycles}")
        return self.units.ramp(self._fresh(), self.port)

    def _digit(self, number: int) -> _Value:
        """How many events of level `number` there have been since the last one of the level outside it."""
        if number not in self.digits:
            time, whole = self.pattern.levels[number].time, self._rest(number + 1)
            self.digits[number] = whole if time == 1 else self._quotient(whole, time)
        return self.digits[number]

    def _quotient(self, whole: _Value, divisor: int) -> _Value:
        """`whole` divided by a constant: a shift, or the upper half of a product with its reciprocal, shifted."""
        limit = -(-whole.limit // divisor)
        if divisor & (divisor - 1) == 0:
            return self._unit("shr", whole, divisor.bit_length() - 1, limit=limit)
        found = reciprocal(divisor, 16, whole.limit - 1)
        if found is None:
            raise AccessPatternError(f"its addresses need a quotient by {divisor} that is exact up to {whole.limit}, "
                                     "of which 16 bits have no reciprocal")
        factor, shift = found
        high = self._unit("mul_high", whole, factor)
        return _Value(high.pin, limit) if shift == 0 else self._unit("shr", high, shift, limit=limit)
