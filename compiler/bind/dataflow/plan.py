"""The compiler's choices: a schedule that keeps the operators busy, and everything that follows from it."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise, product
from typing import NamedTuple

from compiler.analysis.instance_budget import require_shallow
from compiler.attempts import attempt
from compiler.bind.dataflow.build_kernel import build_kernel
from compiler.bind.dataflow.chaining import chain_recurrences
from compiler.bind.dataflow.drain_lanes import with_drain_lanes
from compiler.bind.dataflow.early_exit import EarlyExit, find_exit
from compiler.bind.dataflow.errors import DataflowError
from compiler.bind.dataflow.expressions import Pipeline, pipeline
from compiler.bind.dataflow.idle_search import MOST_TICKS, choose_idle, recurrent_edges
from compiler.bind.dataflow.iteration_counters import Idle, TickClock, idling_clock, tick_clock
from compiler.bind.dataflow.options import Options
from compiler.bind.dataflow.schedule_transforms import (
    in_memory_order,
    interleaved,
    parallel_dimensions,
    slowed,
    with_lanes,
)
from compiler.bind.dataflow.timing import Carried, carry, later_ticks, node_delays, settle, short_recurrence, slowdown
from compiler.bind.dataflow.validate import validate_kernel
from compiler.ir.expr import memories_used
from compiler.ir.program import Program, Statement
from compiler.passes.normalize.passes import COALESCED, CoalesceTileLoops, FoldConstantFills, RemoveDeadStatements
from compiler.passes.pipeline import PassPipeline
from compiler.passes.program_pass import ProgramPass
from compiler.passes.recurrence.passes import Reassociate, ShortenRecurrences
from compiler.passes.recurrence.reassociate import OperandDepth
from compiler.passes.state import State
from compiler.sched.process_network import NetworkError, ProcessNetwork, networks
from hw.dataflow.spec import KernelSpec

__all__ = ["Plan", "make_plan"]

_TRIALS = 8
"""Interleavings that are looked at."""

_BUSY = 1.1
"""Ticks over those of the busiest node above which other orders are looked for."""

_MOST_LISTED = 1 << 18
"""Words of an edge that are looked at one by one for an interleaving that was not asked for."""

_NO_LIMIT = 1 << 62
"""More ticks than any schedule has."""

_SPARSE_IN_LOOPS = 4
"""Ticks from which on few words wait in queues, so that loops that they wait for may end early."""

_MOST_LOOPS = 10
"""Most loops around a statement: to find the next use of a value takes long in many."""

_PADS = (0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)
"""Idle ticks of which the last that are no too many are looked at, and all below."""


@dataclass(frozen=True)
class Plan:
    """`network` under its final schedule, its counters, and the kernel. `choices`: what was decided, in words. `early`:
    the loop that data can end early."""

    network: ProcessNetwork
    clock: TickClock
    carried: tuple[Carried, ...]
    pipelines: dict[str, Pipeline]
    kernel: KernelSpec
    choices: dict[str, str] = field(default_factory=dict)
    early: EarlyExit | None = None

    def __hash__(self) -> int:
        return hash(self.kernel)

    def total_ticks(self, sizes: tuple[int, ...]) -> int:
        """Ticks of a run with these run-time sizes."""
        return self.clock.ticks_by_size(len(sizes))[sizes] + self.kernel.depth

    def with_exit(self) -> Plan:
        """The same, whose loop that can end early does."""
        found = self._exit(self.kernel)
        kernel = self.kernel
        if isinstance(found, str) and found:
            kernel = self._in_queues()
            other = self._exit(kernel)
            found, kernel = (found, self.kernel) if isinstance(other, str) else (other, kernel)
        choices = self.choices | ({"early exit": str(found)} if found else {})
        if isinstance(found, str):
            return replace(self, choices=choices)
        return replace(self, kernel=replace(kernel, exit=found.exit), choices=choices, early=found)

    def _exit(self, kernel: KernelSpec) -> EarlyExit | str:
        return find_exit(kernel, lambda name: self.network.program.statement(name).label())

    def _in_queues(self) -> KernelSpec:
        """The kernel whose words wait in queues rather than for a number of ticks, where few do."""
        delays = {node.name: node.delay for node in self.kernel.nodes}
        kernel = build_kernel(self.kernel.name, self.network, self.clock, self.carried, delays, self.pipelines,
                              sparse=_SPARSE_IN_LOOPS)
        validate_kernel(kernel, self.network.program, self.network.times)
        return kernel


class _Fit(NamedTuple):
    """Channels and operators that fit at `slow` ticks per time."""

    carried: list[Carried]
    pipelines: dict[str, Pipeline]
    slow: int


@dataclass(frozen=True)
class _Rules:
    """What all candidates have in common. `chained`: operators of short recurrences are without registers."""

    options: Options
    chained: bool = False

    def pipelines(self, network: ProcessNetwork) -> dict[str, Pipeline]:
        """The operators of all nodes, with their registers."""
        names = _numbered(network.program)
        return {node.name: pipeline(network.statement(node), self.options, *names) for node in network.nodes}

    def fit(self, network: ProcessNetwork, carried: list[Carried]) -> _Fit:
        """The fit at the least ticks per time for which every recurrence has enough of them."""
        pipelines = self.pipelines(network)
        registered = _Fit(carried, pipelines, slowdown(network, carried, pipelines))
        faster = range(1, registered.slow if self.chained else 1)
        place = bisect_left(faster, True, key=lambda slow: self._chained(network, carried, pipelines, slow) is not None)
        found = self._chained(network, carried, pipelines, faster[place]) if place < len(faster) else None
        return found or registered

    def is_full_rate(self, network: ProcessNetwork, carried: list[Carried], pipelines: dict[str, Pipeline]) -> bool:
        """Whether every recurrence has enough of one tick per time."""
        if node_delays(network, carried, pipelines) is not None:
            return True
        return self.chained and self._chained(network, carried, pipelines, 1) is not None

    def _chained(self, network: ProcessNetwork, carried: list[Carried], pipelines: dict[str, Pipeline],
                 slow: int) -> _Fit | None:
        """The fit with chained operators; None if recurrences are too short even so."""
        found = chain_recurrences(carried, pipelines, self.options, slow)
        if found is None or node_delays(network, *found, slow) is None:
            return None
        return None if slow == 1 and settle(network, *found) is None else _Fit(*found, slow)


@dataclass(frozen=True)
class _Candidate:
    """A network, and how it fits. `idle`: what `clock` adds; `wanted`: what it shall, so that recurrences go at full
    rate."""

    network: ProcessNetwork
    clock: TickClock
    fit: _Fit
    idle: tuple[Idle, ...] = ()
    wanted: tuple[Idle, ...] = ()

    @property
    def slow(self) -> int:
        """Its recurrences' need in ticks per time: 1 if it runs at full rate."""
        return 1 if self.wanted else self.fit.slow

    @cached_property
    def ticks(self) -> int:
        """Ticks that it takes, however it is made to fit."""
        return self.clock.ticks * self.slow + self.clock.added(self.wanted, self.network.sizes)


