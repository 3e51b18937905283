"""The compiler's choices: a schedule that keeps the operators busy, and everything that follows from it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise, product

from compiler.attempts import note_attempt
from compiler.bind.dataflow.build_kernel import build_kernel
from compiler.bind.dataflow.errors import DataflowError
from compiler.bind.dataflow.expressions import Pipeline, pipeline
from compiler.bind.dataflow.options import Options
from compiler.bind.dataflow.reshape import in_memory_order, interleaved, parallel_dimensions, slowed, with_lanes
from compiler.bind.dataflow.ticks import Idle, TickClock, tick_clock
from compiler.bind.dataflow.timing import Carried, carry, node_delays, put_off, settle, short_recurrence, slowdown
from compiler.bind.dataflow.validate import validate_kernel
from compiler.ir.program import Program, Statement
from compiler.sched.late_operands import Way, with_late_operands
from compiler.sched.liveness import remove_dead_statements
from compiler.sched.process_network import NetworkError, ProcessNetwork, networks
from compiler.sched.reductions import with_short_recurrences
from hw.dataflow.spec import KernelSpec

__all__ = ["Plan", "make_plan"]

_TRIALS = 8
"""Interleavings that are looked at."""

_BUSY = 1.1
"""Ticks over those of the busiest node above which other orders are looked for."""

_PADS = (0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)
"""Idle ticks that are looked at, and those between the first that is enough and the one before."""


@dataclass(frozen=True)
class Plan:
    """`network` under its final schedule, its counters, and the kernel. `choices`: what was decided, in words."""

    network: ProcessNetwork
    clock: TickClock
    carried: tuple[Carried, ...]
    pipelines: dict[str, Pipeline]
    kernel: KernelSpec
    choices: dict[str, str] = field(default_factory=dict)

    def __hash__(self) -> int:
        return hash(self.kernel)

    def total_ticks(self, sizes: tuple[int, ...]) -> int:
        """Ticks of a run with these run-time sizes."""
        return self.clock.ticks_by_size(len(sizes))[sizes] + self.kernel.depth


@dataclass(frozen=True)
class _Candidate:
    """A network, and its recurrences' need in ticks per time: 1 if it runs at full rate. `idle`: what `clock` adds."""

    network: ProcessNetwork
    clock: TickClock
    carried: list[Carried]
    slow: int
    idle: Idle | None = None

    @property
    def ticks(self) -> int:
        """Ticks that it takes, however it is made to fit."""
        return self.clock.ticks * self.slow


def make_plan(program: Program, options: Options, sizes: int = 0) -> Plan:
    """Choose a schedule for `program`, whose first `sizes` iterators are run-time sizes, and build its kernel.

    Raises `DataflowError`, `NetworkError`, `DependenceError`, each naming the statement.
    """
    program = with_short_recurrences(remove_dead_statements(program))
    program, moved = with_late_operands(program, _way(program, options))
    candidate, choices = _best(program, options, sizes)
    if moved:
        choices["terms"] = f"in {', '.join(moved)} by the time at which they are there"
    if candidate.idle:
        choices["idle ticks"] = str(candidate.idle)
    if candidate.slow > 1:
        choices["ticks per time"] = f"{candidate.slow}: the recurrence latency, in times of the schedule"
        candidate = _measured(slowed(candidate.network, candidate.slow), options, candidate.slow)
    return _finished(program.name, candidate, options, choices)


def _way(program: Program, options: Options) -> Way:
    """Ticks from an operand to the result."""
    tables = [table.name for table in program.tables]

    def ticks(statement: Statement, read: int) -> int:
        found = pipeline(statement, options, tables)
        return found.latency - found.offsets[read]

    return ticks


