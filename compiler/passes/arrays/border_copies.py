"""Copies with borders for arrays whose reads turn at edges, as those of a reflected or repeated border do.

A read such as ``t[i < 0 ? -i : i]`` is no loop nest: its function changes at the edge of the image. Where each
dimension of the index is a function of an affine one (here -1 -> 1, -2 -> 2, and what is inside to itself), the array
is copied into one that has these elements, too, one dimension after the other: each part of the function by a loop of
its own, all parts joined into one array in order, so that windows on it are taps of delay lines. The other way, a
statement for every function of a read (`compiler.passes.normalize.index_set_splitting`), repeats what the statement
computes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import islpy as isl

from compiler.analysis.affine import affine_form, pieces
from compiler.analysis.instance_budget import count_instances
from compiler.ir.expr import Read
from compiler.ir.names import fresh_name
from compiler.ir.program import Access, Array, Program, Statement
from compiler.ir.verify import verify
from compiler.passes.directives.errors import TransformError
from compiler.passes.directives.place import Place, order_of_places, places
from compiler.passes.normalize.index_set_splitting import few_boxes

__all__ = ["copy_borders"]

_MOST_PARTS = 8
"""Most parts of the function of one dimension."""


@dataclass(frozen=True)
class _Border:
    """A dimension of an array that is copied: its elements ``low`` to ``high`` are those that the `parts` give, each an
    interval and the coefficient and constant of its function."""

    low: int
    high: int
    parts: tuple[tuple[int, int, int, int], ...]

    @property
    def extent(self) -> int:
        """Elements of the copy."""
        return self.high - self.low + 1


def copy_borders(program: Program) -> Program:
    """`program` with copies in place of inputs and intermediate arrays whose reads turn at edges; itself if there are
    none, or none that is complete before its readers begin."""
    for array in program.arrays:
        if array.role != "output":
            program = _with_copy(program, array)
    return program


def _with_copy(program: Program, array: Array) -> Program:
    shared = {name for group in program.shared for name in group}
    readers = [s for s in program.statements if s.name not in shared and any(_turns(s, read) for read in s.reads
                                                                             if read.array == array.name)]
    if not readers:
        return program
    borders = _borders(array, readers)
    try:
        where = places(program)
    except TransformError:
        return program
    first = min(where[s.name].positions[0] for s in readers)
    writers = [s for s in program.statements if s.write.array == array.name]
    if not any(borders.values()) or any(where[s.name].positions[0] >= first for s in writers):
        return program
    return _copied(program, array, readers, borders, where, first)


def _turns(statement: Statement, read: Access) -> bool:
    return any(affine_form(function) is None for function in _functions(statement, read))


def _functions(statement: Statement, read: Access) -> list[isl.PwAff]:
    """The index in each dimension."""
    index = isl.PwMultiAff.from_map(read.map.intersect_domain(statement.domain))
    return [index.get_pw_aff(k) for k in range(index.dim(isl.dim_type.out))]


def _borders(array: Array, readers: Sequence[Statement]) -> dict[int, _Border | None]:
    """The dimensions that have to be copied; none if a read turns in a way that no copy has."""
    found: dict[int, _Border | None] = {}
    reads = [(s, read) for s in readers for read in s.reads if read.array == array.name]
    for dimension, size in enumerate(array.shape):
        fold = isl.Map(f"{{ [u] -> [u] : 0 <= u < {size} }}")
        turning = False
        for statement, read in reads:
            function = _functions(statement, read)[dimension]
            if affine_form(function) is None:
                linear = _unfolded(function)
                if linear is None:
                    return {}
                turning = True
                fold = fold.union(_fold(linear, function))
        if turning:
            border = _border(fold) if fold.is_single_valued() else None
            if border is None:
                return {}
            found[dimension] = border
    return found


def _fold(linear: isl.Aff, function: isl.PwAff) -> isl.Map:
    """Which index each value of `linear` stands for."""
    values = isl.Map.from_aff(linear).intersect_domain(function.domain())
    folded = isl.Map.from_pw_aff(function)
    return values.reverse().apply_range(folded)


def _unfolded(function: isl.PwAff) -> isl.Aff | None:
    """A piece of `function` of whose values all of it is a function: the one that is right for the most iterations."""
    found: list[tuple[int, isl.Aff]] = []
    function.foreach_piece(lambda domain, part: found.append((count_instances(domain), part)))
    for _, part in sorted(found, key=lambda piece: -piece[0]):
        if not part.dim(isl.dim_type.div) and not part.is_cst() and _fold(part, function).is_single_valued():
            return part
    return None


def _border(fold: isl.Map) -> _Border | None:
    low, high = (value.to_python() for value in (fold.domain().dim_min_val(0), fold.domain().dim_max_val(0)))
    parts = []
    for domain, function in pieces(fold):
        form = affine_form(isl.PwAff.from_aff(function.get_aff(0)).intersect_domain(domain))
        boxes = few_boxes(domain)
        if form is None or boxes is None:
            return None
        (slope,), constant = form
        parts += [(box.dim_min_val(0).to_python(), box.dim_max_val(0).to_python(), slope, constant) for box in boxes]
    whole = sum(last - first + 1 for first, last, _, _ in parts) == high - low + 1
    return _Border(low, high, tuple(sorted(parts))) if whole and len(parts) <= _MOST_PARTS else None


def _copied(program: Program, array: Array, readers: Sequence[Statement], borders: dict[int, _Border | None],
            where: dict[str, Place], first: int) -> Program:
    taken = set(program.names)
    arrays, copies = [array], list[Statement]()
    for dimension, border in borders.items():
        assert border is not None
        new = list(_copies(arrays[-1], array, dimension, border, taken, readers[0]))
        arrays += [made for made, _ in new]
        copies += [statement for _, statements in new for statement in statements]
    moved = {s.name: _redirected(s, array, arrays[-1], borders) for s in readers}
    if None in moved.values():
        return program
    step = len(copies) + 1
    order = {name: place.moved(0, step * place.positions[0]) for name, place in where.items()}
    order |= {s.name: _place(s, step * first - len(copies) + k) for k, s in enumerate(copies)}
    kept = program.statements.index(readers[0])
    changed = [moved.get(s.name) or s for s in program.statements]
    statements = (*changed[:kept], *copies, *changed[kept:])
    result = replace(program, arrays=(*program.arrays, *arrays[1:]), statements=statements,
                     order=order_of_places(statements, order))
    verify(result)
    return result


def _copies(source: Array, array: Array, dimension: int, border: _Border, taken: set[str],
            reader: Statement) -> Iterator[tuple[Array, list[Statement]]]:
    """An array of the parts of one dimension, and the one in which they are joined; each with what writes it."""
    shape = tuple(border.extent if k == dimension else size for k, size in enumerate(source.shape))

    def named(suffix: str) -> str:
        name = fresh_name(f"{array.name}_{suffix}", taken)
        taken.add(name)
        return name

    parts, joined = (Array(named(suffix), shape, array.type, "intermediate", array.level)
                     for suffix in ("parts", "bordered"))
    names = [f"i{k}" for k in range(len(shape))]
    inside = [(0, size - 1) for size in shape]
    pieces_of = []
    for low, high, slope, constant in border.parts:
        box = [*inside[:dimension], (low - border.low, high - border.low), *inside[dimension + 1:]]
        index = [*names]
        index[dimension] = f"{slope} * ({names[dimension]} + {border.low}) + {constant}"
        pieces_of.append(_copy(named("part"), box, (source.name, index), (parts.name, names), array, reader))
    yield parts, pieces_of
    yield joined, [_copy(named("join"), inside, (parts.name, names), (joined.name, names), array, reader)]


def _copy(name: str, box: Sequence[tuple[int, int]], source: tuple[str, Sequence[str]],
          target: tuple[str, Sequence[str]], array: Array, reader: Statement) -> Statement:
    names = tuple(f"i{k}" for k in range(len(box)))
    head = f"{name}[{', '.join(names)}]"
    bounds = " and ".join(f"{low} <= {n} <= {high}" for n, (low, high) in zip(names, box, strict=True))
    domain = isl.Set(f"{{ {head} : {bounds or 'true'} }}")
    read, write = (Access(where, isl.Map(f"{{ {head} -> {where}[{', '.join(index)}] }}"), reader.location)
                   for where, index in (source, target))
    return Statement(name, names, domain, (read,), write, Read(0, array.type), reader.location)


def _redirected(statement: Statement, array: Array, copy: Array,
                borders: dict[int, _Border | None]) -> Statement | None:
    """The statement with reads of the copy; None if these would not see the same elements."""
    reads = []
    for read in statement.reads:
        if read.array == array.name:
            moved = _moved(statement, read, copy, borders)
            if moved is None:
                return None
            read = Access(copy.name, moved, read.location)
        reads.append(read)
    return replace(statement, reads=tuple(reads))


def _moved(statement: Statement, read: Access, copy: Array, borders: dict[int, _Border | None]) -> isl.Map | None:
    indices: list[isl.PwAff] = []
    for k, function in enumerate(_functions(statement, read)):
        border = borders.get(k)
        if affine_form(function) is None:
            linear = _unfolded(function)
            if linear is None:
                return None
            function = isl.PwAff.from_aff(linear).intersect_domain(function.domain())
        low = isl.Val(border.low if border else 0)
        indices.append(function.sub(isl.PwAff.val_on_domain(function.domain(), low)))
    moved = isl.Map.from_pw_aff(indices[0])
    for index in indices[1:]:
        moved = moved.flat_range_product(isl.Map.from_pw_aff(index))
    moved = moved.set_tuple_name(isl.dim_type.out, copy.name)
    same = moved.apply_range(_elements(copy, read.array, borders))
    return moved if same.is_equal(read.map.intersect_domain(statement.domain)) else None


def _elements(copy: Array, array: str, borders: dict[int, _Border | None]) -> isl.Map:
    """{element of the copy -> the element that it is}."""
    names = [f"p{k}" for k in range(len(copy.shape))]
    choices = []
    for k, size in enumerate(copy.shape):
        border = borders.get(k)
        parts = border.parts if border else ((0, size - 1, 1, 0),)
        low = border.low if border else 0
        index = f"(p{k} + {low})"
        choices.append(" or ".join(f"({first} <= {index} <= {last} and q{k} = {slope} * {index} + {constant})"
                                   for first, last, slope, constant in parts))
    text = " and ".join(f"({choice})" for choice in choices) or "true"
    inner = ", ".join(f"q{k}" for k in range(len(copy.shape)))
    return isl.Map(f"{{ {copy.name}[{', '.join(names)}] -> {array}[{inner}] : {text} }}")


def _place(statement: Statement, position: int) -> Place:
    local = isl.LocalSpace.from_space(statement.domain.get_space())
    loops = tuple(isl.Aff.var_on_domain(local, isl.dim_type.set, k) for k in range(len(statement.iterators)))
    return Place((position, *[0] * len(loops)), loops)
