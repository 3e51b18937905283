"""Choosing tiles: of the shapes that fit the scratchpad the one that the cost model likes best."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from compiler.bind.vector.cost import Timeline
from compiler.bind.vector.errors import VectorTargetError
from compiler.bind.vector.phases import Phase
from compiler.bind.vector.plan import PhasePlan, make_plan
from compiler.bind.vector.shapes import Settings
from compiler.bind.vector.sizes import Sizes
from hw.vector_lanes.spec import VectorSpec

__all__ = ["Choice", "choose"]

SAMPLED = 5
"""Tiles that are timed; the rest is taken to be like the last of them."""
ENOUGH = 6
"""Shapes that fit and are tried, from the largest tile on, before the search ends."""


@dataclass(frozen=True)
class Choice:
    """A plan and its predicted clock cycles."""

    plan: PhasePlan
    cycles: float


def _counts(extent: int) -> Iterator[int]:
    """Numbers of parts to try for a dimension."""
    last = 0
    count = 1
    while last != 1:
        size = -(-extent // count)
        if size != last:
            last = size
            yield size
        count = count + 1 if count < 8 else -(-count * 5 // 4)


def _shapes(shape: tuple[int, ...]) -> Iterator[Iterator[tuple[int, ...]]]:
    """Series of tile shapes, each from large to small: whole rows first, then parts of rows."""
    if not shape:
        yield iter([()])
        return
    if len(shape) == 1:
        yield ((t,) for t in _counts(shape[0]))
        return
    if len(shape) == 2:
        width = 1
        while width <= shape[1]:
            columns = -(-shape[1] // width)
            yield ((t, columns) for t in _counts(shape[0]))
            width *= 2
        return
    for axis in range(len(shape)):
        yield ((1,) * axis + (t,) + shape[axis + 1:] for t in _counts(shape[axis]))


def choose(phase: Phase, sizes: Sizes, spec: VectorSpec, fixed: tuple[int, ...] | None = None) -> Choice:
    """The best plan. Raises `VectorTargetError` if not even one element fits."""
    if fixed is not None:
        plan = make_plan(phase, sizes, spec, fixed)
        if plan.allocation.bytes > spec.capacity:
            raise _too_small(phase, plan, spec)
        return _with_carry(Choice(plan, predict(plan)))
    best: Choice | None = None
    smallest: PhasePlan | None = None
    barren = 0
    for series in _shapes(phase.shape):
        found = 0
        for tile in series:
            plan = make_plan(phase, sizes, spec, tile)
            smallest = plan
            if plan.allocation.bytes > spec.capacity:
                continue
            choice = _with_carry(Choice(plan, predict(plan)))
            found += 1
            if best is None or choice.cycles < best.cycles:
                best, barren = choice, 0
            else:
                barren += 1
            if found >= ENOUGH and barren >= 2:
                break
        if best is not None and barren >= 2:
            break
    if best is None:
        assert smallest is not None
        raise _too_small(phase, smallest, spec)
    return best


def _with_carry(choice: Choice) -> Choice:
    """The same tiles with shared rows copied on chip, if that is faster."""
    if len(choice.plan.origins) == 1:
        return choice
    plan = replace(choice.plan, carry=True)
    other = Choice(plan, predict(plan))
    return other if other.cycles < choice.cycles else choice


def _too_small(phase: Phase, plan: PhasePlan, spec: VectorSpec) -> VectorTargetError:
    result = phase.graph.results[0]
    segment = "x".join(map(str, plan.layout.tile)) or "1"
    return VectorTargetError(f"{result.node.location}: the scratchpad of {spec.capacity} bytes is too small for a "
                             f"segment of {segment} elements, which takes {plan.allocation.bytes} bytes "
                             f"({plan.allocation.registers} registers)")


def predict(plan: PhasePlan) -> float:
    """Clock cycles of a phase: the first tiles are timed, the others taken to be alike."""
    timeline = Timeline(plan.spec)
    times: list[float] = []
    total = len(plan.origins)
    for number, group in enumerate(plan.segments(Settings())):
        timeline.feed(group)
        times.append(max(timeline.lanes, timeline.dma))
        if number >= SAMPLED + 1:
            break
    if len(times) > total:
        return timeline.now
    step = (times[-1] - times[1]) / (len(times) - 2)
    return timeline.now + step * (total + 1 - len(times))
