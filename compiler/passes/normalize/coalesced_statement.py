"""A statement without one of its loops: where that only cuts another one into tiles, or where the two are one sum.

A tile loop of the first kind is named by no subscript, and the other iterators tell instances apart: ``for ii, for
i = ii ... ii + T``. Of the second kind are two loops that all subscripts and values use as ``T * outer + inner``.
"""

from __future__ import annotations

from collections.abc import Iterator as Iterating
from dataclasses import dataclass, replace
from functools import reduce
from math import gcd

import islpy as isl

from compiler.analysis.affine import affine_form, affine_text
from compiler.analysis.boxes import box_around
from compiler.ir.expr import Apply, Const, Expr, Iterator, fold, postorder, with_children
from compiler.ir.program import Access, Statement
from compiler.ir.types import Int

__all__ = ["CoalescedStatement", "coalesced"]


@dataclass(frozen=True)
class CoalescedStatement:
    """`statement` without the iterator number `removed` of the old one. `image`: {old instance -> new instance}.
    `kept`: number of the old iterator (of those that stay) that is a sum with the removed one now, None if none is."""

    statement: Statement
    image: isl.Map
    removed: int
    kept: int | None = None

    def time(self, loop: isl.Aff) -> isl.Aff | None:
        """The time of a loop over the new iterators; None if it is one of the old iterators only."""
        if loop.involves_dims(isl.dim_type.in_, self.removed, 1) or loop.dim(isl.dim_type.div):
            return None
        function = isl.Aff.zero_on_domain(isl.LocalSpace.from_space(self.statement.domain.get_space()))
        function = function.set_constant_val(loop.get_constant_val())
        for new, old in enumerate(_rest(loop.dim(isl.dim_type.in_), self.removed)):
            function = function.set_coefficient_val(isl.dim_type.in_, new,
                                                    loop.get_coefficient_val(isl.dim_type.in_, old))
        return function


def coalesced(statement: Statement, number: int) -> CoalescedStatement | None:
    """`statement` without iterator `number`, if that is of a tile loop of one of the two kinds, else None."""
    if statement.domain.is_empty() or _is_single(statement, number):
        return None
    return _dropped(statement, number) or next(_summed(statement, number), None)


def _is_single(statement: Statement, number: int) -> bool:
    return statement.domain.dim_min_val(number).eq(statement.domain.dim_max_val(number))


def _rest(count: int, number: int) -> list[int]:
    return [k for k in range(count) if k != number]


def _names_any(value: Expr, names: set[str]) -> bool:
    return any(isinstance(node, Iterator) and node.name in names for node in postorder(value))


def _accesses(statement: Statement) -> tuple[Access, ...]:
    return *statement.reads, statement.write


def _image(statement: Statement, number: int, kept: int | None = None, scales: tuple[int, int] = (0, 1)) -> isl.Map:
    """{instance -> instance without iterator `number`}, iterator `kept` being the sum of both, scaled, then."""
    names = statement.iterators
    texts = [affine_text([(scales[0], names[number]), (scales[1], names[k])], 0) if k == kept else names[k]
             for k in _rest(len(names), number)]
    relation = isl.Map(f"{{ {statement.name}[{', '.join(names)}] -> {statement.name}[{', '.join(texts)}] }}")
    return relation.intersect_domain(statement.domain)


def _made(statement: Statement, image: isl.Map, number: int, kept: int | None, accesses: list[Access],
          value: Expr) -> CoalescedStatement:
    names = tuple(statement.iterators[k] for k in _rest(len(statement.iterators), number))
    domain = _plain(image.range())
    for k, name in enumerate(names):
        domain = domain.set_dim_name(isl.dim_type.set, k, name)
    new = replace(statement, iterators=names, domain=domain, reads=tuple(accesses[:-1]), write=accesses[-1],
                  value=value)
    return CoalescedStatement(new, image, number, kept)


def _plain(points: isl.Set) -> isl.Set:
    """`points` without the existentially quantified counters of the loops that went, if they are convex."""
    hulls = box_around(points), isl.Set.from_basic_set(points.simple_hull())
    return next((hull for hull in hulls if hull.is_equal(points)), points.coalesce())


# Loops that only cut others.


def _dropped(statement: Statement, number: int) -> CoalescedStatement | None:
    accesses = _accesses(statement)
    if _names_any(statement.value, {statement.iterators[number]}) or any(_involves(a, number) for a in accesses):
        return None
    image = _image(statement, number)
    if not image.is_injective():
        return None
    return _made(statement, image, number, None, [_without(a, statement, number) for a in accesses], statement.value)


def _involves(access: Access, number: int) -> bool:
    return access.map.involves_dims(isl.dim_type.in_, number, 1)


def _without(access: Access, statement: Statement, number: int) -> Access:
    relation = access.map.project_out(isl.dim_type.in_, number, 1)
    return replace(access, map=relation.set_tuple_name(isl.dim_type.in_, statement.name))


# Loops that are used as a sum.


def _summed(statement: Statement, number: int) -> Iterating[CoalescedStatement]:
    """The statement with the iterator added to each other one with which it is used as a sum alone."""
    rows = [_rows(statement, access) for access in _accesses(statement)]
    for kept in _rest(len(statement.iterators), number):
        scales = _scales(rows, number, kept)
        if scales is None or _is_single(statement, kept):
            continue
        value = _value(statement, number, kept, scales)
        image = _image(statement, number, kept, scales)
        if value is not None and image.is_injective():
            accesses = [_scaled(access, statement, row, number, kept, scales)
                        for access, row in zip(_accesses(statement), rows, strict=True)]
            yield _made(statement, image, number, kept, accesses, value)


