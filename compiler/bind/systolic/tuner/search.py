"""Pruned exhaustive search over shapes and tilings, on this machine or spread by dask (Wang 2021, section 7)."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import log2

import numpy as np

from compiler.bind.systolic.errors import KernelError
from compiler.bind.systolic.kernel import Kernel, recognise
from compiler.bind.systolic.latency import DRAIN, FILL
from compiler.bind.systolic.plan import Choice, make_plan, reductions_innermost
from compiler.bind.systolic.sum_orders import time_orders, with_sums_in_order
from compiler.bind.systolic.timeline import start_to_done
from compiler.bind.systolic.tuner.budget import Budget, TunerError
from compiler.bind.systolic.tuner.candidate import Candidate, front, pareto
from compiler.bind.systolic.tuner.estimate import Tilings
from compiler.bind.systolic.tuner.record import Record
from compiler.bind.systolic.tuner.resources import evaluate_resources, kernel_multipliers, load_model
from compiler.bind.systolic.tuner.shapes import Shape, extent_choices, shapes
from compiler.ir.program import Program
from compiler.ir.text import parse_program, print_program
from compiler.sched.space_time import SpaceTimeError
from hw.main_memory import MainMemory
from hw.systolic.spec import BUSES

__all__ = ["Search", "SearchText", "follow_events", "search_shape", "search_text", "step_choices"]

_TILINGS = 3000
"""Of one shape, at most; with more, fewer numbers of steps are tried along each loop."""

_ALIKE = 3
"""Shapes with the same space and SIMD loops and about as many evaluations per cycle that are searched: the ones that
pad least, and of these the ones that are most nearly square."""

_BUCKETS = 4
"""Classes of shapes per factor of two in evaluations per cycle."""

_MOST_WORDS = 4096
"""Words of a feeder."""

_FOLLOWED = 40
"""Fastest designs by formulas whose events are followed in the end, beside the Pareto set."""

_LIMIT_WITHOUT_BUDGET = 256
"""Evaluations of the body per cycle, where nothing else limits them."""


@dataclass(frozen=True)
class Search:
    """A search for arrays of `program` within `budget`, on a memory port of `bus_bits`. `reassociate`: whether sums of
    floating-point numbers may be made in any order; `latency`: operations on such numbers with their cycles, others
    take `hw.dataflow.floating.FLOAT_LATENCY`."""

    program: Program
    budget: Budget
    bus_bits: int = 64
    macs: int | None = None
    reassociate: bool = False
    latency: tuple[tuple[str, int], ...] = ()

    def __post_init__(self) -> None:
        if self.bus_bits not in BUSES:
            raise TunerError(f"bus_bits is {self.bus_bits}, not one of {', '.join(map(str, BUSES))}")

    @property
    def key(self) -> str:
        """What tells this search from others, and from those with other models."""
        text = f"{print_program(self.program)}\n{self.budget}\n{self.bus_bits}\n{self.macs}\n" \
               f"{self.reassociate} {self.latency}\n{load_model()}\n{FILL} {DRAIN}"
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def _kernel(self) -> Kernel:
        try:
            return recognise(self.program, reassociate=self.reassociate)
        except (KernelError, SpaceTimeError) as problem:
            raise TunerError(f"the tuner searches arrays for reduction kernels, and program '{self.program.name}' is "
                             f"none: {problem}") from None

    def shapes(self, kernel: Kernel) -> list[Shape]:
        """Shapes within the budget, the most promising first."""
        found = list(shapes(kernel, self._most(kernel)))
        if self.macs is not None:
            found = [shape for shape in found if shape.macs == self.macs]
        found.sort(key=lambda shape: (shape.fewest_steps(kernel), max(shape.array) - min(shape.array)))
        taken: Counter[tuple[object, ...]] = Counter()
        kept = []
        for shape in found:
            alike = shape.space, shape.simd, shape.lanes, round(_BUCKETS * log2(shape.macs))
            taken[alike] += 1
            if taken[alike] <= _ALIKE:
                kept.append(shape)
        return kept

    def _most(self, kernel: Kernel) -> int:
        each = kernel_multipliers(kernel, dict(self.latency))
        limit = self.budget.multipliers // each if each and self.budget.multipliers is not None else None
        if limit == 0:
            raise TunerError(f"nothing fits: one processing element takes {each} multipliers, and the budget has "
                             f"{self.budget.multipliers}")
        most = _LIMIT_WITHOUT_BUDGET if limit is None else limit
        return most if self.macs is None else min(most, self.macs)

    def run(self, record: Record, spread: Callable[[Sequence[Shape]], Iterable[tuple[Shape, tuple[Candidate, ...]]]]
            | None = None, progress: Callable[[int, int], None] = lambda done, total: None) -> list[Candidate]:
        """The Pareto set: cycles against resources, fastest first. `spread` searches shapes in any order; `progress`
        hears of shapes done and in all. Raises `TunerError` if nothing fits."""
        kernel = self._kernel()
        pending = self.shapes(kernel)
        if not pending:
            raise TunerError(f"program '{self.program.name}' has no array with {self.macs} evaluations per cycle that "
                             "is not mostly padding; give another number")
        total, found = len(pending), [c for done in record.done.values() for c in done]
        pending = [shape for shape in pending if str(shape) not in record.done]
        done = total - len(pending)
        progress(done, total)
        for shape, candidates in spread(pending) if spread else self._one_by_one(kernel, pending):
            record.add(str(shape), candidates)
            found += candidates
            done += 1
            progress(done, total)
        if not found:
            raise TunerError(f"nothing fits the budget ({self.budget}); the smallest array that was tried needs "
                             f"{self._smallest(kernel)}")
        fastest = sorted(found, key=Candidate.costs)[:_FOLLOWED]
        near = dict.fromkeys([*pareto(found), *fastest])
        return pareto([follow_events(kernel, candidate, self.bus_bits) for candidate in near])

    def _one_by_one(self, kernel: Kernel, pending: Sequence[Shape]
                    ) -> Iterator[tuple[Shape, tuple[Candidate, ...]]]:
        for shape in pending:
            yield shape, search_shape(kernel, shape, self.budget, self.bus_bits, self.latency)

    def _smallest(self, kernel: Kernel) -> str:
        shape = min(self.shapes(kernel), key=lambda s: s.macs)
        candidate = min(search_shape(kernel, shape, Budget(), self.bus_bits, self.latency),
                        key=lambda c: (c.luts, c.block_ram))
        return str(Budget(candidate.multipliers, candidate.block_ram, candidate.luts))

    def text(self) -> SearchText:
        """What another machine needs."""
        return SearchText(print_program(self.program), self.budget, self.bus_bits, self.reassociate, self.latency)


@dataclass(frozen=True)
class SearchText:
    """A search as plain data, its program as text."""

    program: str
    budget: Budget
    bus_bits: int
    reassociate: bool
    latency: tuple[tuple[str, int], ...]


def search_text(text: SearchText, found: Sequence[Shape]) -> list[tuple[Shape, tuple[Candidate, ...]]]:
    """`search_shape` for several shapes, from plain data: the work that is sent to other machines."""
    kernel = recognise(parse_program(text.program), reassociate=text.reassociate)
    return [(shape, search_shape(kernel, shape, text.budget, text.bus_bits, text.latency)) for shape in found]


def search_shape(kernel: Kernel, shape: Shape, budget: Budget, bus_bits: int,
                 latency: Sequence[tuple[str, int]] = ()) -> tuple[Candidate, ...]:
    """The Pareto set of all tilings of a shape that fit."""
    times = with_sums_in_order(kernel, step_choices(kernel, shape))
    tilings = Tilings(kernel, shape, times, bus_bits, dict(latency))
    cycles = tilings.cycles
    used = evaluate_resources(tilings)
    fits = np.maximum.reduce([0 * cycles, *(o.words for o in tilings.geometry.operands)]) <= _MOST_WORDS
    for name in ("multipliers", "block_ram", "luts"):
        limit = getattr(budget, name)
        if limit is not None:
            fits &= getattr(used, name) <= limit
    columns = (cycles, used.multipliers, used.block_ram, used.luts, used.flip_flops)
    rows = np.flatnonzero(fits)
    costs = np.stack([cycles, used.block_ram, used.luts], axis=1)[rows]
    return tuple(replace(_candidate(kernel, shape, tilings.times[row], [int(column[row]) for column in columns]),
                         partial_sums=int(tilings.parts[row]), latency=tuple(latency)) for row in rows[front(costs)])


def _candidate(kernel: Kernel, shape: Shape, times: np.ndarray, figures: Sequence[int]) -> Candidate:
    steps = tuple((name, int(count)) for name, count in zip(kernel.loops, times, strict=True))
    cycles, multipliers, block_ram, luts, flip_flops = figures
    return Candidate(shape.space, shape.array, steps, shape.simd if shape.lanes > 1 else "", shape.lanes, cycles,
                     multipliers, block_ram, luts, flip_flops, reassociate=kernel.reassociated)


def follow_events(kernel: Kernel, candidate: Candidate, bus_bits: int) -> Candidate:
    """The candidate with its cycles from start to done by the times of all events, in place of those by formulas, and
    where sums wait for an adder with the order of a tile's loops that is fastest."""
    orders = time_orders(kernel) if candidate.partial_sums == 1 else [reductions_innermost(kernel)]
    cycles = {order: _cycles(kernel, candidate, order, bus_bits) for order in orders}
    best = min(cycles, key=cycles.__getitem__)
    return replace(candidate, cycles=cycles[best], order=best if kernel.rounds else ())


