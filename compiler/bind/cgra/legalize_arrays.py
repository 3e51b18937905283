"""Programs with arrays of 32 bits, as C's `int` has them, on an array of tiles with 16-bit words.

Every wide array becomes two of words and every statement that writes one two statements: the high words first, since
carries come from what the low words were before. Where these need the high words as they were, too, as in a running
maximum, the new high words wait in an array of their own until the low words are there. Values:
`compiler.bind.cgra.legalize_integers`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import islpy as isl

from compiler.analysis.dependences import DependenceError
from compiler.bind.cgra.legalize_integers import WIDE, WORD, NoPairs, Pair, is_wide, pair_in_words, value_in_words
from compiler.ir.expr import Expr, Read, pruned
from compiler.ir.names import fresh_name
from compiler.ir.program import Access, Array, Program, Statement
from compiler.ir.types import Int
from compiler.ir.verify import verify
from compiler.passes.arrays.split_arrays import SplitArrays
from compiler.passes.directives.errors import TransformError
from compiler.passes.directives.place import Place, order_of_places, places
from compiler.passes.normalize.index_set_splitting import split_unions
from compiler.sched.verify import ValidationError, check_word_arrays

__all__ = ["legalize_arrays", "without_words"]


def legalize_arrays(program: Program) -> SplitArrays | None:
    """`program` on arrays of words; None if it has no wide ones, computes what pairs of words do not have, or has no
    static schedule, so that refusals name its own statements and not halves of them."""
    wide = _wide(program)
    if not wide or program.shared or any(s.box() is None for s in split_unions(program).statements):
        return None
    try:
        found = _Rewrite(program, wide).result()
        check_word_arrays(found)
    except (TransformError, ValidationError, DependenceError):
        return None
    return found


def without_words(program: Program) -> tuple[Statement, str] | None:
    """The first statement that computes what pairs of words do not have, and what that is."""
    rewrite = _Rewrite(program, _wide(program))
    for statement in sorted(program.statements, key=lambda s: s.location is None):
        try:
            rewrite.statements_of(statement)
        except NoPairs as missing:
            return statement, str(missing)
        except TransformError:
            return statement, "it writes a value that is no pair of words"
    return None


def _wide(program: Program) -> list[Array]:
    return [array for array in program.arrays if array.type in (Int(WIDE, True), Int(WIDE, False))]


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
        self.waiting: list[Array] = []
        self.kept: dict[str, str] = {}

    def result(self) -> SplitArrays:
        """The program on words."""
        where, new = places(self.program), dict[str, Place]()
        statements: list[Statement] = []
        parts: dict[str, tuple[str, ...]] = {}
        for old in self.program.statements:
            mine = self.statements_of(old)
            parts[old.name] = tuple(s.name for s in mine)
            if len(mine) > 1 and any(read.array == mine[1].write.array for read in mine[0].reads):
                mine.append(self._kept(old, mine))
            for statement, turn in zip(mine, _TURNS[len(mine)], strict=True):
                new[statement.name] = _spread(where[old.name], old, statement, turn)
            statements += mine
        arrays = tuple(half for array in self.program.arrays for half in self._arrays(array)) + tuple(self.waiting)
        after = replace(self.program, arrays=arrays, statements=tuple(statements),
                        order=order_of_places(tuple(statements), new))
        verify(after, guarded=True)
        return SplitArrays(self.program, after, self.halves, parts, self.kept, WORD.width)

    def _kept(self, old: Statement, parts: list[Statement]) -> Statement:
        """The statement that computes high words, for an array of their own; that of `parts` then copies them."""
        box = old.box()
        if box is None:
            raise TransformError(f"{old}: its domain is no box")
        high = parts[1]
        name, array = (fresh_name(f"{part}_next", self.taken) for part in (high.name, high.write.array))
        self.taken |= {name, array}
        self.waiting.append(Array(array, tuple(b - a + 1 for a, b in box.values()) or (1,), WORD, "intermediate"))
        self.kept[high.name] = name
        inside = ", ".join(f"{i} - ({low})" for i, (low, _) in box.items()) or "0"

        def element(statement: str) -> Access:
            return Access(array, isl.Map(f"{{ {statement}[{', '.join(old.iterators)}] -> {array}[{inside}] }}"))

        parts[1] = replace(high, reads=(element(high.name),), value=Read(0, WORD))
        moved = [replace(read, map=read.map.set_tuple_name(isl.dim_type.in_, name)) for read in high.reads]
        return replace(high, name=name, domain=high.domain.set_tuple_name(name), reads=tuple(moved),
                       write=element(name))

    def _arrays(self, array: Array) -> tuple[Array, ...]:
        if array.name not in self.halves:
            return (array,)
        return tuple(replace(array, name=name, type=WORD) for name in self.halves[array.name])

    def statements_of(self, old: Statement) -> list[Statement]:
        """What computes a statement: itself, or the low and the high words. Raises `TransformError`."""
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


_TURNS = {1: (0,), 2: (1, 0), 3: (1, 2, 0)}
"""When those of a statement follow each other: low words, high words, and what computes these if they wait."""


def _spread(place: Place, old: Statement, new: Statement, later: int) -> Place:
    """The place of one of the statements that take that of `old`, among positions farther apart."""
    positions = [len(_TURNS) * position for position in place.positions]
    positions[-1] += later
    if new.name == old.name:
        return Place(tuple(positions), place.loops)
    renaming = isl.Map.identity(new.domain.get_space().map_from_set()).set_tuple_name(isl.dim_type.out, old.name)
    back = isl.PwMultiAff.from_map(renaming).as_multi_aff()
    return Place(tuple(positions), tuple(loop.pullback_multi_aff(back) for loop in place.loops))
