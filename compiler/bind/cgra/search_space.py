"""What is tried for the array, in which order, and what failures teach.

Each method is a strategy (`compiler.sched.search.space`) for one kind of decision, from sums in rounds at the outside
to the shape of sums at the inside.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any, TypeAlias, TypeVar

import islpy as isl

from compiler.analysis.dependences import DependenceError
from compiler.bind.buffers.wide_fetch import AccessPatternError, NestError
from compiler.bind.cgra.candidate import Candidate
from compiler.bind.cgra.design import CgraDesign
from compiler.bind.cgra.elastic.design import elastic_design
from compiler.bind.cgra.mapping import Application
from compiler.bind.cgra.memories import BufferKey, CapacityError, PortContention
from compiler.bind.cgra.netlist import PeNode
from compiler.bind.cgra.options import Options
from compiler.bind.cgra.overlapping_tiles import first_tiles
from compiler.bind.cgra.path_balancing import UnbalanceablePathsError
from compiler.bind.cgra.pipeline import Preparation
from compiler.bind.cgra.predicate_tables import ControlError
from compiler.bind.cgra.relaxation import RelaxationSpace
from compiler.bind.cgra.resource_folding import choose_folds
from compiler.bind.cgra.shortage import with_largest_user
from compiler.bind.cgra.sites import ArrayTooSmall
from compiler.bind.cgra.stages import Stages
from compiler.bind.cgra.timing import RecurrenceViolation
from compiler.ir.program import Program, Statement
from compiler.passes.recurrence.array_expansion import BEHIND_GUARDS
from compiler.sched.search.space import NEVER, Infeasible, Step, Strategy, TooLateError, ask
from compiler.sched.static.reservation import default_slack
from compiler.sched.static.schedule import UNIT_II
from compiler.sched.streams.streams import StreamError
from hw.fabric.spec import TileKind
from hw.memtile.spec import ConfigurationError

__all__ = ["ArraySpace"]

_TRIES, _MARGIN = 3, 4
"""How often the way through shared units gets more time, and by how many cycles more than it lacks, as outer loops do
that idle; and how often buffers are set apart."""

_WAY_BACK, _GOOD = 8, 1.2
"""Cycles from one step of a sum to the next through an addition, a merge and wires between them; and how many times its
bound a program with loops in another order may take without another attempt."""

_MOST_IDLE = 32
"""Most times that an outer loop idles for longer."""

_WORTH = 0.95
"""Part of the cycles of a schedule within which another one has to end for another attempt."""

_MORE = 6
"""Attempts in a row that may fail once there is a design."""

_CROWDED = 0.8
"""Part of the array's processing elements beyond which sums take as few as they can."""

_MOST_FOLDS = 6
"""How often sums are folded, all of one kind at a time, for a program that needs more units than there are."""

_Designs: TypeAlias = Strategy[Candidate, CgraDesign]
_T = TypeVar("_T")


def _in_fewer_steps(found: Infeasible, program: Program, script: str) -> Infeasible:
    """A failure for arrays that are too large as they are, of a program whose outer loop `script` unrolls. If that is a
    time loop, tiles would need values of each other, and one step after the other may stream."""
    reason, tiles, _ = str(found.cause).rpartition("add tile loops around all statements")
    loop = script.partition("(")[2].rstrip(")")
    if not tiles or any(_moves_with(statement, loop) for statement in program.statements):
        return found
    return Infeasible(StreamError(f"{reason}run it for fewer values of '{loop}' at a time"))


def _moves_with(statement: Statement, loop: str) -> bool:
    """Whether a statement walks along an array in a loop."""
    if loop not in statement.iterators:
        return False
    place = statement.iterators.index(loop)
    return any(access.map.involves_dims(isl.dim_type.in_, place, 1) for access in (*statement.reads, statement.write))


