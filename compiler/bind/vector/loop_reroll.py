"""Rolling up: groups of statements that repeat with numbers in arithmetic progression become loops.

Tiles are made one by one, exactly; here what they have in common is found. Unrolling the result gives the same
statements again.
"""

from __future__ import annotations

from collections.abc import Sequence

from compiler.bind.vector.ir import (
    Instruction,
    Loop,
    Note,
    Number,
    Setting,
    Statement,
    Transfer,
    fields_of,
    number,
    with_fields,
)

__all__ = ["LoopGroup", "is_progression", "loop_of", "roll"]

Group = tuple[Statement, ...]
MOST_PERIOD = 16


def _shape(statement: Statement) -> object:
    """What two statements must have in common to become one in a loop."""
    match statement:
        case Setting():
            return ("set", statement.kind)
        case Instruction():
            return ("run", statement.mode)
        case Transfer():
            return ("move", statement.to_host, statement.array)
        case Note():
            return ("note", statement.text)
        case Loop():
            return ("loop", tuple(_shape(s) for s in statement.body))


def _numbers(group: Sequence[Statement]) -> list[Number]:
    found: list[Number] = []
    for statement in group:
        match statement:
            case Loop():
                found += [statement.count, *_numbers(statement.body)]
            case Note():
                continue
            case _:
                found += fields_of(statement)
    return found


def _base(value: Number) -> int:
    return value if isinstance(value, int) else value.base


def _steps(value: Number) -> tuple[int, ...]:
    return () if isinstance(value, int) else value.steps


class LoopGroup:
    """A group with what is compared."""

    def __init__(self, group: Group) -> None:
        self.group = group
        numbers = _numbers(group)
        self.shape = (tuple(_shape(s) for s in group), tuple(_steps(n) for n in numbers))
        self.bases = [_base(n) for n in numbers]


def _repeats(groups: list[LoopGroup], start: int, period: int) -> int:
    """How often the `period` groups from `start` on repeat with constant differences."""
    deltas: list[list[int]] | None = None
    count = 1
    while start + (count + 1) * period <= len(groups):
        now = groups[start + (count - 1) * period:start + count * period]
        following = groups[start + count * period:start + (count + 1) * period]
        if any(a.shape != b.shape for a, b in zip(now, following, strict=True)):
            break
        found = [[y - x for x, y in zip(a.bases, b.bases, strict=True)] for a, b in zip(now, following, strict=True)]
        if deltas is not None and found != deltas:
            break
        deltas = found
        count += 1
    return count


def _looped(statement: Statement, deltas: list[int]) -> Statement:
    """`statement` inside a new outermost loop; takes its share of `deltas` from the front."""
    match statement:
        case Loop():
            count = number(_base(statement.count), (deltas.pop(0), *_steps(statement.count)))
            return Loop(count, tuple(_looped(s, deltas) for s in statement.body))
        case Note():
            return statement
        case _:
            values = []
            for value in fields_of(statement):
                delta = deltas.pop(0)
                values.append(number(_base(value), (delta, *_steps(value))))
            return with_fields(statement, values)


def loop_of(now: Sequence[LoopGroup], following: Sequence[LoopGroup], count: int) -> Loop:
    """The groups `now`, `count` times, of which the second time are those `following`."""
    body: list[Statement] = []
    for a, b in zip(now, following, strict=True):
        deltas = [y - x for x, y in zip(a.bases, b.bases, strict=True)]
        body += [_looped(s, deltas) for s in a.group]
    return Loop(count, tuple(body))


def is_progression(first: LoopGroup, second: LoopGroup, last: LoopGroup, turns: int) -> bool:
    """Whether the `last` group is what the first two become, `turns` turns after the first one."""
    if not first.shape == second.shape == last.shape:
        return False
    return all(x + turns * (y - x) == z for x, y, z in zip(first.bases, second.bases, last.bases, strict=True))


def _pass(groups: list[LoopGroup]) -> list[LoopGroup]:
    """One walk: at each place the repetition that saves most."""
    result: list[LoopGroup] = []
    place = 0
    while place < len(groups):
        best, period = 1, 1
        saved = 0
        for candidate in range(1, min(MOST_PERIOD, (len(groups) - place) // 2) + 1):
            count = _repeats(groups, place, candidate)
            if (count - 1) * candidate > saved:
                best, period, saved = count, candidate, (count - 1) * candidate
        if best > 1:
            loop = loop_of(groups[place:place + period], groups[place + period:place + 2 * period], best)
            result.append(LoopGroup((loop,)))
            place += best * period
        else:
            result.append(groups[place])
            place += 1
    return result


def roll(groups: Sequence[Sequence[Statement]]) -> tuple[Statement, ...]:
    """The statements of all groups, rolled up; twice, for tiles in two dimensions."""
    work = [LoopGroup(tuple(g)) for g in groups if g]
    for _ in range(2):
        work = _pass(work)
    return tuple(s for g in work for s in g.group)