_Rows = list[tuple[tuple[int, ...], int]] | None
"""Coefficients of the iterators and constant for each subscript of an access; None if one is not affine."""


def _rows(statement: Statement, access: Access) -> _Rows:
    if not access.map.is_single_valued():
        return None
    # Seen without the domain, a loop of one iteration keeps its coefficient.
    functions = [isl.PwMultiAff.from_map(m) for m in (access.map, access.map.intersect_domain(statement.domain))]
    forms = [next(filter(None, (affine_form(f.get_pw_aff(k)) for f in functions)), None)
             for k in range(access.map.dim(isl.dim_type.out))]
    found = [form for form in forms if form is not None]
    return found if len(found) == len(forms) else None


def _scales(rows: list[_Rows], number: int, kept: int) -> tuple[int, int] | None:
    """The two smallest positive factors, one of them 1, in whose proportion all subscripts have the iterators."""
    pairs = {(row[number], row[kept]) for access in rows if access is not None for row, _ in access}
    found = {(a // gcd(a, b), b // gcd(a, b)) if a > 0 else (-a // gcd(a, b), -b // gcd(a, b))
             for a, b in pairs if (a, b) != (0, 0)}
    if len(found) != 1 or None in rows:
        return None
    [scales] = found
    return scales if min(scales) == 1 else None


def _scaled(access: Access, statement: Statement, rows: _Rows, number: int, kept: int,
            scales: tuple[int, int]) -> Access:
    """The access over the sum in place of both iterators."""
    assert rows is not None
    names = statement.iterators
    rest = _rest(len(names), number)
    texts = [affine_text([(row[k] // scales[1] if k == kept else row[k], names[k]) for k in rest], constant)
             for row, constant in rows]
    head = f"{statement.name}[{', '.join(names[k] for k in rest)}]"
    return replace(access, map=isl.Map(f"{{ {head} -> {access.array}[{', '.join(texts)}] }}"))


# Values that name iterators.


@dataclass(frozen=True)
class _Sum:
    """A part of a value, as ``constant + sum(coefficient * term)`` at its width: terms are iterators and parts that are
    no sums."""

    terms: dict[Expr, int]
    constant: int = 0

    def plus(self, other: _Sum, factor: int) -> _Sum:
        names = dict.fromkeys((*self.terms, *other.terms))
        return _Sum({name: self.terms.get(name, 0) + factor * other.terms.get(name, 0) for name in names},
                    self.constant + factor * other.constant)

    def expression(self, type_: Int) -> Expr:
        terms = {term: c for term, c in self.terms.items() if c}
        products = [term if c == 1 else Apply("mul", (term, Const(type_.wrap(c), type_)), type_)
                    for term, c in terms.items()]
        added = [Const(type_.wrap(self.constant), type_)] if self.constant or not products else []
        return reduce(lambda one, other: Apply("add", (one, other), type_), [*products, *added])


@dataclass(frozen=True)
class _Part:
    """A node of a value, its parts over the sum of iterators already, and what it is as a sum, if it is an integer."""

    node: Expr
    sum: _Sum | None


def _value(statement: Statement, number: int, kept: int, scales: tuple[int, int]) -> Expr | None:
    """The value over the sum in place of both iterators, None if it uses them otherwise."""
    pair = statement.iterators[number], statement.iterators[kept]
    if not _names_any(statement.value, set(pair)):
        return statement.value

    def step(node: Expr, parts: list[_Part]) -> _Part:
        known = _sum_of(node, [part.sum for part in parts])
        if known is not None:
            return _Part(node, known)
        node = with_children(node, [_over_sum(part, pair, scales) for part in parts])
        return _Part(node, _Sum({node: 1}) if isinstance(node.type, Int) else None)

    found = _over_sum(fold(statement.value, step), pair, scales)
    return None if _names_any(found, set(pair)) else _with_sum_called(pair[1], found)


_SUM = "+"
"""Name of the sum until all uses of the iterators in it are known to be gone."""


def _with_sum_called(name: str, value: Expr) -> Expr:
    def step(node: Expr, parts: list[Expr]) -> Expr:
        is_sum = isinstance(node, Iterator) and node.name == _SUM
        return Iterator(name, node.type) if is_sum else with_children(node, parts)

    return fold(value, step)


def _sum_of(node: Expr, parts: list[_Sum | None]) -> _Sum | None:
    """What an addition, a subtraction, a product with a constant or a leaf is as a sum, None for other nodes."""
    if isinstance(node, Const) and isinstance(node.type, Int):
        return _Sum({}, node.value)
    if not isinstance(node, Apply) or node.op not in ("add", "sub", "mul") or not isinstance(node.type, Int):
        return None
    one, other = parts
    assert one is not None and other is not None
    if node.op != "mul":
        return one.plus(other, 1 if node.op == "add" else -1)
    if one.terms and other.terms:
        return None
    return _Sum({}).plus(one, other.constant) if one.terms else _Sum({}).plus(other, one.constant)


def _over_sum(part: _Part, pair: tuple[str, str], scales: tuple[int, int]) -> Expr:
    """The part with the sum, if it has the `pair` of iterators in proportion; else as it is."""
    type_ = part.node.type
    if part.sum is None or not isinstance(type_, Int):
        return part.node
    outer, inner = (Iterator(name, type_) for name in pair)
    a, b = (part.sum.terms.get(iterator, 0) for iterator in (outer, inner))
    if (a, b) == (0, 0) or a * scales[1] != b * scales[0]:
        return part.node
    rest = {term: c for term, c in part.sum.terms.items() if term not in (outer, inner)}
    return _Sum({Iterator(_SUM, type_): b // scales[1], **rest}, part.sum.constant).expression(type_)