class ArraySpace:
    """The choices for the program of `stages`. `strict`: the first design will do."""

    def __init__(self, stages: Stages, strict: bool) -> None:
        self.stages, self.strict = stages, strict
        self.options: Options = stages.options

    def strategy(self) -> _Designs:
        """All that is tried: with recurrences in the program's loops, and where that takes long with their steps in
        loops of their own, or in right-looking order."""
        asked = Candidate(directives=self.options.transform)
        countable = yield from ask(self.stages.require_countable, asked)
        if isinstance(countable, Infeasible):
            return countable
        if self.stages.is_long:
            tiled = yield from self._in_independent_tiles(asked)
            if not isinstance(tiled, Infeasible):
                return tiled
        found = yield from self._coalesced(asked)
        if isinstance(found, Infeasible) and found.because(StreamError) and self.stages.may_tile:
            for tilings in (self._in_independent_tiles, self._in_overlapping_tiles):
                tiled = yield from tilings(asked)
                if not isinstance(tiled, Infeasible):
                    return tiled
        if isinstance(found, Infeasible) and found.because(StreamError, ControlError) and self.stages.steps_apart:
            coalesced = replace(asked, coalesced=self.stages.coalesced is not self.stages.program)
            apart = yield from self._in_rounds(coalesced.with_directives(self.stages.steps_apart, "time steps apart"))
            found = apart if not isinstance(apart, Infeasible) else \
                _in_fewer_steps(found, self.stages.coalesced, self.stages.steps_apart)
        for other in self._other_loops(asked):
            if not isinstance(found, Infeasible) and self._is_good(found):
                break
            apart = yield from self._in_rounds(other)
            if isinstance(found, Infeasible):
                found = found if isinstance(apart, Infeasible) else apart
            elif not isinstance(apart, Infeasible):
                found = min(apart, found, key=_cycles)
        return found

    def _other_loops(self, asked: Candidate) -> Iterator[Candidate]:
        """The choices with recurrences in loops of their own."""
        coalesced = replace(asked, coalesced=self.stages.coalesced is not self.stages.program)
        if self.stages.distributed is not self.stages.coalesced:
            yield replace(coalesced, distributed=True)
        if script := self.stages.right_looking:
            yield coalesced.with_directives(script, "right-looking order")

    def _in_independent_tiles(self, asked: Candidate) -> _Designs:
        """Loops that no dependence crosses in tiles, which are moved while others are computed, and proven for all by
        the first ones."""
        coalesced = replace(asked, coalesced=self.stages.coalesced is not self.stages.program)
        choices = yield from ask(self.stages.independent_tiles, coalesced)
        for choice in () if isinstance(choices, Infeasible) else choices:
            found = yield from self._in_rounds(choice)
            if not isinstance(found, Infeasible):
                return found
        return Infeasible(TooLateError("no tiles of independent loops are possible"))

    def _in_overlapping_tiles(self, asked: Candidate) -> _Designs:
        """For arrays that do not fit the global buffer: outputs in tiles, with what each needs computed again."""
        most = self.stages.spec.glb.half_words
        for tiles in first_tiles(self.stages.program, most):
            for _ in range(_TRIES):
                choice = asked.with_directives(tiles.script, "outputs in tiles")
                words = yield Step(partial(self.stages.largest_tile, depth=tiles.depth), choice, ("tile", choice))
                if isinstance(words, Infeasible):
                    return words
                if words <= most:
                    found = yield from self._in_rounds(choice)
                    if not isinstance(found, Infeasible):
                        return found
                    break
                tiles = tiles.smaller(words, most)
                if tiles is None:
                    break
        return Infeasible(TooLateError("no tiles of outputs fit the global buffer"))

    def _coalesced(self, asked: Candidate) -> _Designs:
        """Without the tile loops that the program has, or with them where it does not fit else."""
        if self.stages.coalesced is self.stages.program:
            return (yield from self._in_rounds(asked))
        whole = yield from self._in_rounds(replace(asked, coalesced=True))
        return whole if not isinstance(whole, Infeasible) else (yield from self._in_rounds(asked))

    def _in_rounds(self, choice: Candidate) -> _Designs:
        """With ``share=auto``, sums in rounds, as many as the array needs."""
        first = found = yield from self._ordered(choice)
        for _ in range(_MOST_FOLDS if self.options.share == "auto" else 0):
            if not isinstance(found, Infeasible) or not isinstance(found.cause, ArrayTooSmall):
                return found
            folds = choose_folds(self.stages.directed(choice), self.stages.spec.mem) if found.cause.lacks_units else ""
            if not folds:
                return first
            choice = choice.with_directives(folds, "sums in rounds")
            found = yield from self._ordered(choice)
        return first if isinstance(found, Infeasible) else found

    def _ordered(self, choice: Candidate) -> _Designs:
        """With the loops around recurrences in the order in which there is time for these, where that ends earlier."""
        ordered = yield from self._with_time(choice)
        if isinstance(ordered, Infeasible):
            return (yield from self._as_asked(choice, NEVER))
        if self._is_good(ordered):
            return ordered
        asked = yield from self._as_asked(choice, ordered.predicted_cycles)
        return ordered if isinstance(asked, Infeasible) else min(asked, ordered, key=_cycles)

    def _is_good(self, design: CgraDesign) -> bool:
        return self.strict or design.predicted_cycles <= _GOOD * design.lower_bound

    def _with_time(self, choice: Candidate) -> _Designs:
        """The program with time for its recurrences, or with less of it where the array is too small for that."""
        found = Infeasible(TooLateError("no other order of loops gives recurrences more time"))
        for cycles in (_WAY_BACK, _WAY_BACK // 2) if self.options.searches_orders else ():
            script = self.stages.loop_order(choice, cycles)
            if not script:
                break
            made = yield from self._as_asked(choice.with_directives(script, "loops in another order"), NEVER)
            if not isinstance(made, Infeasible) or not made.because(ArrayTooSmall):
                return made
            found = made
        return found

    def _as_asked(self, choice: Candidate, known: int) -> _Designs:
        """The design; one that ends before cycle `known`, if that makes it impossible sooner. That for buffets is made
        of one for dual-port memories with one buffer in each."""
        found = yield from self._in_tiles(choice, known)
        if self.stages.merged or isinstance(found, Infeasible):
            return found
        options = replace(self.options, transform=choice.directives, memory="buffet")
        return (yield Step(lambda _: elastic_design(found, options), choice, ("elastic", id(found)), final=True))

    def _in_tiles(self, choice: Candidate, known: int) -> _Designs:
        """As one tile where that takes fewer steps and is possible; where tiles do not fit, it says why it is not."""
        sooner = yield from ask(self.stages.fits_sooner, choice) if not choice.one_tile else _given(False)
        if isinstance(sooner, Infeasible):
            return sooner
        if not sooner:
            return (yield from self._behind_guards(choice, known))
        whole = yield from self._in_tiles(replace(choice, one_tile=True), known)
        if not isinstance(whole, Infeasible):
            return whole
        found = yield from self._behind_guards(choice, known)
        tiles_do_not_fit = isinstance(found, Infeasible) and found.because(StreamError)
        return whole if tiles_do_not_fit and whole.because(StreamError, AccessPatternError) else found

    def _behind_guards(self, choice: Candidate, known: int) -> _Designs:
        """With what predicated-off reads deliver: the fastest way that is possible."""
        undefined = yield from ask(self.stages.has_undefined_reads, choice)
        if isinstance(undefined, Infeasible):
            return undefined
        first = found = yield from self._split_if_needed(choice, known)
        for behind in BEHIND_GUARDS[1:] if undefined else ():
            if not isinstance(found, Infeasible):
                return found
            found = yield from self._split_if_needed(replace(choice, preparation=Preparation(predicated=behind)), known)
        return first if isinstance(found, Infeasible) else found

    def _split_if_needed(self, choice: Candidate, known: int) -> _Designs:
        """The program as it is prepared, or with statements split."""
        can_split = yield from ask(self.stages.can_split, choice)
        if isinstance(can_split, Infeasible):
            return can_split
        if can_split:
            found = yield from self._with_sharing(choice, known, patient=False)
            if not isinstance(found, Infeasible) or not found.because(AccessPatternError, RecurrenceViolation):
                return found
            for preparation in self._splits(choice):
                found = yield from self._with_sharing(replace(choice, preparation=preparation), known)
                if not isinstance(found, Infeasible):
                    return found
        return (yield from self._with_sharing(choice, known))

    def _splits(self, choice: Candidate) -> list[Preparation]:
        bordered = [Preparation(bordered=True)] if self.stages.can_copy_borders(choice) else []
        return [Preparation(split=True), *bordered]

    def _with_sharing(self, choice: Candidate, known: int, patient: bool = True) -> _Designs:
        if self.options.share == "auto":
            can_share = yield from ask(self.stages.can_share, choice)
            if isinstance(can_share, Infeasible):
                return can_share
            if can_share:
                found = yield from self._relaxed(replace(choice, sharing=True), known, patient)
                if not isinstance(found, Infeasible):
                    return found
        return (yield from self._relaxed(choice, known, patient))

    def _relaxed(self, choice: Candidate, known: int, patient: bool) -> _Designs:
        """The mapping at the least relaxation at which there is one, or at another one of which it ends sooner; without
        patience only at the full rate."""
        failure: Infeasible | None = None
        best: CgraDesign | None = None
        failed = 0
        space = RelaxationSpace(self.stages.merged, patient, self.options.memory == "pub")
        for relaxation in space:
            if failed == _MORE:
                break
            limit = best.application.schedule.end if best else known
            trial = replace(choice, relaxation=relaxation)
            given = NEVER if limit == NEVER else int(_WORTH * limit)
            found = yield from (self._idling if patient else self._with_slack)(trial, given)
            if not isinstance(found, Infeasible):
                if self._is_good(found) or (relaxation.tight and relaxation.pace == UNIT_II):
                    return found
                best, failed = min(best or found, found, key=_cycles), 0
                continue
            if found.because(TooLateError):
                if relaxation.tight:
                    break
                continue
            failed, failure = failed + (best is not None), failure or found
            self._learn(space, trial, found)
            if best is None and not _may_be_mended(trial, found):
                return found
        return best or failure or Infeasible(TooLateError("nothing ends before what is known"))

    def _learn(self, space: RelaxationSpace, choice: Candidate, found: Infeasible) -> None:
        """Tell `space` what a failure says of other relaxations."""
        match found.cause:
            case RecurrenceViolation() as error:
                space.note(choice.relaxation, error, self.stages.around(choice, error.units))
            case NestError():
                space.note_pattern(choice.relaxation)
            case AccessPatternError() | ConfigurationError() | UnbalanceablePathsError():
                space.note_memory()

    def _idling(self, choice: Candidate, limit: int) -> _Designs:
        """With outer loops that idle for as long as the recurrences that they carry need it."""
        found = yield from self._with_slack(choice, limit)
        before: RecurrenceViolation | None = None
        for _ in range(_MOST_IDLE):
            if not isinstance(found, Infeasible) or not isinstance(found.cause, RecurrenceViolation):
                break
            loop = found.cause
            stuck = before is not None and before.units == loop.units and before.excess <= loop.excess
            idle = None if stuck else self.stages.idling(choice, loop, _MARGIN)
            if idle is None:
                break
            before, choice = loop, idle
            found = yield from self._with_slack(choice, limit)
        return found

    def _with_slack(self, choice: Candidate, limit: int) -> _Designs:
        """Where the way through shared units and back turns out longer than the schedule has time for, it gets more."""
        live = yield from ask(self.stages.live, choice)
        if isinstance(live, Infeasible):
            return live
        slack = default_slack(live) if live.shared else None
        found = yield from self._apart(replace(choice, slack=slack), limit)
        for _ in range(_TRIES if live.shared else 0):
            if not isinstance(found, Infeasible) or not isinstance(found.cause, RecurrenceViolation):
                break
            slack = (slack or 0) + found.cause.excess + _MARGIN
            found = yield from self._apart(replace(choice, slack=slack), limit)
        return found

    def _apart(self, choice: Candidate, limit: int) -> _Designs:
        """Buffers, and then reads of a buffer, that turn out to have too little time in one memory tile together get
        one each."""
        apart: frozenset[BufferKey] = frozenset()
        crowded: Infeasible | None = None
        found = yield from self._with_sums(choice, limit)
        for _ in range(_TRIES):
            if not isinstance(found, Infeasible) or not isinstance(found.cause, PortContention):
                break
            if found.cause.buffers <= apart:
                break
            apart, crowded = apart | found.cause.buffers, found
            found = yield from self._with_sums(replace(choice, apart=apart), limit)
        too_small = isinstance(found, Infeasible) and found.because(ArrayTooSmall)
        return crowded if crowded and too_small else found

    def _with_sums(self, choice: Candidate, limit: int) -> _Designs:
        """With sums that end soon or with sums of few units: which of the two takes less room shows when paths are
        balanced. What is asked for is first, on a crowded array the one of few units."""
        options = yield from self._sums(choice, limit)
        if isinstance(options, Infeasible):
            return options
        failure: Infeasible | None = None
        for trial, application in options:
            found = yield self._step(self.stages.design, trial, limit, final=True)
            if not isinstance(found, Infeasible) or not isinstance(found.cause, ArrayTooSmall):
                return found
            failure = failure or Infeasible(with_largest_user(found.cause, application, self.stages.parts(trial)))
        assert failure is not None
        return failure

    def _sums(self, choice: Candidate, limit: int) -> Strategy[Candidate, list[tuple[Candidate, Application]]]:
        """The shapes of sums that are worth a try, in their order."""
        end = yield Step(self.stages.end, choice, ("end", choice), self.stages.end, limit)
        if isinstance(end, Infeasible):
            return end
        shapes = (False,) if self.options.sums == "chain" else (True, False)
        found: list[tuple[Candidate, Application]] = []
        for balanced in shapes:
            trial = replace(choice, balanced=balanced)
            application = yield self._step(self.stages.application, trial, limit)
            if isinstance(application, Infeasible):
                return application
            found.append((trial, application))
        if found[0][1].netlist == found[-1][1].netlist:
            return found[-1:]
        room = _CROWDED * len(self.stages.spec.tiles(TileKind.PE))
        return found[::-1] if found[0][1].netlist.count(PeNode) > room else found

    def _step(self, stage: Callable[[Candidate], Any], choice: Candidate, limit: int,
              final: bool = False) -> Step[Candidate]:
        """A step of the mapping, which equal schedules have in common."""
        key = stage.__name__, self.stages.application_key(choice)
        return Step(stage, choice, key, self.stages.end, limit, final, self.stages.explain)


def _given(value: _T) -> Strategy[Candidate, _T]:
    """A strategy that knows its result."""
    yield from ()
    return value


def _may_be_mended(choice: Candidate, found: Infeasible) -> bool:
    """Whether another relaxation may do where this one failed; the first one has to show whether the array is large
    enough."""
    relaxation = choice.relaxation
    if found.because(DependenceError):
        return relaxation.pace != UNIT_II
    if found.because(CapacityError, ArrayTooSmall):
        return relaxation.in_turns
    return found.because(RecurrenceViolation, AccessPatternError, ConfigurationError, UnbalanceablePathsError)


def _cycles(design: CgraDesign) -> int:
    return design.predicted_start_to_done