def make_plan(program: Program, options: Options, sizes: int = 0) -> Plan:
    """Choose a schedule for `program`, whose first `sizes` iterators are run-time sizes, and build its kernel.

    Raises `DataflowError`, `NetworkError`, `DependenceError`, each naming the statement.
    """
    state = PassPipeline(tuple(_passes(program, options, sizes))).run(State(program))
    require_shallow(state.program, "dataflow", _MOST_LOOPS, DataflowError)
    candidate, choices = _best(state.program, options, sizes)
    if CoalesceTileLoops.name in state.notes:
        choices |= COALESCED
    if Reassociate.name in state.notes:
        choices["terms"] = f"in {state.notes[Reassociate.name]} by the time at which they are there"
    if candidate.idle:
        choices["idle ticks"] = "; ".join(map(str, candidate.idle))
    if candidate.slow > 1:
        factor, candidate = _at_rate(candidate, _Rules(options, chained="chained" in choices))
        choices["ticks per time"] = f"{factor}: the recurrence latency, in times of the schedule"
    return _finished(state.program.name, candidate, choices)


def _at_rate(candidate: _Candidate, rules: _Rules) -> tuple[int, _Candidate]:
    """Ticks per time, and `candidate` with as many in its schedule: what its recurrences need, or a little more where
    counters that are as dense as the times make some distance shorter. Those that it needs if nothing fits."""
    def measured(factor: int) -> tuple[int, _Candidate]:
        return factor, _measured(slowed(candidate.network), rules, factor)

    found = map(measured, range(candidate.slow, 2 * candidate.slow + 1))
    return next((entry for entry in found if _settled(entry[1]) is not None), None) or measured(candidate.slow)


