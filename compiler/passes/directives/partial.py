"""The directives that compute a sum as several partial ones that take turns: partial, reassociate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import islpy as isl

from compiler.ir.expr import Read, children, fold, mentions
from compiler.ir.names import fresh_name
from compiler.ir.program import Access, Array, Program, Statement
from compiler.ir.types import Float
from compiler.ir.verify import verify
from compiler.passes.directives.errors import TransformError
from compiler.passes.directives.instances import Renaming
from compiler.passes.directives.iterator_values import split_iterator
from compiler.passes.directives.place import Place, order_of_places, places, set_apart
from compiler.passes.directives.rewrite import depth_of, moved
from compiler.passes.directives.terms import Chain, balanced, chains, combined, neutral
from compiler.passes.recurrence.shorten_recurrences import accumulating

__all__ = ["partial", "reassociate"]


def partial(program: Program, statement: str, iterator: str, count: int) -> Program:
    """`statement`, which adds to its own result in the loop over `iterator`, as `count` partial sums, which its
    iterations join in turns, and one statement that adds these up.

    So an addition waits only for the one `count` iterations before, not for the last one. Also for minima and other
    operations that may be computed in any order; of integers, whose sums wrap. Statements ``name_start`` and
    ``name_parts`` are new; the statement itself becomes the one that adds up, after the loop. Other statements in the
    loop get loops of their own. Raises `TransformError`.
    """
    return _in_parts(program, statement, iterator, count, floats=False)


def reassociate(program: Program, statement: str, iterator: str, count: int) -> Program:
    """As `partial`, also for sums, minima and maxima of floating-point numbers, **whose results change**: the program
    that is returned states the order. Partial sum p, which starts with negative zero, takes iterations p, p + `count`,
    p + 2 `count` and so on; what was there before and the partial sums are added in a balanced tree, in that order.

    Raises `TransformError`.
    """
    return _in_parts(program, statement, iterator, count, floats=True)


def _in_parts(program: Program, statement: str, iterator: str, count: int, *, floats: bool) -> Program:
    old = program.statement(statement)
    if iterator not in old.iterators:
        raise TransformError(f"{old} has no iterator '{iterator}'; it has: {', '.join(old.iterators) or 'none'}")
    where = places(program)
    depth = depth_of(old, where[statement], iterator)
    sum_ = _Sum(program, old, iterator, count, floats)
    directive = f"computing '{statement}' in {count} partial sums"
    program = moved(program, set_apart(where, statement, depth), directive)
    return sum_.in_parts(program, places(program), depth)


class _Sum:
    """The sum in statement `old` over `iterator`, in `count` parts. Raises `TransformError` if it is no such sum."""

    def __init__(self, program: Program, old: Statement, iterator: str, count: int,
                 floats: bool) -> None:
        self._number = old.iterators.index(iterator)
        self._old, self._chain, self._own = _chain(program, old, self._number, floats)
        self._count = count
        box = old.box()
        if box is None:
            raise TransformError(f"{old}: its domain is no box, which partial sums need")
        if any(group for group in program.shared if old.name in group):
            raise TransformError(f"{old} shares its units; compute partial sums before sharing")
        low, high = box[iterator]
        if not 2 <= count < high - low + 1:
            raise TransformError(f"{old}: {count} partial sums of the {high - low + 1} iterations of '{iterator}'; "
                                 f"there are 2 or more, and fewer than iterations")
        self._first = low
        self._lane = fresh_name(f"{iterator}_part", old.iterators)
        self._rest = tuple(name for name in old.iterators if name != iterator)
        self._box = {name: box[name] for name in self._rest}
        self._names = {part: fresh_name(f"{old.name}_{part}", program.names) for part in ("sums", "start", "parts")}

    def in_parts(self, program: Program, where: Mapping[str, Place], depth: int) -> Program:
        """`program`, in which the statement has loop number `depth` alone, with the sum in parts."""
        place = where[self._old.name]
        start, parts, last = self._start(), self._parts(), self._last()
        new = dict(where)
        for offset, (statement, renaming) in enumerate((start, parts, last)):
            new[statement.name] = self._place(statement, renaming, place, depth, offset)
        statements = tuple(piece for s in program.statements
                           for piece in ((start[0], parts[0], last[0]) if s.name == self._old.name else (s,)))
        shape = (*(high - low + 1 for low, high in self._box.values()), self._count)
        sums = Array(self._names["sums"], shape, self._chain.type, "intermediate")
        result = replace(program, arrays=(*program.arrays, sums), statements=statements,
                         order=order_of_places(statements, new))
        verify(result)
        return result

    def _start(self) -> tuple[Statement, Renaming]:
        iterators = (*self._rest, self._lane)
        values = [f"n{k}" for k in range(len(self._rest))]
        values.insert(self._number, str(self._first))
        renaming = Renaming(self._old, self._names["start"], iterators, values,
                            f"0 <= n{len(self._rest)} < {self._count}")
        write = self._element(renaming.name, iterators, self._lane)
        return replace(self._old, name=renaming.name, iterators=iterators, domain=renaming.domain, reads=(),
                       write=write, value=neutral(self._chain.op, self._chain.type)), renaming

    def _parts(self) -> tuple[Statement, Renaming]:
        iterators = (*self._old.iterators, self._lane)
        values = [f"n{k}" for k in range(len(self._old.iterators))]
        values[self._number] = f"{self._first} + {self._count} n{self._number} + n{len(values)}"
        renaming = Renaming(self._old, self._names["parts"], iterators, values,
                            f"0 <= n{len(values)} < {self._count}")
        element = self._element(renaming.name, iterators, self._lane)
        reads = tuple(element if k == self._own else renaming.access(read) for k, read in enumerate(self._old.reads))
        iterator = self._old.iterators[self._number]
        value = fold(self._old.value, split_iterator(self._old, iterator, (iterator, self._lane), self._count,
                                                     self._first))
        return replace(self._old, name=renaming.name, iterators=iterators, domain=renaming.domain, reads=reads,
                       write=element, value=value), renaming

    def _last(self) -> tuple[Statement, Renaming]:
        values = [f"n{k}" for k in range(len(self._rest))]
        values.insert(self._number, str(self._first))
        renaming = Renaming(self._old, self._old.name, self._rest, values)
        whole = renaming.access(self._old.reads[self._own])
        reads = (whole, *(self._element(self._old.name, self._rest, str(k)) for k in range(self._count)))
        if isinstance(self._chain.type, Float):
            value = balanced(self._chain, [Read(k, self._chain.type) for k in range(len(reads))])
        else:
            # What comes back from the step before is last: it waits for one operation, not for all of them.
            value = combined(self._chain, [Read(k, self._chain.type) for k in (*range(1, len(reads)), 0)])
        return replace(self._old, iterators=self._rest, domain=renaming.domain, reads=reads,
                       write=renaming.access(self._old.write), value=value), renaming

    def _element(self, statement: str, iterators: tuple[str, ...], lane: str) -> Access:
        """The access to a partial sum of an instance."""
        places_ = [f"{name} - ({low})" for name, (low, _) in self._box.items()]
        return Access(self._names["sums"], isl.Map(f"{{ {statement}[{', '.join(iterators)}] -> "
                                                   f"{self._names['sums']}[{', '.join([*places_, lane])}] }}"))

    def _place(self, new: Statement, renaming: Renaming, place: Place, depth: int, offset: int) -> Place:
        """The place of a new statement: that of the old one, `offset` later, with the loops that it has."""
        loops, positions = [renaming.time(loop) for loop in place.loops], list(place.positions)
        positions[depth] += offset
        if new.name != self._names["parts"]:
            del loops[depth], positions[depth + 1]
        if self._lane in new.iterators:
            inside = depth + (new.name == self._names["parts"])
            space = isl.LocalSpace.from_space(new.domain.get_space())
            loops.insert(inside, isl.Aff.var_on_domain(space, isl.dim_type.set, len(new.iterators) - 1))
            positions.insert(inside + 1, 0)
            if new.name == self._names["parts"]:
                group = isl.Aff.var_on_domain(space, isl.dim_type.set, self._number)
                loops[depth] = group
        return Place(tuple(positions), tuple(loops))


def _chain(program: Program, old: Statement, number: int, floats: bool) -> tuple[Statement, Chain, int]:
    """The statement with a chain of operations as its value, that chain, and which of its reads is what it
    overwrites."""
    plain, own = old, _own(old, floats)
    if own is None:
        plain = accumulating(program, old, floats)
        own = None if plain is None else _own(plain, floats)
    if plain is None or own is None:
        raise TransformError(f"{old} does not add to its own result, or with an operation that needs an order"
                             f"{'' if floats else _hint(program, old)}")
    others = [read for k, read in enumerate(old.reads) if k != own and read.array == old.write.array]
    if others or mentions(plain.value, own) > 1:
        raise TransformError(f"{old} uses its own result in another way than to add to it")
    if old.write.map.involves_dims(isl.dim_type.in_, number, 1) or not children(old.value):
        raise TransformError(f"{old} writes another element in every iteration of '{old.iterators[number]}'")
    return plain, _whole_chains(plain, floats)[0], own


def _whole_chains(statement: Statement, floats: bool) -> list[Chain]:
    """The chain that is the value of a statement, if it is one."""
    return [chain for chain in chains(statement.value, floats) if chain.root is statement.value]


def _own(statement: Statement, floats: bool) -> int | None:
    """The read of what a statement overwrites, if it is a term of the chain that is its value."""
    return next((node.index for chain in _whole_chains(statement, floats) for node in chain.terms
                 if isinstance(node, Read) and _is_own(statement, node.index)), None)


def _hint(program: Program, old: Statement) -> str:
    if isinstance(program.array(old.write.array).type, Float):
        return "; directive reassociate takes sums of floating-point numbers, whose results it changes"
    return ""


def _is_own(old: Statement, index: int) -> bool:
    read = old.reads[index]
    return read.array == old.write.array and read.map.is_equal(old.write.map)
