"""Ranges behind guards: what the condition of a selection says of the words that it compares, and ranges of arrays of
which every value is written under such conditions.

The index of an access under a condition is a selection (``k >= 0 && k < 8 ? k : 0``), of the condition itself or of an
array that keeps it. Where it holds, words that the statement reads are as the comparisons say, if they are the same
words: read at the same place of an array in which nothing is written between.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import islpy as isl

from compiler.ir.affine_index import ValueRanges, value_ranges
from compiler.ir.expr import NEGATED, Apply, Cast, Const, Expr, Read
from compiler.ir.narrow import table_ranges
from compiler.ir.program import Access, Program, Statement
from compiler.ir.ranges import Range, hull, type_range
from compiler.ir.types import Int

__all__ = ["guarded_array_ranges", "guarded_range"]

_MOST_CONDITIONS = 4
"""Arrays through which a condition is followed."""

_ROUNDS, _WIDENED = 12, 4
"""Rounds in which ranges of arrays grow, and after how many they grow to the ranges that are known without guards."""

_SWAPPED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "eq": "eq"}
"""Comparisons that say a range of a word, with operands swapped."""


def guarded_range(program: Program, statement: Statement, node: Expr, arrays: dict[str, Range]) -> Range:
    """The range of `node` in the value of `statement`, of arrays with the ranges `arrays`."""
    scope = _Scope(program, statement, arrays, _MOST_CONDITIONS)
    return scope.selected(node, [arrays[access.array] for access in statement.reads])


def guarded_array_ranges(program: Program, arrays: dict[str, Range], names: Collection[str]) -> dict[str, Range]:
    """`arrays`, ranges of the elements of all arrays, those of the intermediate arrays `names` as far as conditions
    keep them: ``if (j >= 0) j--`` never leaves -1 behind. What grows from round to round does so to what is known."""
    wanted = {name for name in names if program.array(name).role == "intermediate"}
    writers = [statement for statement in program.statements if statement.write.array in wanted]
    found: dict[str, Range] = {}
    for count in range(_ROUNDS):
        before = dict(found)
        for statement in writers:
            if all(read.array in found or read.array not in wanted for read in statement.reads):
                name = statement.write.array
                new = guarded_range(program, statement, statement.value, arrays | found)
                merged = _common(arrays[name], hull(new, found.get(name, new)))
                found[name] = merged if count < _WIDENED else _grown(before.get(name), merged, arrays[name])
        if found == before:
            return arrays | found
    return arrays


def _grown(old: Range | None, new: Range, most: Range) -> Range:
    """`new`; where it is more than `old`, as far as to 0 or -1, where loops that count down end, else as far as it can
    be."""
    if old is None:
        return new
    low = new[0] if new[0] >= old[0] else next((end for end in (0, -1) if most[0] <= end <= new[0]), most[0])
    return low, new[1] if new[1] <= old[1] else most[1]


@dataclass(frozen=True)
class _Scope:
    """A statement, and how many more arrays conditions in it are followed through."""

    program: Program
    statement: Statement
    arrays: dict[str, Range]
    left: int

    def selected(self, node: Expr, reads: Sequence[Range]) -> Range:
        """The range of a node where what is read has the ranges `reads`: of a selection, what it has either way."""
        if isinstance(node, Apply) and node.op == "select":
            condition, yes, no = node.args
            return hull(self._chosen(yes, condition, True, reads), self._chosen(no, condition, False, reads))
        if isinstance(node, Cast) and isinstance(node.type, Int) and isinstance(node.arg.type, Int):
            inner = self.selected(node.arg, reads)
            return inner if _keeps(node, inner) else type_range(node.type)
        return self._plain(node, reads)

    def _chosen(self, node: Expr, condition: Expr, holds: bool, reads: Sequence[Range]) -> Range:
        """The range of what is selected where a condition holds, or does not; of a difference of two words that the
        condition compares, too."""
        known = self.where(condition, holds, reads)
        range_ = self.selected(node, known)
        least = self._least_difference(node, condition, holds, known)
        return range_ if least is None else _common(range_, _bounded("ge", (least, least)))

    def _least_difference(self, node: Expr, condition: Expr, holds: bool, reads: Sequence[Range]) -> int | None:
        """0 of ``a - b`` where a condition says that a >= b, 1 where it says that a > b; None if it says neither."""
        if not isinstance(node, Apply) or node.op != "sub" or not isinstance(node.type, Int):
            return None
        a, b = (self._plain(arg, reads) for arg in node.args)
        if not (node.type.contains(a[0] - b[1]) and node.type.contains(a[1] - b[0])):
            return None
        words = [self._unconverted(arg, reads) for arg in node.args]
        for part, truth in self._pieces(condition, holds, reads):
            if isinstance(part, Apply) and len(part.args) == 2:
                compared = [self._unconverted(arg, reads) for arg in part.args]
                order = part.op if truth else NEGATED.get(part.op, "")
                order = order if compared == words else _SWAPPED.get(order, "") if compared == words[::-1] else ""
                if order in ("ge", "gt"):
                    return int(order == "gt")
        return None

    def _unconverted(self, node: Expr, reads: Sequence[Range]) -> Expr:
        """A word before the conversions that keep it."""
        while isinstance(node, Cast) and _keeps(node, self._plain(node.arg, reads)):
            node = node.arg
        return node

    def _pieces(self, condition: Expr, holds: bool, reads: Sequence[Range]) -> Iterator[tuple[Expr, bool]]:
        """All nodes that are not zero, or zero, where a condition is not, or is."""
        pending = [(condition, holds)]
        while pending:
            node, truth = pending.pop()
            yield node, truth
            pending += _parts(node, truth, lambda cast: _keeps(cast, self._plain(cast.arg, reads)))

    @cached_property
    def _known(self) -> ValueRanges:
        statement = self.statement
        return value_ranges(statement.domain, statement.iterators, statement.value, table_ranges(self.program))

    def _plain(self, node: Expr, reads: Sequence[Range]) -> Range:
        return self._known.of(node, reads)

    def where(self, condition: Expr, holds: bool, reads: Sequence[Range]) -> list[Range]:
        """Ranges of what is read where `condition` is not zero, or where it is."""
        known = list(reads)
        for node, truth in self._pieces(condition, holds, reads):
            for number, range_ in self._facts(node, truth, known):
                known = self._narrowed(known, self.statement.reads[number], range_)
        return known

    def _facts(self, node: Expr, truth: bool, reads: Sequence[Range]) -> Iterator[tuple[int, Range]]:
        """Reads, and ranges that they are in, as a comparison says; or a condition in an array that is read."""
        if isinstance(node, Apply) and len(node.args) == 2:
            op = node.op if truth else NEGATED.get(node.op, "")
            for first, second, order in ((*node.args, op), (*reversed(node.args), _SWAPPED.get(op, op))):
                read = self._compared(first, reads)
                if read is not None and order in _SWAPPED:
                    yield read, _bounded(order, self._plain(second, reads))
                elif read is not None and order == "ne":
                    yield read, _without(reads[read], self._plain(second, reads))
        elif isinstance(node, Read) and self.left:
            yield from self._kept(self.statement.reads[node.index], truth)

    def _compared(self, node: Expr, reads: Sequence[Range]) -> int | None:
        """The read whose value an integer node has."""
        node = self._unconverted(node, reads)
        return node.index if isinstance(node, Read) and isinstance(node.type, Int) else None

    def _kept(self, access: Access, truth: bool) -> Iterator[tuple[int, Range]]:
        """What a condition that an array keeps says of words that its statement and this one read."""
        writer = _only_writer(self.program, access.array)
        if writer is None:
            return
        scope = _Scope(self.program, writer, self.arrays, self.left - 1)
        before = [self.arrays[read.array] for read in writer.reads]
        to_writer = access.map.apply_range(writer.write.map.reverse())
        for read, old, new in zip(writer.reads, before, scope.where(writer.value, truth, before), strict=True):
            if new != old:
                place = to_writer.apply_range(read.map)
                yield from ((number, new) for number, mine in enumerate(self.statement.reads)
                            if mine.array == read.array and mine.map.is_subset(place)
                            and self._finds_the_same(mine, writer, to_writer))

    def _finds_the_same(self, mine: Access, writer: Statement, to_writer: isl.Map) -> bool:
        """Whether an access finds the word that `writer` has found, in the instance that `to_writer` says, at the same
        place: nothing is written there between."""
        if _is_constant(self.program, mine.array):
            return True
        program, now = self.program, self.program.order_of(self.statement.name)
        since = to_writer.intersect_domain(self.statement.domain).apply_range(program.order_of(writer.name))
        for other in program.statements:
            if other.write.array == mine.array:
                times = program.order_of(other.name).intersect_domain(other.domain)
                touching = mine.map.intersect_domain(self.statement.domain).apply_range(other.write.map.reverse())
                behind = since.lex_le_map(times)
                if not touching.intersect(behind).intersect(now.lex_gt_map(times)).is_empty():
                    return False
        return True

    def _narrowed(self, reads: Sequence[Range], access: Access, range_: Range) -> list[Range]:
        """`reads`, those of the word of `access` inside `range_`; unchanged where there is no such word."""
        return [_common(old, range_) if mine.array == access.array and mine.map.is_equal(access.map) else old
                for mine, old in zip(self.statement.reads, reads, strict=True)]


def _parts(node: Expr, truth: bool, keeps: Callable[[Cast], bool]) -> Iterator[tuple[Expr, bool]]:
    """Nodes that are not zero, or zero, if `node` is; `keeps` says whether a conversion keeps all values."""
    match node:
        case Cast(arg, type) if isinstance(type, Int) and isinstance(arg.type, Int) and (truth or keeps(node)):
            yield arg, truth
        case Apply("ne", (arg, Const(0, _))) if isinstance(arg.type, Int):
            yield arg, truth
        case Apply("eq", (arg, Const(0, _))) if isinstance(arg.type, Int):
            yield arg, not truth
        case Apply("lut3", (Const(table, _), *args)):
            rows = [row for row in range(8) if (table >> row & 1) == truth
                    and all(not isinstance(arg, Const) or arg.value == row >> k & 1 for k, arg in enumerate(args))]
            for k, arg in enumerate(args):
                if len({row >> k & 1 for row in rows}) == 1:
                    yield arg, bool(rows[0] >> k & 1)


def _keeps(cast: Cast, range_: Range) -> bool:
    """Whether a conversion keeps all values of a range."""
    if not (isinstance(cast.type, Int) and isinstance(cast.arg.type, Int)):
        return False
    low, high = type_range(cast.type)
    return low <= range_[0] and range_[1] <= high


def _bounded(order: str, other: Range) -> Range:
    """What is in this order to a word of the range `other`."""
    low, high = -(1 << 128), 1 << 128
    return {"lt": (low, other[1] - 1), "le": (low, other[1]), "gt": (other[0] + 1, high), "ge": (other[0], high),
            "eq": other}[order]


def _without(range_: Range, other: Range) -> Range:
    """A range without the one value of another at one of its ends."""
    low, high = range_
    return (low + ((low, low) == other), high - ((high, high) == other))


def _common(first: Range, second: Range) -> Range:
    """What two ranges have in common; the first where that is nothing, which never runs."""
    low, high = max(first[0], second[0]), min(first[1], second[1])
    return (low, high) if low <= high else first


def _only_writer(program: Program, array: str) -> Statement | None:
    """The one statement that writes an intermediate array, each of its elements once."""
    writers = [statement for statement in program.statements if statement.write.array == array]
    only = len(writers) == 1 and program.array(array).role == "intermediate" and writers[0].write.map.is_injective()
    return writers[0] if only else None


def _is_constant(program: Program, array: str) -> bool:
    """Whether the elements of an array never change once they are there."""
    return _only_writer(program, array) is not None or (
        program.array(array).role == "input" and all(s.write.array != array for s in program.statements))