def _best(program: Program, options: Options, sizes: int) -> tuple[_Candidate, dict[str, str]]:
    """The candidate with the fewest ticks, and its choices. Orders by levels are looked at if no other keeps the
    busiest node busy."""
    best: list[tuple[_Candidate, dict[str, str]]] = []
    for levels in (False, True):
        for network in networks(program, lambda _: options.reorder == "host", sizes, levels=levels,
                                wanted=lambda times: not best or times < best[0][0].ticks):
            note_attempt(f"schedule of {network.busiest} firings{' by levels' if levels else ''}")
            choices: dict[str, str] = {}
            found = _fitted(network, options, choices, levels), choices
            if not best or found[0].ticks < best[0][0].ticks:
                best[:] = [found]
        if options.interleave is not None or best[0][0].ticks <= _BUSY * best[0][0].network.busiest:
            break
    return best[0]


def _fitted(network: ProcessNetwork, options: Options, choices: dict[str, str], levels: bool) -> _Candidate:
    """`network` with lanes, memory order, turns (unless it has `levels`) and idle ticks, as far as they are wanted and
    help."""
    if options.lanes > 1:
        network = _replicated(network, options.lanes, choices)
    candidate = _measured(_placed(network, options), options)
    if levels:
        choices["interleaved"] = "everything that does not wait for each other"
    elif candidate.slow > 1 and options.interleave != 1:
        return _interleaved(network, candidate, options, choices)
    return _padded(candidate, options)


def _pipelines(network: ProcessNetwork, options: Options) -> dict[str, Pipeline]:
    tables = [table.name for table in network.program.tables]
    return {node.name: pipeline(network.statement(node), options, tables) for node in network.nodes}


def _placed(network: ProcessNetwork, options: Options) -> ProcessNetwork:
    return in_memory_order(network) if options.reorder == "chip" else network


def _measured(network: ProcessNetwork, options: Options, counted: int = 1) -> _Candidate:
    """The network with counters as dense as its times. `counted`: ticks per time that the schedule has room for."""
    return _clocked(network, options, tick_clock(network.times.values(), counted))


def _padded(candidate: _Candidate, options: Options) -> _Candidate:
    """The fewest idle ticks with which recurrences go at full rate, if that is faster than slowing everything down."""
    best = candidate
    if best.slow == 1:
        return best
    pipelines = _pipelines(candidate.network, options)
    found: list[tuple[int, Idle]] = []
    for level, least in product(range(candidate.network.sizes + 1, len(candidate.clock.counters)), (True, False)):
        idle = _least_idle(candidate, pipelines, level, least)
        if idle is not None:
            found.append((candidate.clock.put_off(idle)[1], idle))
    for added, idle in sorted(found, key=lambda entry: entry[0]):
        if candidate.clock.ticks + added >= best.ticks:
            break
        padded = _clocked(candidate.network, options, tick_clock(candidate.network.times.values(), idle=idle), idle)
        if padded.ticks < best.ticks:
            best = padded
    return best


def _least_idle(candidate: _Candidate, pipelines: dict[str, Pipeline], level: int, least: bool) -> Idle | None:
    """The fewest idle ticks after runs of time dimension `level` with which recurrences go at full rate, None if none
    are faster than slowing everything down."""

    def enough(ticks: int) -> bool:
        later, _ = candidate.clock.put_off(Idle(level, ticks, least))
        return node_delays(candidate.network, put_off(candidate.carried, later), pipelines) is not None

    for before, ticks in pairwise(_PADS):
        if candidate.clock.ticks + candidate.clock.put_off(Idle(level, ticks, least))[1] >= candidate.ticks:
            return None
        if enough(ticks):
            return Idle(level, next(t for t in range(before + 1, ticks + 1) if t == ticks or enough(t)), least)
    return None


def _clocked(network: ProcessNetwork, options: Options, clock: TickClock, idle: Idle | None = None) -> _Candidate:
    carried = carry(network, clock)
    return _Candidate(network, clock, carried, slowdown(network, carried, _pipelines(network, options)), idle)