def _settled(candidate: _Candidate) -> tuple[list[Carried], dict[str, int]] | None:
    return settle(candidate.network, candidate.fit.carried, candidate.fit.pipelines)


def _passes(program: Program, options: Options, sizes: int) -> Iterator[ProgramPass]:
    """The passes; loops stay as they are where directives have made them, or where sizes are iterators."""
    if not sizes and not options.transform:
        yield CoalesceTileLoops()
    yield FoldConstantFills()
    yield RemoveDeadStatements()
    yield ShortenRecurrences()
    yield Reassociate(_operand_ticks(program, options))


def _operand_ticks(program: Program, options: Options) -> OperandDepth:
    """Ticks from an operand to the result."""
    names = _numbered(program)

    def ticks(statement: Statement, read: int) -> int:
        found = pipeline(statement, options, *names)
        return found.latency - found.offsets[read]

    return ticks


def _numbered(program: Program) -> tuple[list[str], list[str]]:
    """Names of tables and of memories, by number."""
    return [table.name for table in program.tables], [memory.name for memory in program.memories]


def _best(program: Program, options: Options, sizes: int) -> tuple[_Candidate, dict[str, str]]:
    """The candidate with the fewest ticks, and its choices. Orders by levels are looked at if no other keeps the
    busiest node busy."""
    best: list[tuple[_Candidate, dict[str, str]]] = []
    for levels in (False, True):
        for network in networks(program, lambda _: options.reorder == "host", sizes, levels=levels,
                                wanted=lambda times: not best or times < best[0][0].ticks):
            with attempt(f"schedule of {network.busiest} firings{' by levels' if levels else ''}") as tried:
                found = _faster(network, options, levels, best[0][0].ticks if best else _NO_LIMIT)
                tried.outcome = f"{found[0].ticks} ticks"
            if not best or found[0].ticks < best[0][0].ticks:
                best[:] = [found]
        if options.interleave is not None or best[0][0].ticks <= _BUSY * best[0][0].network.busiest:
            break
    return _drained(*best[0], options)


def _drained(candidate: _Candidate, choices: dict[str, str], options: Options) -> tuple[_Candidate, dict[str, str]]:
    """A candidate whose outputs leave memories several words at a time, if that is faster, and the choices."""
    if options.reorder == "chip" or candidate.network.sizes:
        return candidate, choices
    wide = with_drain_lanes(candidate.network, options.bus_bits)
    if wide is None:
        return candidate, choices
    with attempt("several words of outputs at a time") as tried:
        found = _faster(wide, options, "interleaved" in choices, candidate.ticks)
        tried.outcome = f"{found[0].ticks} ticks"
    if found[0].ticks >= candidate.ticks:
        return candidate, choices
    return found[0], choices | found[1] | {"drains": "several words at a time"}


def _faster(network: ProcessNetwork, options: Options, levels: bool, limit: int) -> tuple[_Candidate, dict[str, str]]:
    """`network` with registers behind all operators, or, where that does not keep the busiest node busy and this is
    faster, without those of short recurrences; and the choices. Idle ticks are looked for if there may be fewer ticks
    than `limit`."""
    choices: dict[str, str] = {}
    found = _fitted(network, _Rules(options), choices, levels, limit)
    if found.ticks > network.busiest:
        others: dict[str, str] = {}
        rules = _Rules(options, chained=True)
        chained = _fitted(network, rules, others, levels, min(limit, found.ticks))
        if chained.ticks < found.ticks:
            others["chained"] = f"operators of recurrences, at {options.clock_mhz} MHz"
            return _idling(chained, rules), others
    return _idling(found, _Rules(options)), choices


