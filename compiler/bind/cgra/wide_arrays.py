"""Programs with arrays of 32 bits, as C's `int` has them, on an array of tiles with 16-bit words.

Every wide array becomes two of words and every statement that writes one two statements: the high words first, since
carries come from what the low words were before. Values: `compiler.bind.cgra.word_pairs`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import islpy as isl

from compiler.bind.cgra.word_pairs import WIDE, WORD, Pair, is_wide, pair_in_words, value_in_words
from compiler.ir.expr import Expr
from compiler.ir.names import fresh_name
from compiler.ir.program import Access, Array, Program, Statement
from compiler.ir.types import Int
from compiler.ir.verify import verify
from compiler.sched.dependences import DependenceError
from compiler.sched.transform.errors import TransformError
from compiler.sched.transform.place import Place, order_of_places, places
from compiler.sched.transform.terms import pruned
from compiler.sched.verify import ValidationError, check_word_arrays
from compiler.sched.word_arrays import WordArrays

__all__ = ["in_word_arrays"]


def in_word_arrays(program: Program) -> WordArrays | None:
    """`program` on arrays of words; None if it has no wide ones, or computes what pairs of words do not have."""
    wide = [array for array in program.arrays if array.type in (Int(WIDE, True), Int(WIDE, False))]
    if not wide or program.shared:
        return None
    try:
        found = _Rewrite(program, wide).result()
        check_word_arrays(found)
    except (TransformError, ValidationError, DependenceError):
        return None
    return found


@dataclass
class _Rewrite:
    """Raises `TransformError` for what has no words."""

    program: Program
    wide: list[Array]

    def __post_init__(self) -> None:
        taken = set(self.program.names)
        self.halves: dict[str, tuple[str, str]] = {}
        for array in self.wide:
            low, high = (fresh_name(f"{array.name}_{part}", taken) for part in Pair._fields)
            self.halves[array.name] = low, high
            taken |= {low, high}
        self.taken = taken

    def result(self) -> WordArrays:
        """The program on words."""
        where, new = places(self.program), dict[str, Place]()
        statements: list[Statement] = []
        parts: dict[str, tuple[str, ...]] = {}
        for old in self.program.statements:
            mine = self._statements(old)
            parts[old.name] = tuple(s.name for s in mine)
            place = where[old.name]
            for number, statement in enumerate(mine):
                new[statement.name] = _doubled(place, old, statement, len(mine) - 1 - number)
            statements += mine
        arrays = tuple(half for array in self.program.arrays for half in self._arrays(array))
        after = replace(self.program, arrays=arrays, statements=tuple(statements),
                        order=order_of_places(tuple(statements), new))
        verify(after)
        return WordArrays(self.program, after, self.halves, parts, WORD.width)

    def _arrays(self, array: Array) -> tuple[Array, ...]:
        if array.name not in self.halves:
            return (array,)
        return tuple(replace(array, name=name, type=WORD) for name in self.halves[array.name])

    def _statements(self, old: Statement) -> list[Statement]:
        """What computes a statement: itself, or the low and the high words."""
        reads: list[Access] = []
        numbers: dict[int, tuple[int, ...]] = {}
        for k, read in enumerate(old.reads):
            halves = [_of(read, name) for name in self.halves.get(read.array, ())] or [read]
            numbers[k] = tuple(range(len(reads), len(reads) + len(halves)))
            reads += halves
        if old.write.array not in self.halves:
            value = value_in_words(old.value, numbers)
            return [self._statement(old, old.name, value, reads, old.write)]
        if not is_wide(old.value):
            raise TransformError(f"{old} writes a value of {old.value.type} to an array of wide elements")
        found = []
        for part, value in pair_in_words(old.value, numbers)._asdict().items():
            name = fresh_name(f"{old.name}_{part}", self.taken)
            self.taken.add(name)
            half = self.halves[old.write.array][Pair._fields.index(part)]
            found.append(self._statement(old, name, value, reads, _of(old.write, half)))
        return found

    @staticmethod
    def _statement(old: Statement, name: str, value: Expr, reads: list[Access], write: Access) -> Statement:
        value, used = pruned(value, reads)
        accesses = [replace(a, map=a.map.set_tuple_name(isl.dim_type.in_, name)) for a in (*used, write)]
        return replace(old, name=name, domain=old.domain.set_tuple_name(name), reads=tuple(accesses[:-1]),
                       write=accesses[-1], value=value)


def _of(access: Access, array: str) -> Access:
    """The same access to another array."""
    return replace(access, array=array, map=access.map.set_tuple_name(isl.dim_type.out, array))


def _doubled(place: Place, old: Statement, new: Statement, later: int) -> Place:
    """The place of one of the statements that take that of `old`, among positions twice as far apart."""
    positions = [2 * position for position in place.positions]
    positions[-1] += later
    if new.name == old.name:
        return Place(tuple(positions), place.loops)
    renaming = isl.Map.identity(new.domain.get_space().map_from_set()).set_tuple_name(isl.dim_type.out, old.name)
    back = isl.PwMultiAff.from_map(renaming).as_multi_aff()
    return Place(tuple(positions), tuple(loop.pullback_multi_aff(back) for loop in place.loops))
