"""Choosing tiles: of the shapes that fit the scratchpad the one that the cost model likes best."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from math import prod

from compiler.bind.vector.access import Box
from compiler.bind.vector.cost import CACHED, Timeline, constants, steady_times
from compiler.bind.vector.errors import VectorTargetError
from compiler.bind.vector.graph import Leaf, Reduce, Scatter, Take
from compiler.bind.vector.ir import Instruction, Statement, Transfer
from compiler.bind.vector.layout import extents, regions
from compiler.bind.vector.phases import Phase
from compiler.bind.vector.plan import PhasePlan, make_plan
from compiler.bind.vector.redundant_copies import Repeats
from compiler.bind.vector.row_streaming import SlidingPlan, make_sliding_plan
from compiler.bind.vector.select_loop_form import arranged
from compiler.bind.vector.shapes import Settings
from compiler.bind.vector.sizes import Sizes
from compiler.bind.vector.tile_boxes import NO_ENDS, Ends
from hw.vector_lanes.spec import VectorSpec

__all__ = ["Choice", "choose", "first_choice"]

TRANSFER, ROW = 4.0, 2.0
"""Cycles of the quick estimate per transfer, and per row that is moved on its own."""
ALL = 24
"""Plans of no more tiles are timed as a whole."""
VALUES = 3000
"""The same for the best plan, if it computes no more values in all its tiles: its ends are then chosen."""
SAMPLED, SLID = 12, 96
"""Tiles that are timed; the rest is taken to be like the last of them. The second: rows of sliding plans."""
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
ENDS = 3
"""Smaller tiles at each end, at most."""
DELAYS = ((1, 0), (4, 0), (3, 3), (3, 6))
"""Instructions of a tile that are tried in front of the transfers that follow the tile before, and between them."""
LATE = 2
"""Wavefronts or rows of the last tile that are tried to be stored first."""
NEAR, SLOW, COMPARED = 1.02, 1.1, 4
"""Plans whose predictions lie so near each other are compared with a memory that is so much slower while loads and
stores share it: what the lanes take of the scratchpad's ports is not in the model, and room for it has its worth."""
EARLY = (3, 8)
"""Operations of the first tile, at most, that are tried in halves."""


@dataclass(frozen=True)
class Choice:
    """A plan and its predicted clock cycles."""

    plan: PhasePlan | SlidingPlan
    cycles: float