def _fitted(network: ProcessNetwork, rules: _Rules, choices: dict[str, str], levels: bool, limit: int) -> _Candidate:
    """`network` with lanes, memory order, turns (unless it has `levels`) and idle ticks, as far as they are wanted and
    help: idle ticks to get below `limit`."""
    if rules.options.lanes > 1:
        network = _replicated(network, rules.options.lanes, choices)
    candidate = _measured(_placed(network, rules.options), rules)
    if levels:
        choices["interleaved"] = "everything that does not wait for each other"
    elif candidate.slow > 1 and rules.options.interleave != 1:
        return _interleaved(network, candidate, rules, choices, limit)
    return _padded(candidate, rules, limit)


def _placed(network: ProcessNetwork, options: Options) -> ProcessNetwork:
    return in_memory_order(network) if options.reorder == "chip" else network


def _measured(network: ProcessNetwork, rules: _Rules, counted: int = 1) -> _Candidate:
    """The network with counters as dense as its times. `counted`: ticks per time that the schedule has room for."""
    return _clocked(network, rules, tick_clock(network.times.values(), counted))


def _padded(candidate: _Candidate, rules: _Rules, limit: int) -> _Candidate:
    """The fewest idle ticks with which recurrences go at full rate, if that is faster than slowing everything down and
    there are fewer ticks than `limit` then."""
    if candidate.slow == 1 or candidate.clock.ticks >= limit:
        return candidate
    limit = min(limit, candidate.ticks - candidate.slow + 1)  # nothing waits for what the last time takes
    chosen = choose_idle(candidate.network, candidate.clock, rules.pipelines(candidate.network),
                         limit - candidate.clock.ticks, rules.options if rules.chained else None)
    best = min([candidate, *(replace(candidate, wanted=idle) for idle in chosen)], key=lambda each: each.ticks)
    single = _single_idle(candidate, rules, min(limit, best.ticks))
    if single is None:
        return best
    if candidate.clock.ticks <= MOST_TICKS:
        return min(best, replace(candidate, wanted=(single,)), key=lambda each: each.ticks)
    return _clocked(candidate.network, rules, tick_clock(candidate.network.times.values(), idle=single), (single,))


def _idling(candidate: _Candidate, rules: _Rules) -> _Candidate:
    """`candidate` with the idle ticks that it shall have, which one more dimension of time counts."""
    if not candidate.wanted:
        return candidate
    network = slowed(candidate.network)
    clock = idling_clock(tuple(network.times.values()), candidate.wanted, network.sizes)
    return _clocked(network, rules, clock, candidate.wanted)


def _single_idle(candidate: _Candidate, rules: _Rules, limit: int) -> Idle | None:
    """The same after the runs of one time dimension, everywhere; None if that is no faster."""
    search = _IdleSearch(candidate, rules)
    best: Idle | None = None
    room = min(limit, candidate.ticks) - candidate.clock.ticks
    for level, least in product(range(candidate.network.sizes + 1, len(candidate.clock.counters)), (True, False)):
        idle = search.least(level, least, room)
        if idle is not None:
            best, room = idle, candidate.clock.idle_ticks(idle)
    return best


class _IdleSearch:
    """Idle ticks for the recurrences of a candidate, whose channels are all that counts: every other node can be put
    off."""

    def __init__(self, candidate: _Candidate, rules: _Rules):
        self.candidate, self.rules = candidate, rules
        self.pipelines = rules.pipelines(candidate.network)
        self.carried = carry(candidate.network, candidate.clock, recurrent_edges(candidate.network))
        self.own = [item for item in self.carried if item.edge.source == item.edge.sink]

    def least(self, level: int, least: bool, room: int) -> Idle | None:
        """The fewest idle ticks after runs of time dimension `level` with which recurrences go at full rate, None if
        they add as many as `room`, or more than slowing everything down."""
        clock = self.candidate.clock
        slower = self.candidate.ticks - clock.ticks

        def too_many(steps: tuple[int, int]) -> bool:
            return (clock.idle_ticks(Idle(level, steps[1], least)) >= slower
                    or clock.idle_ticks(Idle(level, steps[0] + 1, least)) >= room)

        steps = list(pairwise(_PADS))
        steps = steps[:bisect_left(steps, True, key=too_many)]
        # With more idle ticks no word is read earlier: where some are enough, more are.
        most = steps[-1][1] if steps else 0
        if not most or not self._enough(Idle(level, most, least)):
            return None
        found = Idle(level, bisect_left(range(1, most), True, key=lambda t: self._enough(Idle(level, t, least))) + 1,
                     least)
        return found if clock.idle_ticks(found) < room else None

    def _enough(self, idle: Idle) -> bool:
        network = self.candidate.network
        later = later_ticks(network, self.candidate.clock, (idle,), self.carried)
        # What one node hands on to itself is seldom enough, and soon known.
        if not self.rules.chained and node_delays(network, later(self.own), self.pipelines) is None:
            return False
        return self.rules.is_full_rate(network, later(self.carried), self.pipelines)


