"""The directive that computes a sum written in one statement in several rounds on fewer units: fold."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import islpy as isl

from compiler.analysis.affine import pieces
from compiler.ir.expr import Const, Expr, Iterator, Lookup, Read, pruned
from compiler.ir.names import check_name, fresh_name
from compiler.ir.program import Access, Array, Program, Statement, Table
from compiler.ir.types import Int
from compiler.passes.directives.errors import TransformError
from compiler.passes.directives.place import Place, places, set_apart
from compiler.passes.directives.rewrite import rewritten, unchanged
from compiler.passes.directives.terms import Chain, Term, chains, combined, term_of, with_leaves

__all__ = ["fold"]

_ROUND_TYPE = Int(16, signed=False)


def fold(program: Program, statement: str, rounds: int, loops: int = 1, iterator: str | None = None) -> Program:
    """The longest chain of one operation in the value of `statement`, a sum for example, in `rounds` rounds.

    The inverse of unrolling: with ``a[x] * k0 + a[x + 1] * k1 + a[x + 2] * k2 + a[x + 3] * k3`` in two rounds there are
    two products, of ``a[x + 2*round]`` and ``a[x + 2*round + 1]``; constants that differ from round to round are looked
    up in a table. The loop over rounds, called `iterator` (``round`` if not given), lies directly around the innermost
    `loops` loops, so that a partial sum comes back only when these are over; other statements leave them. What the
    statement itself adds to stays where it is; other sums start in a statement ``name_start`` and grow in
    ``name_rounds``. What the statement computes from the whole sum stays in it.

    Integers only, and operations for which order does not matter. The terms must be alike, their operands the same
    arrays at even distances. Raises `TransformError` that says where they are not.
    """
    old = program.statement(statement)
    iterator = iterator or fresh_name("round", old.iterators)
    check_name(iterator, f"{old}: new iterator '{iterator}'")
    if iterator in old.iterators:
        raise TransformError(f"{old} has an iterator '{iterator}' already")
    if rounds < 2:
        raise TransformError(f"{old} cannot be computed in {rounds} rounds; there are at least 2")
    folded = _Folded.of(program, old, rounds, iterator)
    where = places(program)
    depth = len(where[statement].loops) - loops
    if loops < 0 or depth < 0:
        raise TransformError(f"{old} has {len(where[statement].loops)} loops; its rounds cannot lie around {loops}")
    where = set_apart(where, statement, depth)
    return folded.in_place(where, depth) if folded.adds_to_itself else folded.in_three(where, depth)


@dataclass(frozen=True)
class _Folded:
    """What becomes of statement `old` of `program`. `chain`: all terms; `rest`: those that are not folded; `units`:
    for each term that is left its values round by round."""

    program: Program
    old: Statement
    rounds: int
    iterator: str
    chain: Chain
    rest: tuple[Term, ...]
    units: tuple[tuple[Term, ...], ...]

    @staticmethod
    def of(program: Program, old: Statement, rounds: int, iterator: str) -> _Folded:
        """The longest chain whose terms can be folded. Raises `TransformError`."""
        found = sorted(chains(old.value), key=lambda chain: -len(chain.terms))
        if not found:
            raise TransformError(f"{old} has no sum, minimum or other chain of one operation on integers to fold")
        chain = found[0]
        terms = [term_of(node) for node in chain.terms]
        shapes = [term.shape for term in terms]
        common = max(shapes, key=lambda shape: (shapes.count(shape), len(shape)))
        alike = [grown for term in terms if (grown := term.grown_to(common, chain.type)) is not None]
        rest = tuple(term for term in terms if term.grown_to(common, chain.type) is None)
        if len(alike) % rounds or len(alike) < 2:
            raise TransformError(f"{old}: its chain of '{chain.op}' has {len(alike)} terms that are alike, which is no "
                                 f"multiple of {rounds} rounds")
        return _Folded(program, old, rounds, iterator, chain, rest, _arranged(old, alike, rounds))

    @property
    def adds_to_itself(self) -> bool:
        """Whether the value is what the statement overwrites, with the terms added."""
        start = self.rest[0].node if len(self.rest) == 1 else None
        if self.chain.root is not self.old.value or not isinstance(start, Read):
            return False
        read, write = self.old.reads[start.index], self.old.write
        return read.array == write.array and read.map.is_equal(write.map)

    # Statements.

    def in_place(self, where: dict[str, Place], depth: int) -> Program:
        """The statement with one more loop, and only the terms of a round."""
        (start,) = self.rest
        assert isinstance(start.node, Read)
        new = self._round(self.old.name, self.old.reads[start.node.index], self.old.write)
        where = where | {self.old.name: self._place(new, where[self.old.name], depth, 0)}
        images = unchanged(self.program) | {self.old.name: [self._image(new)]}
        statements = tuple(new if s is self.old else s for s in self.program.statements)
        return self._rewritten(statements, where, images, self.program.arrays)

    def in_three(self, where: dict[str, Place], depth: int) -> Program:
        """A statement that starts the sum, one that adds the terms of a round, and the old one on the whole sum."""
        name = _new_name(f"{self.old.name}_sum", self.program)
        sums, element = self._sums(name)
        start = self._start(name, element)
        grown = Access(name, self._lifted(element.map), None)
        rounds = self._round(_new_name(f"{self.old.name}_rounds", self.program), grown, grown)
        last = self._last(element)
        place = where[self.old.name]
        where |= {start.name: self._place(start, place, depth, 0), rounds.name: self._place(rounds, place, depth, 1),
                  last.name: self._place(last, place, depth, 2)}
        images = unchanged(self.program)
        images[self.old.name] = [*images[self.old.name], self._image(start), self._image(rounds)]
        statements = tuple(part for s in self.program.statements
                           for part in ((start, rounds, last) if s is self.old else (s,)))
        return self._rewritten(statements, where, images, (*self.program.arrays, sums))

    def _rewritten(self, statements: tuple[Statement, ...], where: dict[str, Place], images: dict[str, list[isl.Map]],
                   arrays: tuple[Array, ...]) -> Program:
        groups = [group for group in self.program.shared if self.old.name in group]
        if groups and not self.adds_to_itself:
            others = ", ".join(name for name in groups[0] if name != self.old.name)
            raise TransformError(f"{self.old} shares its units with {others}; fold before sharing")
        tables = self._tables()
        program = replace(self.program, arrays=arrays, tables=(*self.program.tables, *tables))
        return rewritten(program, statements, where, images, f"folding of '{self.old.name}' in {self.rounds} rounds")

    def _sums(self, name: str) -> tuple[Array, Access]:
        """An array with an element for every instance of the old statement, and the access to it."""
        bounds = [(low.to_python(), high.to_python()) for low, high in (
            (self.old.domain.dim_min_val(k), self.old.domain.dim_max_val(k)) for k in range(len(self.old.iterators)))]
        iterators = self.old.iterators
        places_ = [f"{n} - ({low})" for n, (low, _) in zip(iterators, bounds, strict=True)] or ["0"]
        shape = tuple(high - low + 1 for low, high in bounds) or (1,)
        relation = isl.Map(f"{{ {self.old.name}[{', '.join(iterators)}] -> {name}[{', '.join(places_)}] }}")
        return Array(name, shape, self.chain.type, "intermediate"), Access(name, relation)

    def _start(self, sums: str, element: Access) -> Statement:
        name = _new_name(f"{self.old.name}_start", self.program)
        value, reads = pruned(combined(self.chain, [term.node for term in self.rest]), self.old.reads)
        domain = self.old.domain.set_tuple_name(name)
        moved = [replace(access, map=access.map.set_tuple_name(isl.dim_type.in_, name)) for access in (*reads, element)]
        return replace(self.old, name=name, domain=domain, reads=tuple(moved[:-1]), write=moved[-1], value=value)

    def _last(self, element: Access) -> Statement:
        whole = len(self.old.reads)
        value = self.chain.replaced(Read(whole, self.chain.type))
        value, reads = pruned(value, (*self.old.reads, element))
        return replace(self.old, value=value, reads=reads)

    def _round(self, name: str, before: Access, write: Access) -> Statement:
        """The terms of one round, added to what `before` reads."""
        accesses = [self._named(before, name)]
        nodes: list[Expr] = [Read(0, self.chain.type)]
        for number, unit in enumerate(self.units):
            nodes.append(with_leaves(unit[0], self._leaves(unit, number, name, accesses)))
        iterators = (*self.old.iterators, self.iterator)
        domain = self.old.domain.add_dims(isl.dim_type.set, 1).set_tuple_name(name)
        position = len(iterators) - 1
        domain = domain.set_dim_name(isl.dim_type.set, position, self.iterator)
        domain = domain.lower_bound_val(isl.dim_type.set, position, isl.Val(0))
        domain = domain.upper_bound_val(isl.dim_type.set, position, isl.Val(self.rounds - 1))
        value = combined(self.chain, nodes)
        return replace(self.old, name=name, iterators=iterators, domain=domain, reads=tuple(accesses),
                       write=self._named(write, name), value=value)

    def _leaves(self, unit: Sequence[Term], number: int, name: str, accesses: list[Access]) -> list[Expr]:
        """The operands of one term of a round; its accesses are added to `accesses`."""
        found: list[Expr] = []
        for place, leaf in enumerate(unit[0].leaves):
            if isinstance(leaf, Read):
                access = self._named(_advancing(self.old, unit, place, self.iterator), name)
                if access not in accesses:
                    accesses.append(access)
                found.append(Read(accesses.index(access), leaf.type))
            else:
                values = _values(unit, place)
                table = self._table_name(number, place)
                same = len(set(values)) == 1
                found.append(leaf if same else Lookup(table, Iterator(self.iterator, _ROUND_TYPE), leaf.type))
        return found

    def _table_name(self, unit: int, place: int) -> str:
        return f"{self.old.name}_constants{unit}_{place}"

    def _tables(self) -> list[Table]:
        found = []
        for number, unit in enumerate(self.units):
            for place, leaf in enumerate(unit[0].leaves):
                if isinstance(leaf, Const) and len(set(_values(unit, place))) > 1:
                    found.append(Table(self._table_name(number, place), tuple(_values(unit, place)), leaf.type))
        return found

    # Instances.

    def _named(self, access: Access, name: str) -> Access:
        """An access of the old statement, or of its instances and rounds, as one of statement `name` in rounds."""
        relation = access.map
        if relation.dim(isl.dim_type.in_) == len(self.old.iterators):
            relation = self._lifted(relation)
        return replace(access, map=relation.set_tuple_name(isl.dim_type.in_, name))

    def _lifted(self, relation: isl.Map) -> isl.Map:
        position = relation.dim(isl.dim_type.in_)
        name, target = relation.get_tuple_name(isl.dim_type.in_), relation.get_tuple_name(isl.dim_type.out)
        relation = relation.insert_dims(isl.dim_type.in_, position, 1).set_tuple_name(isl.dim_type.in_, name)
        return relation.set_tuple_name(isl.dim_type.out, target).set_dim_name(isl.dim_type.in_, position, self.iterator)

    def _image(self, new: Statement) -> isl.Map:
        """{old instance -> its instances in `new`}."""
        old = ", ".join(f"n{k}" for k in range(len(self.old.iterators)))
        more = ", n" if len(new.iterators) > len(self.old.iterators) else ""
        relation = isl.Map(f"{{ {self.old.name}[{old}] -> {new.name}[{old}{more}] }}" if old else
                           f"{{ {self.old.name}[] -> {new.name}[{more.removeprefix(', ')}] }}")
        return relation.intersect_domain(self.old.domain).intersect_range(new.domain)

    def _place(self, new: Statement, place: Place, depth: int, offset: int) -> Place:
        """The place of a new statement: that of the old one, `offset` later, with the loop over rounds at `depth` if
        it has that."""
        back = [f"n{k}" for k in range(len(new.iterators))]
        head = f"{new.name}[{', '.join(back)}]"
        rounds = len(new.iterators) > len(self.old.iterators)
        kept = back[:-1] if rounds else back
        renaming = isl.PwMultiAff.from_map(isl.Map(f"{{ {head} -> {self.old.name}[{', '.join(kept)}] }}"))
        loops = [loop.pullback_multi_aff(renaming.as_multi_aff()) for loop in place.loops]
        positions = place.moved(depth, place.positions[depth] + offset).positions
        if not rounds:
            return Place(positions, tuple(loops))
        walk = isl.Aff.var_on_domain(isl.LocalSpace.from_space(new.domain.get_space()), isl.dim_type.set,
                                     len(new.iterators) - 1)
        return Place((*positions[: depth + 1], 0, *positions[depth + 1 :]),
                     (*loops[:depth], walk, *loops[depth:]))


def _new_name(name: str, program: Program) -> str:
    return fresh_name(name, program.names)


def _values(unit: Sequence[Term], place: int) -> list[int]:
    values = [term.leaves[place] for term in unit]
    return [leaf.value for leaf in values if isinstance(leaf, Const)]


def _arranged(old: Statement, terms: Sequence[Term], rounds: int) -> tuple[tuple[Term, ...], ...]:
    """By unit the terms of its rounds: neighbours in one round, or else neighbours on one unit."""
    count = len(terms) // rounds
    blocks = tuple(tuple(terms[k * count + unit] for k in range(rounds)) for unit in range(count))
    strips = tuple(tuple(terms[unit * rounds + k] for k in range(rounds)) for unit in range(count))
    failure: TransformError | None = None
    for units in (blocks, strips):
        try:
            for unit in units:
                for place, leaf in enumerate(unit[0].leaves):
                    if isinstance(leaf, Read):
                        _advancing(old, unit, place, "round")
            return units
        except TransformError as error:
            failure = failure or error
    assert failure is not None
    raise failure


def _advancing(old: Statement, unit: Iterable[Term], place: int, iterator: str) -> Access:
    """The access of a leaf in round k, from the accesses of all rounds: the first, k equal steps on."""
    indices = [leaf.index for term in unit if isinstance(leaf := term.leaves[place], Read)]
    accesses = [old.reads[index] for index in indices]
    first = accesses[0]
    functions = [_function(old, access) for access in accesses]
    steps = _steps(functions[0], functions[1]) if len({a.array for a in accesses}) == 1 else None
    for before, after in pairwise(functions):
        if steps is None or _steps(before, after) != steps:
            texts = ", ".join(_text(access) for access in accesses)
            raise TransformError(f"{old}: an operand is {texts} in the rounds, which are no equal steps in one array")
    assert steps is not None
    position = len(old.iterators)
    lifted = first.map.insert_dims(isl.dim_type.in_, position, 1)
    lifted = lifted.set_tuple_name(isl.dim_type.in_, old.name).set_tuple_name(isl.dim_type.out, first.array)
    old_names, elements = [f"n{k}" for k in range(position)], [f"e{k}" for k in range(len(steps))]
    moved = [f"{e} + {step}*k" for e, step in zip(elements, steps, strict=True)]
    instance = ", ".join([*old_names, "k"])
    shift = isl.Map(f"{{ [{old.name}[{instance}] -> {first.array}[{', '.join(elements)}]] -> "
                    f"{first.array}[{', '.join(moved)}] }}")
    relation = lifted.domain_map().reverse().apply_range(shift)
    for number, name in enumerate((*old.iterators, iterator)):
        relation = relation.set_dim_name(isl.dim_type.in_, number, name)
    return replace(first, map=relation.coalesce())


def _text(access: Access) -> str:
    return str(access.map).split("->")[-1].split(":")[0].strip(" }")


def _function(old: Statement, access: Access) -> isl.MultiAff:
    found = pieces(access.map.intersect_domain(old.domain))
    if len(found) != 1:
        raise TransformError(f"{old.label(access)}: its access to '{access.array}' has {len(found)} pieces; folding "
                             "needs one")
    return found[0][1]


def _steps(before: isl.MultiAff, after: isl.MultiAff) -> tuple[int, ...] | None:
    """Elements from one access to the next in every dimension, None if that is not the same for all instances."""
    found = []
    for k in range(before.dim(isl.dim_type.out)):
        gap = after.get_aff(k).sub(before.get_aff(k))
        if not gap.is_cst():
            return None
        found.append(gap.get_constant_val().to_python())
    return tuple(found)
