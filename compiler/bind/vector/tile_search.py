"""Choosing tiles: of the tilings that fit the scratchpad the one that the cost model likes best.

Shapes of tiles are timed from the best guess on; the best of them are tried with loads further ahead, with arrays that
stay as a whole, and with other ends; the best of those with transfers between instructions and with ends of their own.
Each tiling is timed once. A search ends when it has timed as many statements of code as it may: tiles of large programs
have long code, and all that is left of such a search is its beginning.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from compiler.bind.vector.errors import VectorTargetError
from compiler.bind.vector.phases import Phase
from compiler.bind.vector.plan import PhasePlan, make_plan
from compiler.bind.vector.plan_timing import ALL, Timing, time_all, time_plan
from compiler.bind.vector.row_streaming import SlidingPlan, make_sliding_plan
from compiler.bind.vector.sizes import Sizes
from compiler.bind.vector.tile_estimate import counts, tile_shapes
from compiler.bind.vector.tiling import Tiling
from compiler.bind.vector.tiling_variants import (
    delayed,
    early,
    further_ahead,
    halved_ends,
    late,
    uneven,
    whole,
    with_carry,
    with_ends,
)
from hw.vector_lanes.spec import VectorSpec

__all__ = ["Budget", "Choice", "TileSearch", "choose", "first_choice"]

FIRST = 10_000
"""Statements that may be timed where the first plan is taken that fits."""
VALUES = 3000
"""The best plan, if it computes no more values in all its tiles, is timed as a whole: its ends are then chosen."""
WIDTHS = 4
"""Numbers of columns of sliding plans that fit and are timed, from the largest on."""
ENOUGH, MORE, LARGE = 6, 16, 40
"""Shapes that fit and are timed, from the best estimate on, before the search ends: fewer for phases of more than so
many values."""
REFINED = 4
"""Plans that are tried with loads further ahead."""
VARIED, VARIED_LARGE = 8, 3
"""Plans of them and those again that are tried with other buffers and ends; the second for large phases."""
POLISHED, POLISHABLE = 3, 1.05
"""Shapes of tiles of which the transfers and the ends are worked out, from the best on, and how many times its cycles
they may take; of phases that are large or are one tile only the best one."""
NEAR, SLOW, COMPARED = 1.02, 1.1, 4
"""Plans whose predictions lie so near each other are compared with a memory that is so much slower while loads and
stores share it: what the lanes take of the scratchpad's ports is not in the model, and room for it has its worth."""

Variants = Callable[[PhasePlan], Iterable[Tiling]]
"""Tilings that are like that of a plan but for one decision."""


@dataclass
class Budget:
    """Statements of code that may still be timed. Values that are placed in the scratchpad count as much."""

    left: int

    @property
    def is_spent(self) -> bool:
        """Whether nothing is left."""
        return self.left <= 0


@dataclass(frozen=True)
class Choice:
    """A plan and its predicted clock cycles."""

    plan: PhasePlan | SlidingPlan
    cycles: float


def _cycles(choice: Choice) -> float:
    return choice.cycles


def choose(phase: Phase, sizes: Sizes, spec: VectorSpec, budget: Budget, fixed: tuple[int, ...] | None = None
           ) -> Choice:
    """The best plan, or that with tiles of a `fixed` shape. Raises `VectorTargetError` if not even one element
    fits."""
    search = TileSearch(phase, sizes, spec, budget)
    return search.run() if fixed is None else search.with_tile(fixed)


def first_choice(phase: Phase, sizes: Sizes, spec: VectorSpec) -> Choice:
    """The first plan that fits of those that `choose` looks at, in a hundredth of its time. Raises
    `VectorTargetError` if not even one element fits."""
    search = TileSearch(phase, sizes, spec, Budget(FIRST))
    found = search.tried([Tiling(phase.shape)]) or search.shapes(1)
    if not found:
        raise search.nothing_fits()
    return found[0]