def _cycles(kernel: Kernel, candidate: Candidate, order: tuple[str, ...], bus_bits: int) -> int:
    choice = Choice(candidate.space, candidate.array, dict(candidate.time), order, candidate.simd, candidate.lanes,
                    bus_bits=bus_bits, latency=dict(candidate.latency), partial_sums=candidate.partial_sums)
    plan = make_plan(kernel, choice)
    return start_to_done(plan.spec, plan.tiles, MainMemory(bus_bits))


def step_choices(kernel: Kernel, shape: Shape) -> np.ndarray:
    """Steps per tile along every loop: all numbers that cut it with little padding, or a thinned selection."""
    rounds = [-(-extent // count) for extent, count in zip(kernel.extents, shape.counts(kernel.loops), strict=True)]
    choices = [extent_choices(count, count) for count in rounds]
    most = max(2, int(2 ** (log2(_TILINGS) / len(choices))))
    while np.prod([len(c) for c in choices]) > _TILINGS:
        longest = max(range(len(choices)), key=lambda k: len(choices[k]))
        choices[longest] = _thinned(choices[longest], max(most, len(choices[longest]) // 2))
        if max(map(len, choices)) <= most:
            break
    return np.array(list(product(*choices)), dtype=np.int64)


def _thinned(choices: list[int], count: int) -> list[int]:
    """`count` of the choices, spread evenly, both ends included."""
    places = np.linspace(0, len(choices) - 1, count).round().astype(int)
    return [choices[k] for k in dict.fromkeys(places)]
