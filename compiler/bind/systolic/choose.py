"""Choices that the user leaves open: a simple search with the latency model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import combinations, product
from math import prod

from compiler.attempts import note_attempt
from compiler.bind.systolic.errors import MappingError
from compiler.bind.systolic.kernel import Kernel
from compiler.bind.systolic.latency import predict
from compiler.bind.systolic.options import Options
from compiler.bind.systolic.plan import Choice, Plan, make_plan
from compiler.bind.systolic.simd import simd_loops
from compiler.sched.space_time import check_space, enumerate_arrays
from hw.systolic.spec import INTERIOR

__all__ = ["choose"]

_SIDE = 4
"""Processing elements along a space loop, and lanes, unless the user says otherwise."""

_WORDS = 1024
"""Words of a feeder, and accumulators of a processing element, up to which tiles grow by themselves."""


def choose(kernel: Kernel, options: Options) -> Plan:
    """The plan of `options`, what they leave open chosen. Raises what `make_plan` raises."""
    space = options.space or _space(kernel, options)
    check_space(kernel.analysis, space)
    _check_loops(kernel, "time", options.time or {})
    array = options.array or tuple(min(_SIDE if len(space) == 2 else 2 * _SIDE, kernel.extent(name)) for name in space)
    simd, lanes = options.simd or _simd(kernel, space)
    if simd:
        _check_loops(kernel, "simd", {simd: lanes})
        reason = simd_loops(kernel)[simd].reason
        if reason:
            legal = ", ".join(name for name, found in simd_loops(kernel).items() if not found.reason) or "none"
            raise MappingError(f"loop '{simd}' cannot run in lanes: {reason}; legal are: {legal}")
    base = Choice(space, array, dict(options.time or {}), options.order or _order(kernel), simd, lanes, options.pack,
                  options.double_buffering, options.bus_bits)
    fixed = set(options.time or {})
    return _grown(kernel, base, [name for name in kernel.loops if name not in fixed])


def _check_loops(kernel: Kernel, option: str, values: Mapping[str, int]) -> None:
    for name in values:
        if name not in kernel.loops:
            raise MappingError(f"{option} names '{name}', which is no loop of program '{kernel.program.name}'; its "
                               f"loops are {', '.join(kernel.loops)}")


def _space(kernel: Kernel, options: Options) -> tuple[str, ...]:
    """Most processing elements first, then the fewest references that every one of them needs a feeder for."""
    wanted = None if options.array is None else len(options.array)
    offers = [space for space in enumerate_arrays(kernel.analysis) if wanted in (None, len(space))]
    if not offers:
        raise MappingError(f"array has {wanted} extents, but program '{kernel.program.name}' has no array of that many "
                           "dimensions")

    def cost(space: tuple[str, ...]) -> tuple[int, int, int]:
        elements = prod(min(_SIDE, kernel.extent(name)) for name in space)
        feeders = sum(all(reference.depends(kernel.loops.index(name)) for name in space) for reference in kernel.reads)
        return -elements, feeders, sum(name in kernel.reduction_loops for name in space)

    return min(offers, key=cost)


def _simd(kernel: Kernel, space: tuple[str, ...]) -> tuple[str, int]:
    """Reductions first: their lanes share one accumulator; then loops without overlapping words, the longest one."""
    offers = [(name, found) for name, found in simd_loops(kernel).items() if not found.reason and name not in space]

    def cost(offer: tuple[str, object]) -> tuple[bool, bool, int]:
        name = offer[0]
        return (name not in kernel.reduction_loops, bool(simd_loops(kernel)[name].repeated), -kernel.extent(name))

    for name, _ in sorted(offers, key=cost):
        lanes = _SIDE
        while lanes > kernel.extent(name):
            lanes //= 2
        if lanes > 1:
            return name, lanes
    return "", 1


def _order(kernel: Kernel) -> tuple[str, ...]:
    """Reductions innermost: results of a tile come one after the other, and leave while others are computed."""
    return (*(name for name in kernel.loops if name not in kernel.reduction_loops), *kernel.reduction_loops)


def _grown(kernel: Kernel, choice: Choice, free: list[str]) -> Plan:
    """Tiles grow, along one loop or two at once, as long as the model says that the run becomes shorter."""
    best = make_plan(kernel, choice)
    while True:
        steps = ", ".join(f"{n} of {name}" for name, n in best.choice.time.items())
        note_attempt(f"tiles larger than {steps or 'one step'}")
        for together in (1, 2):
            offers = [make_plan(kernel, replace(choice, time=time)) for time in _larger(best, free, together)]
            candidate = min((plan for plan in offers if _fits(plan)), key=_cost, default=best)
            if _cost(candidate) < _cost(best):
                break
        else:
            return best
        best = candidate


def _cost(plan: Plan) -> tuple[int, int, int]:
    """Cycles by the model, bytes that come from memory, words on the chip."""
    return predict(plan.spec, plan.tiles).total, _traffic(plan), sum(_storage(plan))


def _traffic(plan: Plan) -> int:
    """Bytes of the tiles that are fetched: loops inside the innermost one that matters and steps fetch nothing."""
    total = 0
    for operand in plan.spec.streams:
        inner = max((k for k in operand.tile_loops if plan.tiles[k] > 1), default=-1)
        total += prod(plan.tiles[: inner + 1]) * plan.spec.operand_bytes(operand)
    return total


def _larger(plan: Plan, free: list[str], together: int) -> Iterator[dict[str, int]]:
    """Steps per tile with more along `together` loops: twice as many each, or all there are."""
    for names in combinations(free, together):
        for offers in product(*(_more(plan, name) for name in names)):
            yield dict(plan.choice.time) | dict(zip(names, offers, strict=True))


def _more(plan: Plan, name: str) -> list[int]:
    split = plan.split(name)
    whole = -(-plan.kernel.extent(name) // (split.count * split.lanes))
    return [steps for steps in dict.fromkeys((min(2 * split.time, whole), whole)) if steps > split.time]


def _storage(plan: Plan) -> list[int]:
    spec = plan.spec
    return [*(operand.words * (spec.feeders(operand) if operand.direction == INTERIOR else 1)
              for operand in spec.operands), spec.result.words]


def _fits(plan: Plan) -> bool:
    return all(operand.words <= _WORDS for operand in plan.spec.operands) and plan.spec.result.words <= _WORDS