class TileSearch:
    """The search over the tilings of a phase. The first plan that fits is timed in any case, others as long as there is
    a `budget`."""

    def __init__(self, phase: Phase, sizes: Sizes, spec: VectorSpec, budget: Budget) -> None:
        self._phase, self._sizes, self._spec, self._budget = phase, sizes, spec, budget
        self._plans: dict[Tiling, PhasePlan] = {}
        self._choices: dict[Tiling, Choice] = {}
        self._slow: dict[Tiling, float] = {}
        self._is_large = len(sizes.bytes) > LARGE

    def run(self) -> Choice:
        """The best plan. Raises `VectorTargetError` if there is none."""
        found = self.shapes(ENOUGH if self._is_large else MORE)
        best = [self._refined(found)] if found else []
        ranked = sorted([*best, *self._sliding()], key=_cycles)
        if not ranked:
            raise self.nothing_fits()
        return ranked[0]

    def with_tile(self, tile: tuple[int, ...]) -> Choice:
        """The best plan with tiles of that shape. Raises `VectorTargetError` if they do not fit."""
        found = self.tried([Tiling(tile)])
        if not found:
            raise self._too_small(make_plan(self._phase, self._sizes, self._spec, Tiling(tile)))
        choice = self._best_of(found[0], with_carry)
        return self._best_of(choice, further_ahead)

    # Plans.

    def _plan(self, tiling: Tiling) -> PhasePlan:
        """The plan of a tiling. Those with the same buffers share what they are made of."""
        made = self._plans.get(tiling.storage)
        if made is None:
            made = make_plan(self._phase, self._sizes, self._spec, tiling.storage)
            self._budget.left -= len(self._sizes.bytes)
            self._plans[tiling.storage] = made
        return made.with_tiling(tiling)

    def _fits(self, plan: PhasePlan | SlidingPlan) -> bool:
        return plan.allocation.bytes <= self._spec.capacity

    def tried(self, tilings: Iterable[Tiling]) -> list[Choice]:
        """Those that fit, timed, as long as there is a budget."""
        return [choice for tiling in tilings if (choice := self._tried(tiling)) is not None]

    def _tried(self, tiling: Tiling) -> Choice | None:
        if tiling not in self._choices:
            if self._choices and self._budget.is_spent:
                return None
            plan = self._plan(tiling)
            if not self._fits(plan):
                return None
            self._choices[tiling] = Choice(plan, self._paid(time_plan(plan)))
        return self._choices[tiling]

    def _paid(self, timing: Timing) -> float:
        self._budget.left -= timing.statements
        return timing.cycles

    def _with(self, choice: Choice, variants: Variants) -> list[Choice]:
        """What differs from a choice in one decision, timed."""
        return self.tried(variants(choice.plan)) if isinstance(choice.plan, PhasePlan) else []

    def _best_of(self, choice: Choice, variants: Variants) -> Choice:
        return min([choice, *self._with(choice, variants)], key=_cycles)

    # Steps of the search.

    def shapes(self, enough: int) -> list[Choice]:
        """Plans with the tiles that promise most: as many as are `enough`."""
        found: list[Choice] = []
        for tile in tile_shapes(self._phase, self._sizes, self._spec):
            found += [self._best_of(choice, with_carry) for choice in self.tried([Tiling(tile)])]
            if len(found) == enough or (found and self._budget.is_spent):
                break
        return found

    def _refined(self, choices: list[Choice]) -> Choice:
        """The fastest of the best few choices, or of those with loads further ahead, or with smaller tiles at the
        ends."""
        best = sorted(choices, key=_cycles)[:REFINED]
        best += [other for choice in best for other in self._with(choice, further_ahead)]
        best.sort(key=_cycles)
        best += [other for choice in _differing(best[:VARIED_LARGE if self._is_large else VARIED])
                 for other in self._stored_otherwise(choice)]
        tiles: dict[tuple[int, ...], Choice] = {}
        for choice in sorted(best, key=_cycles):
            tiles.setdefault(choice.plan.layout.tile, choice)
        first, *others = list(tiles.values())[:POLISHED]
        if self._is_large or first.plan.steps == 1:
            others = []
        others = [other for other in others if other.cycles <= POLISHABLE * first.cycles]
        return self._timed_as_a_whole(self._steady([self._polished(choice) for choice in (first, *others)]))

    def _stored_otherwise(self, choice: Choice) -> list[Choice]:
        """The same tiles with arrays that stay as a whole, if they fit, and then or else with smaller tiles at the
        ends."""
        stay = self._with(choice, whole)
        return stay + self._with(choice, lambda plan: with_ends(plan, plan.steps == 1 or bool(stay)))

    def _polished(self, choice: Choice) -> Choice:
        """The same tiles with what can be done about their ends and transfers: less for large phases, whose code takes
        long to be timed."""
        steps: Sequence[Variants] = (delayed, early) if self._is_large else (delayed, early, uneven, late)
        for variants in steps:
            tried = [choice, *self._with(choice, variants)]
            choice = min(tried, key=_cycles) if self._is_large else self._steady(tried)
        return choice

    def _steady(self, choices: list[Choice]) -> Choice:
        """The fastest one; of those that are nearly as fast, the one that suffers least from a slower memory."""
        ranked = sorted(choices, key=_cycles)
        best = ranked[0]
        near = [c for c in ranked[:COMPARED] if isinstance(c.plan, PhasePlan) and 1 < c.plan.steps <= ALL
                and c.cycles <= NEAR * best.cycles]
        if len(near) < 2 or near[0] is not best or self._budget.is_spent:
            return best
        return min(near, key=self._slow_cycles)

    def _slow_cycles(self, choice: Choice) -> tuple[float, float]:
        """With a slower memory, and without."""
        plan = choice.plan
        assert isinstance(plan, PhasePlan)
        if plan.tiling not in self._slow:
            self._slow[plan.tiling] = self._paid(time_plan(plan, SLOW))
        return self._slow[plan.tiling], choice.cycles

    def _timed_as_a_whole(self, choice: Choice) -> Choice:
        """If there are more tiles than are timed, but not too many, with the ends that are best then."""
        plan = choice.plan
        values = plan.steps * len(plan.order.nodes)
        if not isinstance(plan, PhasePlan) or plan.steps <= ALL or values > VALUES or self._budget.is_spent:
            return choice
        plans = [plan, *(other for other in map(self._plan, halved_ends(plan)) if self._fits(other))]
        return min((Choice(other, self._paid(time_all(other))) for other in plans), key=_cycles)

    def _sliding(self) -> Iterator[Choice]:
        """Plans that slide down the rows."""
        tried = 0
        for columns in counts(self._phase.shape[1]) if len(self._phase.shape) == 2 else ():
            plan = make_sliding_plan(self._phase, self._sizes, self._spec, columns)
            if plan is None or tried == WIDTHS or (self._choices and self._budget.is_spent):
                break
            if self._fits(plan):
                tried += 1
                yield Choice(plan, self._paid(time_plan(plan)))

    # Errors.

    def nothing_fits(self) -> VectorTargetError:
        """Why there is no plan."""
        one = Tiling((1,) * len(self._phase.shape))
        return self._too_small(make_plan(self._phase, self._sizes, self._spec, one))

    def _too_small(self, plan: PhasePlan) -> VectorTargetError:
        result = self._phase.graph.results[0]
        segment = "x".join(map(str, plan.layout.tile)) or "1"
        return VectorTargetError(f"{result.node.location}: the scratchpad of {self._spec.capacity} bytes is too small "
                                 f"for a segment of {segment} elements, which takes {plan.allocation.bytes} bytes "
                                 f"({plan.allocation.registers} registers)")


def _differing(choices: list[Choice]) -> list[Choice]:
    """One for each shape of tiles, with and without rows copied on chip: all others have the same variants."""
    found: dict[tuple[tuple[int, ...], bool], Choice] = {}
    for choice in choices:
        if isinstance(choice.plan, PhasePlan):
            found.setdefault((choice.plan.tiling.tile, choice.plan.tiling.carries), choice)
    return list(found.values())
