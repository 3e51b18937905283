"""The schedule of a pipeline on its program: copies side by side, and on request tiles and places of arrays.

The order of loops is in the program already. What a schedule asks for beyond that and cannot be, or has no meaning in
hardware, is listed in the program's remarks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Literal, get_args

from compiler.frontend.halide.debugging import debugging_remarks
from compiler.frontend.halide.directives import StageDirectives, func_remarks, stage_directives
from compiler.frontend.halide.drafts import Draft
from compiler.frontend.halide.errors import PipelineError
from compiler.frontend.halide.names import plain
from compiler.frontend.halide.nodes import Func, Pipeline
from compiler.ir.program import Program, Statement
from compiler.passes.directives.errors import TransformError
from compiler.passes.directives.overlap import overlap
from compiler.passes.directives.split import tile
from compiler.passes.directives.store import store
from compiler.passes.scheduled import Copies, ScheduledProgram, add_copies

__all__ = ["ScheduleUse", "check_use", "scheduled"]

ScheduleUse = Literal["order", "lanes", "tiles", "auto"]
"""What is used of a schedule: the order of loops; also copies side by side; also tiles and places of arrays. ``auto``:
the order of loops, and as many copies of the innermost pure loops as pay, with short loops unrolled if that pays."""

_MOST_PROPOSED = 16
"""Copies of a loop that nobody asked for."""

_MOST_UNROLLED = {"sums": 16, "outer loops": 4}
"""Copies of a statement by loops that nobody asked to unroll whole: those over the terms of a sum, innermost first, and
those around the innermost loop over elements (channels, not rows), outermost first."""

_LEVELS = {"heap": "memory", "stack": "registers", "register": "registers"}


def check_use(use: str) -> ScheduleUse:
    """`use` if there is such a use. Raises `PipelineError`."""
    for known in get_args(ScheduleUse):
        if use == known:
            return known
    raise PipelineError(f"schedule={use!r}: there are {', '.join(get_args(ScheduleUse))}")


def scheduled(program: Program, drafts: Sequence[Draft], pipeline: Pipeline, use: ScheduleUse) -> Program:
    """`program`, whose statements are made of `drafts`, one by one, with what is used of the pipeline's schedule."""
    work = _Scheduling(program, pipeline, use)
    nests: dict[tuple[str, int], list[tuple[Statement, Draft]]] = {}
    for statement, draft in zip(program.statements, drafts, strict=True):
        if draft.variables:
            nests.setdefault(draft.nest, []).append((statement, draft))
    stages = [work.stage(pipeline.funcs[name], number, found) for (name, number), found in nests.items()]
    work.debugging()
    work.places({name for name, _ in nests})
    work.tile(stages)
    work.copy(stages)
    return work.result()


@dataclass(frozen=True)
class _Stage:
    """What the schedule of one stage asks of its statements. `iterators`: of each variable."""

    func: Func
    label: str
    asked: StageDirectives
    iterators: Mapping[str, str]
    statements: tuple[str, ...]