def _counts(extent: int) -> Iterator[int]:
    """Sizes of parts to try for a dimension, from large to small: equal parts, then powers of two."""
    last = 0
    count = 1
    while last != 1:
        size = -(-extent // count)
        if size != last:
            last = size
            yield size
        count = count + 1 if count < 8 else -(-count * 5 // 4)
    yield from (1 << k for k in reversed(range((extent - 1).bit_length())))


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
        choice = _with_carry(Choice(plan, predict(plan)))
        return min([choice, *_further_ahead(choice.plan)], key=lambda c: c.cycles)
    found = _tiled(phase, sizes, spec, ENOUGH if len(sizes.bytes) > LARGE else MORE)
    best = _slid(phase, sizes, spec, _refined(found) if found else None)
    if best is None:
        raise _nothing_fits(phase, sizes, spec)
    return best


def first_choice(phase: Phase, sizes: Sizes, spec: VectorSpec) -> Choice:
    """The first plan that fits of those that `choose` looks at, in a hundredth of its time. Raises
    `VectorTargetError` if not even one element fits."""
    whole = make_plan(phase, sizes, spec, phase.shape)
    if whole.allocation.bytes <= spec.capacity:
        return Choice(whole, predict(whole))
    found = _tiled(phase, sizes, spec, 1)
    if not found:
        raise _nothing_fits(phase, sizes, spec)
    return found[0]


def _tiled(phase: Phase, sizes: Sizes, spec: VectorSpec, enough: int) -> list[Choice]:
    """Plans with the tiles that promise most: as many as are `enough`."""
    found: list[Choice] = []
    shapes = {(1,) * len(phase.shape), *(tile for series in _shapes(phase.shape) for tile in series)}
    # All at once is always worth a look, and one column beside sums: the estimate does not know how much these share
    # between results, nor that transfers can pack what they run over.
    worth = {phase.shape}
    if phase.shape and any(isinstance(node, Reduce) for node in sizes.bytes):
        worth.add((*phase.shape[:-1], 1))
    estimates = {tile: estimate(phase, sizes, spec, tile) for tile in shapes | worth}
    for tile in sorted(estimates, key=lambda t: (t not in worth, estimates[t].cycles, t)):
        if estimates[tile].bytes > spec.capacity:
            continue
        plan = make_plan(phase, sizes, spec, tile)
        if plan.allocation.bytes <= spec.capacity:
            found.append(_with_carry(Choice(plan, predict(plan))))
        if len(found) == enough:
            break
    return found


def _refined(choices: list[Choice]) -> Choice:
    """The fastest of the best few choices, or of those with loads further ahead, or with smaller tiles at the ends."""
    best = sorted(choices, key=lambda c: c.cycles)[:REFINED]
    best += [other for choice in best for other in _further_ahead(choice.plan)]
    best.sort(key=lambda c: c.cycles)
    varied = VARIED_LARGE if len(best[0].plan.sizes.bytes) > LARGE else VARIED
    best += [other for plan in _differing(best[:varied]) for other in _variants(plan)]
    tiles: dict[tuple[int, ...], Choice] = {}
    for choice in sorted(best, key=lambda c: c.cycles):
        tiles.setdefault(choice.plan.layout.tile, choice)
    first, *others = list(tiles.values())[:POLISHED]
    if len(first.plan.sizes.bytes) <= LARGE and first.plan.steps > 1:
        others = [other for other in others if other.cycles <= POLISHABLE * first.cycles]
    else:
        others = []
    choice = _steady([_polished(choice) for choice in (first, *others)])
    plan = choice.plan
    if not isinstance(plan, PhasePlan) or plan.steps <= ALL or plan.steps * len(plan.order.nodes) > VALUES:
        return choice
    plans = [plan, *(c.plan for c in _with_ends(plan, False) if isinstance(c.plan, PhasePlan))]
    return min((Choice(plan, _timed(plan)) for plan in plans), key=lambda c: c.cycles)


def _polished(choice: Choice) -> Choice:
    """The same tiles with what can be done about their ends and transfers: less for large phases, whose code takes
    long to be timed."""
    large = len(choice.plan.sizes.bytes) > LARGE
    for others in (_delayed, _early) if large else (_delayed, _early, _uneven, _late):
        tried = [choice, *others(choice.plan)]
        choice = min(tried, key=lambda c: c.cycles) if large else _steady(tried)
    return choice


def _steady(choices: list[Choice]) -> Choice:
    """The fastest one; of those that are nearly as fast, the one that suffers least from a slower memory."""
    ranked = sorted(choices, key=lambda c: c.cycles)
    best = ranked[0]
    near = [(c.plan, c) for c in ranked[:COMPARED] if isinstance(c.plan, PhasePlan) and 1 < c.plan.steps <= ALL
            and c.cycles <= NEAR * best.cycles]
    if len(near) < 2 or near[0][1] is not best:
        return best
    slow = [(_timed(plan, SLOW), choice.cycles) for plan, choice in near]
    return near[slow.index(min(slow))][1]


def _differing(choices: list[Choice]) -> list[PhasePlan]:
    """One plan for each shape of tiles, with and without rows copied on chip: all others have the same variants."""
    found: dict[tuple[tuple[int, ...], bool], PhasePlan] = {}
    for plan in (choice.plan for choice in choices):
        if isinstance(plan, PhasePlan):
            found.setdefault((plan.layout.tile, plan.carry), plan)
    return list(found.values())


def _variants(plan: PhasePlan) -> Iterator[Choice]:
    """The same tiles with arrays that stay as a whole, if they fit, and then or else with smaller tiles at the ends."""
    if plan.layout.tile and plan.steps + 2 * ENDS <= ALL:
        whole = list(_variant(plan, 2, NO_ENDS, whole=True)) if plan.steps > 1 else []
        yield from whole
        yield from _with_ends(plan, plan.steps == 1 or bool(whole))


def _delayed(plan: PhasePlan | SlidingPlan) -> Iterator[Choice]:
    """The same tiles with transfers behind the first instructions of the next tile, and then or else one more loaded
    ahead. Behind all of its instructions they would come in time by the model, but do not on the machine."""
    if not isinstance(plan, PhasePlan) or not 2 <= plan.steps <= ALL:
        return
    instructions = _instructions(plan)
    for ahead in (plan.ahead, plan.ahead + 1):
        other = make_plan(plan.phase, plan.sizes, plan.spec, plan.layout.tile, plan.carry, ahead, plan.ends, plan.whole)
        if other.allocation.bytes <= plan.spec.capacity:
            plans = [replace(other, delay=delay, gap=gap) for delay, gap in DELAYS if delay < instructions]
            yield from (Choice(delayed, predict(delayed)) for delayed in plans)


def _instructions(plan: PhasePlan) -> int:
    """Vector instructions of the second tile: the first one may begin in parts."""
    group = next(islice(plan.segments(Settings()), 2, None))
    return sum(isinstance(statement, Instruction) for statement in group)


def _early(plan: PhasePlan | SlidingPlan) -> Iterator[Choice]:
    """The same with operations of the first tile that begin when half of it has come."""
    if isinstance(plan, PhasePlan) and plan.steps <= ALL:
        plans = [replace(plan, early=early) for early in EARLY]
        yield from (Choice(started, predict(started)) for started in plans)


def _late(plan: PhasePlan | SlidingPlan) -> Iterator[Choice]:
    """The same with a part of the last tile that is stored before the rest is done."""
    if not isinstance(plan, PhasePlan) or plan.steps > ALL or not plan.layout.tile:
        return
    if _rows(plan.boxes[-1]) > LATE * plan.unit:
        finished = replace(plan, late=LATE)
        yield Choice(finished, predict(finished))


def _rows(box: Box) -> int:
    return box[0][1] - box[0][0]


def _further_ahead(plan: PhasePlan | SlidingPlan) -> Iterator[Choice]:
    if isinstance(plan, PhasePlan) and plan.steps >= 3:
        yield from _variant(plan, 2, NO_ENDS)


def _with_ends(plan: PhasePlan, whole: bool) -> Iterator[Choice]:
    """Plans whose first and last tiles are smaller: halves of the tile, then of these, to both sides."""
    for parts in _halvings(plan)[1:]:
        yield from _variant(plan, 2, Ends(parts[::-1], parts), whole)


def _halvings(plan: PhasePlan) -> list[tuple[int, ...]]:
    """Extents of the last tiles: none, then halves of the tile, one more each time."""
    found: list[tuple[int, ...]] = [()]
    part = plan.layout.tile[0]
    for _ in range(ENDS):
        half = -(-part // (2 * plan.unit)) * plan.unit
        if half >= part:
            break
        part = half
        found.append((*found[-1], part))
    return found


def _uneven(plan: PhasePlan | SlidingPlan) -> Iterator[Choice]:
    """The same with another number of small tiles at the beginning or at the end, or a first one that is a little
    larger: what the lanes wait for is not the same there, for at the beginning the core has yet to fetch the code."""
    if not isinstance(plan, PhasePlan) or not plan.layout.tile or not 2 <= plan.steps <= ALL:
        return
    first, last = plan.ends
    tried = [Ends(parts[::-1], last) for parts in _halvings(plan)] + [Ends(first, parts) for parts in _halvings(plan)]
    tried += [Ends((first[0] + more * plan.unit, *first[1:]), last) for more in (1, 2) if first]
    for ends in tried:
        if max(*ends.first, *ends.last, 0, 0) < plan.layout.tile[0]:
            other = make_plan(plan.phase, plan.sizes, plan.spec, plan.layout.tile, plan.carry, plan.ahead, ends,
                              plan.whole)
            if other.allocation.bytes <= plan.spec.capacity and other.steps <= ALL:
                other = replace(other, delay=plan.delay, gap=plan.gap, early=plan.early)
                yield Choice(other, predict(other))


def _variant(plan: PhasePlan, ahead: int, ends: Ends, whole: bool = False) -> Iterator[Choice]:
    other = make_plan(plan.phase, plan.sizes, plan.spec, plan.layout.tile, plan.carry, ahead, ends, whole)
    if other.allocation.bytes <= plan.spec.capacity:
        yield Choice(other, predict(other))


def _slid(phase: Phase, sizes: Sizes, spec: VectorSpec, best: Choice | None) -> Choice | None:
    """The best plan so far, or one that slides down the rows if that is faster."""
    tried = 0
    for columns in _counts(phase.shape[1]) if len(phase.shape) == 2 else ():
        plan = make_sliding_plan(phase, sizes, spec, columns)
        if plan is None or tried == WIDTHS:
            break
        if plan.allocation.bytes > spec.capacity:
            continue
        choice = Choice(plan, predict(plan))
        if best is None or choice.cycles < best.cycles:
            best = choice
        tried += 1
    return best


@dataclass(frozen=True)
class Estimate:
    """A quick guess at clock cycles, and bytes of scratchpad that are needed at least."""

    cycles: float
    bytes: int


def estimate(phase: Phase, sizes: Sizes, spec: VectorSpec, tile: tuple[int, ...]) -> Estimate:
    """What the elements of all nodes and transfers of a tile cost, without making its code."""
    boxes = regions(phase.graph, tuple((0, n) for n in tile), clip=False)
    results = {r.node for r in phase.graph.results}
    count = prod(-(-n // t) for n, t in zip(phase.shape, tile, strict=True))
    waves, beats, held = 0.0, 0.0, 0
    for node, box in boxes.items():
        size = sizes.bytes.get(node, 4)
        elements = prod(extents(box))
        if isinstance(node, Leaf):
            beats += _beats(node.shape, extents(box), size, spec)
            held += elements * size
            continue
        form = sizes.forms.get(node)
        lanes = _waves(extents(box), max(size, form.in_size if form else 1), spec)
        waves += elements if isinstance(node, Take) else lanes
        if isinstance(node, Scatter):
            waves += prod(node.extents)
        if isinstance(node, Reduce):
            waves += elements * prod(node.extents[:-1]) * -(-node.extents[-1] * size // spec.row_bytes)
        if node in results:
            beats += _beats(phase.shape, extents(box), size, spec)
            held += elements * size * (2 if count > 1 else 1)
    busy = max(waves + len(boxes), beats, constants(spec.lanes).instruction * len(boxes))
    return Estimate(count * busy + min(beats, waves), held)


def _waves(shape: tuple[int, ...], size: int, spec: VectorSpec) -> float:
    """Wavefronts of an operation: between those of one long vector and those of a vector per row."""
    joined = -(-prod(shape) * size // spec.row_bytes)
    if len(shape) < 2:
        return joined
    return 0.7 * joined + 0.3 * prod(shape[:-1]) * -(-shape[-1] * size // spec.row_bytes)


def _beats(whole: tuple[int, ...], shape: tuple[int, ...], size: int, spec: VectorSpec) -> float:
    """Cycles of a transfer of a part of an array."""
    rows = prod(shape[:-1]) if len(shape) > 1 and shape[-1] < whole[-1] else 0
    extra = rows * (constants(spec.lanes).row + ROW) + TRANSFER
    return prod(shape) * size / spec.memory_bytes + extra


def _with_carry(choice: Choice) -> Choice:
    """The same tiles with shared rows copied on chip, if that is faster."""
    plan = choice.plan
    if plan.steps == 1 or not isinstance(plan, PhasePlan) or (plan.steps <= ALL and not plan.overlaps()):
        return choice
    plan = replace(plan, carry=True)
    other = Choice(plan, predict(plan))
    return other if other.cycles < choice.cycles else choice


def _nothing_fits(phase: Phase, sizes: Sizes, spec: VectorSpec) -> VectorTargetError:
    return _too_small(phase, make_plan(phase, sizes, spec, (1,) * len(phase.shape)), spec)


def _too_small(phase: Phase, plan: PhasePlan, spec: VectorSpec) -> VectorTargetError:
    result = phase.graph.results[0]
    segment = "x".join(map(str, plan.layout.tile)) or "1"
    return VectorTargetError(f"{result.node.location}: the scratchpad of {spec.capacity} bytes is too small for a "
                             f"segment of {segment} elements, which takes {plan.allocation.bytes} bytes "
                             f"({plan.allocation.registers} registers)")


def predict(plan: PhasePlan | SlidingPlan) -> float:
    """Clock cycles of a phase: a few tiles are timed as the code that they become, of more only the first ones, and the
    others are taken to be like the last of them."""
    return _timed(plan) if isinstance(plan, PhasePlan) and plan.steps <= ALL else _sampled(plan)


def _timed(plan: PhasePlan, sharing: float = 1.0) -> float:
    return arranged(list(map(Repeats().without, plan.segments(Settings()))), plan.spec, sharing)[0]


def _sampled(plan: PhasePlan | SlidingPlan) -> float:
    timeline = Timeline(plan.spec)
    times: list[float] = []
    total = plan.steps
    sampled = SAMPLED if isinstance(plan, PhasePlan) else min(plan.height, plan.ahead + SLID)
    longest, steady = 0, []
    # Before that, tiles have code of their own, or code that is fetched.
    first = plan.period + 1 + (plan.ahead if isinstance(plan, SlidingPlan) else 0)
    last: list[Statement] = []
    for number, group in enumerate(map(Repeats().without, plan.segments(Settings()))):
        timeline.cold = number <= plan.period or plan.period * longest > CACHED
        before = timeline.words
        timeline.feed(group)
        longest = max(longest, timeline.words - before)
        times.append(timeline.horizon)
        last = group
        steady = steady_times(times[first:])
        if steady or number >= sampled + 1:
            break
    if len(times) > total:
        return timeline.now
    if isinstance(plan, SlidingPlan) and sampled < plan.height:
        row = sum(steady) / len(steady) if steady else (times[-1] - times[-1 - SLID // 2]) / (SLID // 2)
        block = times[-1] - times[0] + row * (plan.height + 1 - len(times))
        return timeline.now - times[-1] + times[0] + block * plan.steps / plan.height
    # The last tiles load nothing: what they compute and store then follows alone.
    drained = plan.ahead if isinstance(plan, PhasePlan) else 0
    step = sum(steady) / len(steady) if steady else (times[-1] - times[1]) / (len(times) - 2)
    for _ in range(drained):
        timeline.feed(s for s in last if not isinstance(s, Transfer) or s.to_host)
    return timeline.now + step * (total + 1 - drained - len(times))
