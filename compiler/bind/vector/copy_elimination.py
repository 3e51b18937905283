"""Straight code without the copies from and to arrays that stay on chip: operands and targets lie in these instead.

Code stands for all turns of a loop whose addresses step, of which few are looked at. So what is decided here holds in
all of them: places that are equal in the turns that are looked at are equal in every one, but places in one array that
are different may be the same in another turn.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from compiler.bind.vector.access_ranges import ANYWHERE, Span
from compiler.bind.vector.straight_code import Move, Rows, Work, is_copy

__all__ = ["without_copies"]

Code = list[Work | Move]

ArrayAt = Callable[[Span], str | None]
"""The array on chip that bytes lie in; None for other places."""

MOST = 400
"""Instructions of straight code that are looked at: each is compared with the others."""


def without_copies(code: Sequence[Work | Move], array_at: ArrayAt) -> Code:
    """The same code, as far as arrays on chip and in memory are concerned."""
    found = list(code)
    if len(found) > MOST:
        return found
    for _ in range(2):
        found = _forwarded(found, array_at)
        found = _Targets(found, array_at).run()
        found = _needed(found, array_at)
    return found


def _meet(a: Span, b: Span) -> bool:
    return a[0] < b[1] and b[0] < a[1]


def _reads(one: Work | Move) -> list[Span]:
    if isinstance(one, Move):
        return [one.local().span] if one.code.to_host else []
    found = list(one.touched().reads.values())
    return [*found, one.touched().writes] if one.keeps else found


def _writes(one: Work | Move) -> Span | None:
    if isinstance(one, Move):
        return None if one.code.to_host else one.local().span
    return one.touched().writes


# Operands.


@dataclass(frozen=True)
class _Copy:
    """Bytes that have been copied, and neither they nor their source have changed since."""

    target: Rows
    source: Rows
    array: str | None


def _forwarded(code: Code, array_at: ArrayAt) -> Code:
    """Instructions read what has been copied where it was copied from."""
    copies: list[_Copy] = []
    found: Code = []
    for one in code:
        now = _reread(one, copies, array_at) if isinstance(one, Work) else one
        found.append(now)
        written = _writes(now)
        if written is None:
            continue
        array = array_at(written)
        copies = [c for c in copies if not _meet(written, c.target.span) and not (
            c.array == array if c.array else _meet(written, c.source.span)) and written != ANYWHERE]
        if isinstance(now, Work) and array is None and (copy := _copied(now, array_at)):
            copies.append(copy)
    return found


def _copied(work: Work, array_at: ArrayAt) -> _Copy | None:
    target = work.target()
    if not is_copy(work) or target is None:
        return None
    ((count, step),) = work.steps("A") or [(1, 0)]
    source = Rows.of(work.base("A"), work.row_bytes("A"), count, step)
    if _meet(target.span, source.span):
        return None
    if target.count != source.count:
        ((count, inner),) = work.steps("D")
        target, source = (Rows(work.base(o), work.row_bytes(o), count, s) for o, s in (("D", inner), ("A", step)))
    return _Copy(target, source, array_at(source.span))


def _reread(work: Work, copies: Sequence[_Copy], array_at: ArrayAt) -> Work:
    for operand in work.operands:
        for copy in reversed(copies):
            moved = _replaced(work, operand, copy.target, copy.source)
            if moved is not None and _reads_first(moved, work, array_at):
                work = moved
                break
    return work


def _reads_first(work: Work, before: Work, array_at: ArrayAt) -> bool:
    """Whether an instruction reads each element before it writes one there, if it did so `before` it was changed."""
    if work.length == 1 and not work.shape:
        return True
    return all((work.place(operand), work.place("D")) == (before.place(operand), before.place("D"))
               or work.place(operand) == work.place("D") or not _may_meet(work, operand, array_at)
               for operand in work.operands)


def _may_meet(work: Work, operand: str, array_at: ArrayAt) -> bool:
    """Whether an operand and what is written may have a byte in common, in this turn or in another."""
    read, written = work.touched().reads[operand], work.touched().writes
    array = array_at(written)
    return array_at(read) == array if array else _meet(read, written)


def _replaced(work: Work, operand: str, old: Rows, new: Rows) -> Work | None:
    """`work` with an operand in `new` that lies in `old`, rows that correspond to each other; None if it does not lie
    there, or no instruction does that."""
    if old.step == new.step or old.count == 1:
        inside = old.holds(work.base(operand), work.row_bytes(operand), work.steps(operand))
        return work.moved(operand, new.base - old.base) if inside else None
    if work.base(operand) != old.base:
        return None
    if not work.shape and work.row_bytes(operand) == old.size * old.count and old.step == old.size:
        work = _in_rows(work, old.count)
    if len(work.shape) != 1 or work.row_bytes(operand) != old.size or work.steps(operand) != [(old.count, old.step)]:
        return None
    values = list(work.shape[0])
    values["_DAB".index(operand)] = new.step
    return replace(work.moved(operand, new.base - old.base), shape=(tuple(values),))


def _in_rows(work: Work, count: int) -> Work:
    """A vector as so many rows."""
    if work.mode.accumulate or not work.is_plain or work.mode.enumerated or work.length % count:
        return work
    short = replace(work, length=work.length // count)
    steps = [short.row_bytes(o) if o == "D" or o in work.operands else 0 for o in "DAB"]
    code = replace(work.code, mode=replace(work.mode, dimensions=1))
    return replace(short, code=code, shape=((count, *steps),))


# Targets.


class _Targets:
    """Writes straight to arrays on chip what is copied there."""

    def __init__(self, code: Code, array_at: ArrayAt) -> None:
        self.code = code
        self.array_at = array_at

    def run(self) -> Code:
        """The code without these copies."""
        place = 0
        while place < len(self.code):
            if not self._retargeted(place):
                place += 1
        return self.code

    def _retargeted(self, place: int) -> bool:
        one = self.code[place]
        if not isinstance(one, Work) or not is_copy(one):
            return False
        copy = _copied(one, self.array_at)
        array = copy and self.array_at(copy.target.span)
        if copy is None or array is None or copy.array is not None:
            return False
        changed = self._before(place, copy, array)
        later = None if changed is None else self._behind(place, copy.source, copy.target, array)
        if changed is None or later is None:
            return False
        if not all(_reads_first(work, self._work(n), self.array_at) for n, work in (changed | later).items()):
            return False
        for number, work in (changed | later).items():
            self.code[number] = work
        gone = {place, *(n for n in changed if self._is_idle(n))}
        self.code = [x for n, x in enumerate(self.code) if n not in gone]
        return True

    def _is_idle(self, number: int) -> bool:
        """Whether an instruction copies bytes to where they are."""
        work = self.code[number]
        return (isinstance(work, Work) and is_copy(work) and work.base("A") == work.base("D")
                and work.steps("A") == work.steps("D"))

    def _before(self, place: int, copy: _Copy, array: str) -> dict[int, Work] | None:
        """Instructions since the one that writes all of the copy's source, with their target in the copy's; None if
        that cannot be."""
        old, new = copy.source, copy.target
        found: dict[int, Work] = {}
        for number in range(place - 1, -1, -1):
            one = self.code[number]
            if isinstance(one, Move):
                if _meet(one.local().span, old.span):
                    return None
                continue
            work = self._renamed(one, old, new, array)
            if work is None:
                return None
            if work is not one:
                found[number] = work
            if _meet(one.touched().writes, old.span) and not one.keeps:
                return found
        return None

    def _renamed(self, one: Work, old: Rows, new: Rows, array: str) -> Work | None:
        """An instruction with all of `old` in `new`; None if it cannot be there, or touches the array besides."""
        if (not one.is_plain and not one.keeps) or ANYWHERE in (*one.touched().reads.values(), one.touched().writes):
            return None
        work, writes = one, one.touched().writes
        own = _meet(writes, old.span)
        if own:
            if one.target() not in (old, old.joined):
                return None
            moved = _replaced(one, "D", old, new)
            if moved is None:
                return None
            work = moved
        elif self.array_at(writes) == array:
            return None
        for operand in one.operands:
            span = one.touched().reads[operand]
            if _meet(span, old.span):
                # What writes all of it reads what was there before.
                moved = work if own and not one.keeps else _replaced(work, operand, old, new)
                if moved is None:
                    return None
                work = moved
            elif self.array_at(span) == array and not (own and not one.keeps):
                return None
        return work

    def _work(self, number: int) -> Work:
        work = self.code[number]
        assert isinstance(work, Work)
        return work

    def _behind(self, place: int, old: Rows, new: Rows, array: str) -> dict[int, Work] | None:
        """Instructions that read the copy's source later, reading its target; None if some need the source itself."""
        found: dict[int, Work] = {}
        changed = False
        for number in range(place + 1, len(self.code)):
            one = self.code[number]
            if isinstance(one, Move):
                if _meet(one.local().span, old.span):
                    return None
                continue
            reads, writes = one.touched().reads, one.touched().writes
            if ANYWHERE in (*reads.values(), writes):
                return None
            work: Work | None = one
            for operand in one.operands:
                if _meet(reads[operand], old.span):
                    work = None if changed or work is None else _replaced(work, operand, old, new)
            if work is None:
                return None
            if work is not one:
                found[number] = work
            if _meet(writes, old.span):
                target, covers = one.target(), writes[0] <= old.span[0] and old.span[1] <= writes[1]
                return found if covers and not one.keeps and target is not None and target.count == 1 else None
            changed = changed or self.array_at(writes) == array
        return found


# What nobody reads.


def _needed(code: Code, array_at: ArrayAt) -> Code:
    """Code without instructions whose results nobody reads."""
    found: Code = []
    for number in range(len(code) - 1, -1, -1):
        one = code[number]
        if isinstance(one, Move) or array_at(one.touched().writes) or not one.is_plain or _is_read(one, found):
            found.append(one)
    return found[::-1]


def _is_read(one: Work, behind: Code) -> bool:
    """Whether some code behind an instruction, last first, reads what it writes."""
    written = one.touched().writes
    for other in reversed(behind):
        if any(_meet(written, span) for span in _reads(other)):
            return True
        over = _writes(other)
        if over is not None and over != ANYWHERE and over[0] <= written[0] and written[1] <= over[1]:
            rows = other.local() if isinstance(other, Move) else other.target()
            if rows is not None and (rows.count == 1 or rows.step == rows.size):
                return False
    return False