@dataclass
class _Scheduling:
    """The work on one program."""

    program: Program
    pipeline: Pipeline
    use: ScheduleUse
    copies: list[Copies] = field(default_factory=list)
    done: list[str] = field(default_factory=list)
    ignored: dict[str, list[str]] = field(default_factory=dict)
    depth: int = 0
    renamed: dict[str, dict[str, str]] = field(default_factory=dict)

    def stage(self, func: Func, number: int, found: Sequence[tuple[Statement, Draft]]) -> _Stage:
        """What is asked of the statements of a stage."""
        statement, draft = found[0]
        iterators = dict(zip(draft.variables, draft.iterators, strict=True))
        extents = {variable: _extent(statement, k) for k, variable in enumerate(draft.variables)}
        at = frozenset(plain(other.schedule.compute.variable) for other in self.pipeline.funcs.values()
                       if other.schedule.compute.func == func.name)
        asked = stage_directives(func.stages[number], extents, at)
        label = plain(func.name) + (f" update {number - 1}" if number else "")
        for text in asked.ignored:
            self.ignore(text, label)
        if func.stages[number].fused_with:
            self.ignore("compute_with", label)
        return _Stage(func, label, asked, iterators, tuple(s.name for s, _ in found))

    def ignore(self, directive: str, label: str) -> None:
        """List a directive that is not used."""
        where = self.ignored.setdefault(directive, [])
        if label not in where:
            where.append(label)

    def debugging(self) -> None:
        """List what Funcs print, those that are computed in place as well."""
        for name, func in sorted(self.pipeline.funcs.items()):
            for text in debugging_remarks(func):
                self.ignore(text, plain(name))

    def places(self, names: set[str]) -> None:
        """Where the values of Funcs wait."""
        for name in sorted(names):
            func = self.pipeline.funcs[name]
            for text in func_remarks(func):
                self.ignore(text, plain(name))
            memory, level = func.schedule.memory, _LEVELS.get(func.schedule.memory, "")
            if memory == "auto":
                continue
            arrays = [a.name for a in self.program.arrays if a.role == "intermediate" and a.name == plain(name)]
            if self.use != "tiles" or not level or not arrays:
                self.ignore("store_in", plain(name))
                continue
            self.program = store(self.program, arrays[0], level)
            self.done.append(f"store({arrays[0]}, {level})")

    def tile(self, stages: Sequence[_Stage]) -> None:
        """Tiles of the outputs, and of all that is computed inside of them."""
        for stage in stages:
            sizes = {stage.iterators[variable]: size for variable, size in stage.asked.tiles.items()}
            inside = any(other.schedule.compute.func == stage.func.name for other in self.pipeline.funcs.values())
            is_output = stage.func.name in self.pipeline.outputs
            if not sizes:
                if inside:
                    self.ignore("compute_at", stage.label)
            elif self.use != "tiles" or not is_output or self.depth:
                self.ignore("tile", stage.label)
            else:
                self._tile(stage, sizes, inside)

    def _tile(self, stage: _Stage, sizes: dict[str, int], inside: bool) -> None:
        text = f"{'overlap' if inside else 'tile'}({', '.join(f'{k}={v}' for k, v in sizes.items())})"
        try:
            self.program = overlap(self.program, sizes) if inside else tile(self.program, sizes, stage.statements)
        except TransformError as error:
            self.ignore(f"{text}: {error}", stage.label)
            return
        self.depth = len(sizes)
        self.done.append(f"{text} of {stage.label}")
        if not inside:
            self.renamed[stage.label] = {name: f"{name}_i" for name in sizes}

    def copy(self, stages: Sequence[_Stage]) -> None:
        """Copies side by side, as far as they are legal."""
        trial = self.program
        proposed: dict[str, Program] = {}  # loops that are unrolled together
        for stage in stages:
            for copies in self._wanted(stage):
                if self.use == "order":
                    self.ignore(str(copies), stage.label)
                    continue
                try:
                    base = proposed.get(copies.whole, self.program) if self.use == "auto" else trial
                    result = add_copies(base, copies)
                except TransformError as error:
                    self.ignore(f"{copies}: {error}", stage.label)
                    continue
                trial = result
                if copies.whole:
                    proposed[copies.whole] = result
                self.copies.append(copies)
                self.done.append(f"{'at most ' if self.use == 'auto' else ''}{copies} of {stage.label}")

    def _wanted(self, stage: _Stage) -> list[Copies]:
        if self.use == "auto":
            return self._proposed(stage)
        names = self.renamed.get(stage.label, {})
        found: list[Copies] = []
        for counts, blocks in ((stage.asked.neighbours, False), (stage.asked.blocks, True)):
            for variable, count in counts.items():
                iterator = names.get(stage.iterators[variable], stage.iterators[variable])
                found += self._at_most(count, stage, iterator, blocks)
        return found

    def _proposed(self, stage: _Stage) -> list[Copies]:
        """Neighbours of the innermost loop over elements of the Func, blocks of the outermost one, and short loops."""
        pure = [i for variable, i in stage.iterators.items() if variable in stage.func.args]
        found: list[Copies] = []
        for iterator, blocks in ((pure[-1], False), (pure[0], True)) if pure else ():
            found += self._at_most(_MOST_PROPOSED, stage, iterator, blocks)
        terms = [i for i in stage.iterators.values() if i not in pure]
        return [*self._unrolled(stage, terms[::-1], "sums"), *found, *self._unrolled(stage, pure[:-1], "outer loops")]

    def _unrolled(self, stage: _Stage, iterators: Sequence[str], whole: str) -> list[Copies]:
        """The first ones of these loops, whole, as long as that makes few copies of a statement."""
        found: list[Copies] = []
        room = _MOST_UNROLLED[whole]
        for iterator in iterators:
            for copies in self._at_most(room + 1, stage, iterator, False):
                room //= copies.count
                if not room:
                    return found
                found.append(replace(copies, whole=whole))
        return found

    def _at_most(self, count: int, stage: _Stage, iterator: str, blocks: bool) -> list[Copies]:
        """Copies of the stage's statements that have a loop, no more than it has iterations; none if one is left."""
        statements = tuple(s for s in stage.statements if iterator in self.program.statement(s).iterators)
        extents = [_extent_of(self.program.statement(s), iterator) for s in statements]
        count = min(count, max(extents, default=1))
        return [Copies(iterator, count, statements, blocks)] if count > 1 else []

    def result(self) -> Program:
        """The program, with wishes and remarks if it has any."""
        remarks = [*self.done, *(f"{text} ({', '.join(where)}) not used" for text, where in self.ignored.items())]
        if not remarks:
            return self.program
        given = {f.name: getattr(self.program, f.name) for f in fields(Program)}
        return ScheduledProgram(**given, copies=tuple(self.copies), tile_depth=self.depth,
                                chooses=self.use == "auto", remarks=tuple(remarks))


def _extent(statement: Statement, number: int) -> int:
    ends = statement.domain.dim_min_val(number), statement.domain.dim_max_val(number)
    return ends[1].to_python() - ends[0].to_python() + 1


def _extent_of(statement: Statement, iterator: str) -> int:
    return _extent(statement, statement.iterators.index(iterator))