def _clocked(network: ProcessNetwork, rules: _Rules, clock: TickClock, idle: tuple[Idle, ...] = ()) -> _Candidate:
    return _Candidate(network, clock, rules.fit(network, carry(network, clock)), idle)


def _replicated(network: ProcessNetwork, lanes: int, choices: dict[str, str]) -> ProcessNetwork:
    """Lanes along the innermost dimension that allows it. Raises `DataflowError` if none does."""
    users = [s for s in network.program.statements if memories_used(s.value)]
    if users:
        raise DataflowError(f"{users[0].label()} accesses '{_memory_of(network.program, users[0])}' at places that "
                            "depend on data, which lanes side by side would reorder; compile it with lanes=1")
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


def _memory_of(program: Program, statement: Statement) -> str:
    return program.memory(min(memories_used(statement.value))).label


def _interleaved(network: ProcessNetwork, base: _Candidate, rules: _Rules, choices: dict[str, str],
                 limit: int) -> _Candidate:
    """The best of `base` and its interleavings: the fewest ticks, then the fewest words in channels; the first one in
    which some node fires in every tick ends the search."""
    busiest = base.network.busiest
    found: list[tuple[int, int, str, _Candidate]] = []
    for dimension, factor in _trials(network, base, rules.options):
        text = f"{factor} of time dimension {dimension}"
        with attempt(f"turns: {text}") as tried:
            try:
                listed = None if rules.options.interleave else _MOST_LISTED
                turns = _placed(interleaved(network, dimension, factor, listed), rules.options)
            except NetworkError as reason:
                tried.outcome = str(reason)
                continue
            clock = tick_clock(turns.times.values(), 1)
            if clock.ticks >= limit or any(clock.ticks > ticks for ticks, *_ in found):
                tried.outcome = f"{clock.ticks} ticks at least, no fewer than what is known"
                continue
            turned = _clocked(turns, rules, clock)
            tried.outcome = f"{turned.ticks} ticks"
        found.append(_rated(turned, text))
        if turned.ticks == busiest:
            break
    best = min(found, key=lambda entry: entry[:2], default=_rated(base, ""))
    if best[0] > busiest:
        turned = _padded(best[3], rules, limit)
        ends = [_rated(turned, best[2])]
        if best[3] is not base:
            ends.append(_rated(_padded(base, rules, min(limit, turned.ticks + 1)), ""))
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


def _too_short(candidate: _Candidate) -> str:
    """Which recurrence has too few ticks, and what would help."""
    pipelines = candidate.fit.pipelines
    names = short_recurrence(candidate.network, candidate.fit.carried, pipelines)
    statements = [s for s in candidate.network.program.statements if s.name in names]
    where = ", ".join(statement.label() for statement in statements) or "the program"
    longest = max(statements, key=lambda s: pipelines[s.name].latency, default=None)
    ticks = "" if longest is None else f" ({pipelines[longest.name].latency} ticks in '{longest.name}')"
    return (f"{where}: the recurrence latency{ticks} exceeds the distance of the loop-carried dependence, in every "
            "order and at every rate that was tried; compute what does not depend on the carried value in a statement "
            "of its own")


def _finished(name: str, candidate: _Candidate, choices: dict[str, str]) -> Plan:
    pipelines = candidate.fit.pipelines
    settled = _settled(candidate)
    if settled is None:
        raise DataflowError(_too_short(candidate))
    carried, delays = settled
    kernel = build_kernel(name, candidate.network, candidate.clock, carried, delays, pipelines)
    validate_kernel(kernel, candidate.network.program, candidate.network.times)
    return Plan(candidate.network, candidate.clock, tuple(carried), pipelines, kernel, choices)