def _replicated(network: ProcessNetwork, lanes: int, choices: dict[str, str]) -> ProcessNetwork:
    """Lanes along the innermost dimension that allows it. Raises `DataflowError` if none does."""
    for dimension in parallel_dimensions(network):
        try:
            wide = with_lanes(network, dimension, lanes)
        except NetworkError:
            continue
        if len(wide.nodes) > len(network.nodes):
            choices["lanes"] = f"{lanes} along time dimension {dimension}"
            return wide
    raise DataflowError(f"program '{network.program.name}' has no loop whose iterations could run in {lanes} lanes: "
                        "every loop carries a value from one iteration to the next")


def _interleaved(network: ProcessNetwork, base: _Candidate, options: Options, choices: dict[str, str]) -> _Candidate:
    """The best of `base` and its interleavings: the fewest ticks, then the fewest words in channels; the first one in
    which some node fires in every tick ends the search."""
    busiest = base.network.busiest
    found: list[tuple[int, int, str, _Candidate]] = []
    for dimension, factor in _trials(network, base, options):
        try:
            turned = _measured(_placed(interleaved(network, dimension, factor), options), options)
        except NetworkError:
            continue
        found.append(_rated(turned, f"{factor} of time dimension {dimension}"))
        if turned.ticks == busiest:
            break
    best = min(found, key=lambda entry: entry[:2], default=_rated(base, ""))
    if best[0] > busiest:
        ends = _rated(_padded(best[3], options), best[2]), _rated(_padded(base, options), "")
        best = min(ends, key=lambda entry: entry[:2])
    if best[2]:
        choices["interleaved"] = best[2]
    return best[3]


def _rated(candidate: _Candidate, text: str) -> tuple[int, int, str, _Candidate]:
    return candidate.ticks, _words(candidate), text, candidate


def _words(candidate: _Candidate) -> int:
    return sum(edge.size for edge in candidate.network.edges)


def _trials(network: ProcessNetwork, base: _Candidate, options: Options) -> Iterator[tuple[int, int]]:
    """(dimension, factor): factors that divide the extent and are long enough, the extent itself, the least factor."""
    dimensions = parallel_dimensions(network)
    count = 0
    for dimension in dimensions:
        bounds = [(t.range().dim_min_val(dimension).to_python(), t.range().dim_max_val(dimension).to_python())
                  for t in network.times.values()]
        extent = max(high for _, high in bounds) - min(low for low, _ in bounds) + 1
        wanted = [options.interleave] if options.interleave else _factors(base.slow, extent)
        for factor in wanted:
            if factor > 1 and count < _TRIALS:
                count += 1
                yield dimension, factor


def _factors(need: int, extent: int) -> list[int]:
    exact = next((f for f in range(need, extent + 1) if extent % f == 0), extent)
    return list(dict.fromkeys((exact, extent, min(need, extent))))


def _too_short(candidate: _Candidate, pipelines: dict[str, Pipeline]) -> str:
    """Which recurrence has too few ticks, and what would help."""
    names = short_recurrence(candidate.network, candidate.carried, pipelines)
    statements = [s for s in candidate.network.program.statements if s.name in names]
    where = ", ".join(statement.label() for statement in statements) or "the program"
    longest = max(statements, key=lambda s: pipelines[s.name].latency, default=None)
    ticks = "" if longest is None else f" ({pipelines[longest.name].latency} ticks in '{longest.name}')"
    return (f"{where}: the recurrence latency{ticks} exceeds the distance of the loop-carried dependence, in every "
            "order and at every rate that was tried; compute what does not depend on the carried value in a statement "
            "of its own")


def _finished(name: str, candidate: _Candidate, options: Options, choices: dict[str, str]) -> Plan:
    pipelines = _pipelines(candidate.network, options)
    settled = settle(candidate.network, candidate.carried, pipelines)
    if settled is None:
        raise DataflowError(_too_short(candidate, pipelines))
    carried, delays = settled
    kernel = build_kernel(name, candidate.network, candidate.clock, carried, delays, pipelines)
    validate_kernel(kernel, candidate.network.program, candidate.network.times)
    return Plan(candidate.network, candidate.clock, tuple(carried), pipelines, kernel, choices)

