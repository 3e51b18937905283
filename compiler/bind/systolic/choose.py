"""Choices that the user leaves open: a simple search by predicted cycles from start to done."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from math import prod

import numpy as np

from compiler.attempts import note_attempt
from compiler.bind.bounds import program_traffic
from compiler.bind.systolic.body import partial_sums
from compiler.bind.systolic.errors import MappingError
from compiler.bind.systolic.kernel import Kernel
from compiler.bind.systolic.options import Options
from compiler.bind.systolic.plan import (
    Choice,
    Plan,
    check_loops,
    legal_spaces,
    make_plan,
)
from compiler.bind.systolic.simd import simd_loops
from compiler.bind.systolic.sum_orders import time_orders, with_sums_in_order
from compiler.bind.systolic.timeline import start_to_done
from compiler.bind.systolic.tuner.estimate import Tilings
from compiler.bind.systolic.tuner.search import step_choices
from compiler.bind.systolic.tuner.shapes import Shape
from hw.main_memory import MainMemory
from hw.systolic.spec import INTERIOR

__all__ = ["choose"]

_SIDE = 4
"""Processing elements along a space loop, and lanes, unless the user says otherwise."""

_ALIKE = 1.05
"""Cycles, relative to the fastest, for which a smaller array is taken."""

_WORDS = 1024
"""Words of a feeder, and accumulators of a processing element, of the largest tiles that are chosen."""

_PROMISING = 24
"""Tilings of a shape whose events are followed."""


def choose(kernel: Kernel, options: Options) -> Plan:
    """The plan of `options`, what they leave open chosen: of arrays about as fast as the fastest the one with the
    fewest evaluations per cycle. Raises what `make_plan` raises."""
    space = options.space or _space(kernel, options)
    check_loops(kernel, space, options.simd[0] if options.simd else "")
    _check_loops(kernel, "time", options.time or {})
    if options.simd and options.simd[0]:
        _check_simd(kernel, *options.simd)
    plans = [_tiled(kernel, options, space, array, simd) for array, simd in _shapes(kernel, options, space)]
    memory = options.main_memory(options.bus_bits)
    cycles = [start_to_done(plan.spec, plan.tiles, memory) for plan in plans]
    fast = [plan for plan, own in zip(plans, cycles, strict=True) if own <= _ALIKE * min(cycles)]
    return min(fast, key=lambda plan: plan.spec.macs)


def _check_simd(kernel: Kernel, simd: str, lanes: int) -> None:
    _check_loops(kernel, "simd", {simd: lanes})
    reason = simd_loops(kernel)[simd].reason
    if reason:
        legal = ", ".join(name for name, found in simd_loops(kernel).items() if not found.reason) or "none"
        raise MappingError(f"loop '{simd}' cannot run in lanes: {reason}; legal are: {legal}")


def _shapes(kernel: Kernel, options: Options, space: tuple[str, ...]) -> list[tuple[tuple[int, ...], tuple[str, int]]]:
    """Positions along the space loops, and loop and lanes of SIMD, that are worth a look: the largest, and smaller ones
    that the memory port keeps from being faster."""
    array = options.array or tuple(min(_SIDE if len(space) == 2 else 2 * _SIDE, kernel.extent(name)) for name in space)
    simd, lanes = options.simd or _simd(kernel, space)
    arrays, widths = {array}, {lanes}
    if options.array is None:
        arrays |= {tuple(max(1, count >> (k in halved)) for k, count in enumerate(array))
                   for size in range(1, len(array) + 1) for halved in combinations(range(len(array)), size)}
    if options.simd is None:
        widths |= {lanes >> shift for shift in range(1, lanes.bit_length())}
    least = program_traffic(kernel.program).cycles(options.main_memory(options.bus_bits))
    bound = max(_ALIKE * least, kernel.instances / (prod(array) * lanes))
    return [(own, (simd, width) if width > 1 else ("", 1)) for own in sorted(arrays) for width in sorted(widths)
            if kernel.instances / (prod(own) * width) <= bound]


def _tiled(kernel: Kernel, options: Options, space: tuple[str, ...], array: tuple[int, ...], simd: tuple[str, int]
           ) -> Plan:
    """The plan of a shape with the best tiles: of those that the model of latency takes for the fastest, the one that
    is by the times of all events."""
    note_attempt(f"tiles of {Shape(space, array, *simd)}")
    memory = options.main_memory(options.bus_bits)
    plans = [make_plan(kernel, Choice(space, array, time, order, *simd, options.pack, options.double_buffering,
                                      options.bus_bits, options.latency, parts))
             for time in _promising(kernel, Shape(space, array, *simd), options)
             for order in ([options.order] if options.order else time_orders(kernel))
             for parts in _partial_sums(kernel, options, time, order)]
    if not plans:
        loop = kernel.reduction_loops[-1] if kernel.reduction_loops else "k"
        count = options.partial_sums
        raise MappingError(f"partial_sums={count} alternate in the innermost loop of a tile, a sum's, of a multiple "
                           f"of {count} steps; legal is time={loop}:{count} and an order that ends with {loop}")
    return min(plans, key=lambda plan: _cost(plan, memory))


def _partial_sums(kernel: Kernel, options: Options, time: Mapping[str, int], order: Sequence[str]) -> list[int]:
    """Partial sums of each result that are worth a look: none, or as many as the adder takes cycles, or fewer if the
    innermost loop of a tile has not so many steps."""
    inner = next((name for name in reversed(order) if time.get(name, 1) > 1), "")
    most = time[inner] & -time[inner] if inner in kernel.reduction_loops else 1
    if options.partial_sums is not None:
        return [options.partial_sums] if options.partial_sums <= most else []
    if not kernel.reassociated:
        return [1]
    return sorted({1, min(partial_sums(kernel, options.latency), most)})


def _promising(kernel: Kernel, shape: Shape, options: Options) -> list[dict[str, int]]:
    """Steps per tile along every loop that are fast by the model of latency; of tiles too large for feeders and
    accumulators only those that the user asks for."""
    times = step_choices(kernel, shape)
    for name, steps in (options.time or {}).items():
        times[:, kernel.loops.index(name)] = steps
    tilings = Tilings(kernel, shape, with_sums_in_order(kernel, np.unique(times, axis=0)), options.bus_bits,
                      options.latency)
    words = np.maximum.reduce([tilings.geometry.results.own, *(o.words for o in tilings.geometry.operands)])
    rows = np.flatnonzero((words <= _WORDS) | (words == words.min()))
    rows = rows[np.argsort(tilings.cycles[rows], kind="stable")[:_PROMISING]]
    return [dict(zip(kernel.loops, map(int, tilings.times[row]), strict=True)) for row in rows]


def _check_loops(kernel: Kernel, option: str, values: Mapping[str, int]) -> None:
    for name in values:
        if name not in kernel.loops:
            raise MappingError(f"{option} names '{name}', which is no loop of program '{kernel.program.name}'; its "
                               f"loops are {', '.join(kernel.loops)}")


def _space(kernel: Kernel, options: Options) -> tuple[str, ...]:
    """Most processing elements first, then the fewest references that every one of them needs a feeder for."""
    wanted = None if options.array is None else len(options.array)
    offers = [space for space in legal_spaces(kernel) if wanted in (None, len(space))]
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


def _cost(plan: Plan, memory: MainMemory) -> tuple[int, int, int]:
    """Cycles from start to done, bytes that come from memory, words on the chip."""
    return start_to_done(plan.spec, plan.tiles, memory), _traffic(plan), sum(_storage(plan))


def _traffic(plan: Plan) -> int:
    """Bytes of the tiles that are fetched: loops inside the innermost one that matters and steps fetch nothing."""
    total = 0
    for operand in plan.spec.streams:
        total += prod(plan.tiles[: plan.spec.innermost(operand, plan.tiles) + 1]) * plan.spec.operand_bytes(operand)
    return total


def _storage(plan: Plan) -> list[int]:
    spec = plan.spec
    return [*(operand.words * (spec.feeders(operand) if operand.direction == INTERIOR else 1)
              for operand in spec.operands), spec.result.words]
