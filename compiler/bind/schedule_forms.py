"""How much of what a program's source asks for a target can have: all of it, or less where it has no place for that."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from compiler.bind.design import Design
from compiler.ir.program import Program
from compiler.passes.scheduled import ScheduledProgram
from compiler.sched.search.driver import search
from compiler.sched.search.space import Infeasible, Step, Strategy
from hw.errors import SluiceError

__all__ = ["ScheduleError", "first_form"]


class ScheduleError(SluiceError):
    """What the source asks for cannot be had."""


@dataclass(frozen=True, eq=False)
class _Form:
    """A `program` and the target's `options`; `words` for the record of what is tried."""

    words: str
    program: Program
    options: Mapping[str, Any]

    def __str__(self) -> str:
        return self.words


def first_form(program: ScheduledProgram, defaults: Mapping[str, Any], options: Mapping[str, Any],
               compile_with: Callable[..., Design]) -> Design:
    """The design of `program` with what its source asks for, for a target that has options with these `defaults`; the
    user's `options` win. Lanes that the target's schedule has no place for are left out, then copies of statements,
    which the record of attempts says. `compile_with` takes a program and options.

    Raises `ScheduleError` where a target without lanes cannot have what is asked for, and what `compile_with` raises.
    """
    forms = list(_forms(program, defaults, options))

    def stage(form: _Form) -> Design:
        return compile_with(form.program, **form.options)

    found = search(partial(_first, forms, stage), lambda design: design.predicted_start_to_done)
    if not isinstance(found, Infeasible):
        return found
    if len(forms) > 1 or not _asks(program):
        raise found.cause
    raise ScheduleError(f"{found.cause}; this is with {forms[0]}: leave it out with schedule='order'") from found.cause


def _forms(program: ScheduledProgram, defaults: Mapping[str, Any], options: Mapping[str, Any]) -> Iterator[_Form]:
    """What is asked for, then less and less of it. Raises `TransformError` for copies that cannot be."""
    plain, given = program.for_target(defaults, options)
    asked = "; ".join(map(str, program.copies)) or "nothing"
    yield _Form(f"what the schedule asks for, {asked}", plain, given)
    if "lanes" in defaults and "lanes" not in options and _asks(program):
        yield _Form("without the schedule's lanes", plain, options)
        if len(plain.statements) > len(program.statements):
            yield _Form("without the schedule's copies", program.algorithm, options)


def _asks(program: ScheduledProgram) -> bool:
    return bool(program.copies or program.tile_depth)


def _first(forms: list[_Form], stage: Callable[[_Form], Design]) -> Strategy[_Form, Design]:
    """The first form of which there is a design; if there is none, why the last one has none."""
    found: Design | Infeasible = Infeasible(ScheduleError("nothing is asked for"))
    for form in forms:
        found = yield Step(stage, form, form, final=True)
        if not isinstance(found, Infeasible):
            return found
    return found
