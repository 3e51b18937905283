"""What a refusal recommends: another array, or other memories, with which the program has just been compiled."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from compiler.bind.buffers.wide_fetch import AccessPatternError
from compiler.bind.cgra.budget import Budget
from compiler.bind.cgra.elastic.errors import ElasticError
from compiler.bind.cgra.options import Options
from compiler.bind.cgra.place_and_route import Unroutable
from compiler.bind.cgra.predicate_tables import ControlError
from compiler.bind.cgra.retime import DelayShortage
from compiler.bind.cgra.sites import ArrayTooSmall, grid, kinds
from compiler.bind.cgra.timing import RecurrenceViolation
from compiler.sched.search.space import Infeasible
from hw.errors import SluiceError

__all__ = ["REMEDIED", "STANDARD_ARRAYS", "with_remedy"]

REMEDIED = (ArrayTooSmall, Unroutable, DelayShortage, RecurrenceViolation, AccessPatternError, ElasticError,
            ControlError)
"""Refusals for which there may be a remedy."""

STANDARD_ARRAYS = ("4x4", "8x4", "8x8", "16x8", "16x16", "32x16", "32x32")
"""Arrays that refusals recommend, the smallest first."""

_SECONDS = 20.0
"""Processor seconds in which a remedy has to show that it is one."""


def with_remedy(error: SluiceError, options: Options,
                search: Callable[[Options, Budget], object | Infeasible]) -> SluiceError:
    """`error` with the first change of `options` with which `search` finds something within a few seconds; as it is if
    there is none."""
    budget = Budget(_SECONDS, strict=True)
    for other, text in _remedies(error, options):
        if budget.spent:
            break
        if not isinstance(search(other, budget), Infeasible):
            error.args = (f"{error}; use {text}",)
            break
    return error


def _remedies(error: SluiceError, options: Options) -> Iterator[tuple[Options, str]]:
    """Other options, and how a command line writes them."""
    if isinstance(error, ArrayTooSmall | Unroutable | DelayShortage):
        for size in STANDARD_ARRAYS if not options.hardware else ():
            larger = replace(options, array=size)
            if _has_room(error, options, larger):
                yield larger, f"--array {size}"
        if isinstance(error, ArrayTooSmall) and error.lacks_units and options.share == "asked":
            yield replace(options, share="auto"), "--option share=auto"
        return
    if isinstance(error, RecurrenceViolation):
        for name, value in (("loops", "auto"), ("schedule", "pipelined")):
            if getattr(options, name) != value:
                yield replace(options, **{name: value}), f"--option {name}={value}"
    if not options.hardware and options.memory == "dual-port-pe" and not options.counter:
        yield replace(options, counter=True), "--option counter=True"
    if not options.hardware and options.memory != "dual-port":
        yield replace(options, memory="dual-port"), "--memory dual-port"


def _has_room(error: ArrayTooSmall | Unroutable | DelayShortage, options: Options, larger: Options) -> bool:
    """Whether an array has what an application needs, or for one that was not routed, more than the present one."""
    now, spec = options.fabric(), larger.fabric()
    if not isinstance(error, ArrayTooSmall):
        size, present = (spec.rows, spec.columns), (now.rows, now.columns)
        return size != present and all(new >= old for new, old in zip(size, present, strict=True))
    present = [len(grid(spec, kind)) for kind in range(len(kinds(spec)))]
    return all(need <= have for need, have in zip(error.needed, present, strict=True))
