"""Loop-nest programs as parallel arrays: every statement becomes an expression of whole arrays.

A statement is taken if its reads and its write are affine (or whole groups, ``i // 2``), and every element is written
once or accumulated by ``+``, ``min`` or ``max``. Statements are put in an order in which each
can run as a whole; loops that carry values from turn to turn are unrolled.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import permutations
from math import prod
from typing import Protocol

import islpy as isl
import networkx as nx
import numpy as np

from compiler.bind.vector.affine_pieces import clamped, divided, parts_of
from compiler.bind.vector.array_state import Contents, Indices, Written
from compiler.bind.vector.element_values import NUMBERS, UnsupportedValue, container, cut, plain_operation, value_of
from compiler.bind.vector.errors import VectorTargetError
from compiler.bind.vector.fixed_loops import without_unit_loops
from compiler.bind.vector.float_sums import FloatAccumulation, float_accumulation, in_order, own_reads
from compiler.bind.vector.iteration_masks import IterationMask
from compiler.bind.vector.quotient_splitting import by_quotient
from compiler.bind.vector.residue_splitting import MOST_CLASSES, by_residue, divided_sum, rounded_parts
from compiler.bind.vector.scans import Scan, scan_of, scanned
from compiler.bind.vector.scatter_updates import keeps_bits, update_of
from compiler.frontend.parallel_array.array import Array, ArrayLike, array_constant, input
from compiler.frontend.parallel_array.element_types import bounds
from compiler.frontend.parallel_array.expression import CLAMP, Place
from compiler.frontend.parallel_array.functions import broadcast_to, maximum, minimum, scattered, stretch
from compiler.frontend.parallel_array.location import ArrayError, written_at
from compiler.frontend.parallel_array.program import ArrayProgram
from compiler.frontend.parallel_array.program import program as array_program
from compiler.frontend.parallel_array.views import MOST_DIMENSIONS, viewed
from compiler.ir.expr import Apply, Cast, Const, Expr, Load, Read, Store, children, is_floating, postorder
from compiler.ir.program import Access, Program, Statement
from compiler.ir.program import Array as ProgramArray
from compiler.ir.types import BFLOAT16, Float, Int, Type

__all__ = [
    "MOST_STEPS",
    "Around",
    "Space",
    "Translation",
    "accumulation_of",
    "carries",
    "check_numbers",
    "element_of",
    "from_program",
    "given_array",
    "in_statement_order",
    "precedes",
    "singles_of",
    "touching",
]

MOST_STEPS = 128
"""Turns of a loop that are unrolled."""

SCATTERED = 1 << 14
"""Bytes of the indices and words that are scattered at once."""

Rows = list[tuple[tuple[int, ...], int, int]]
"""Per dimension of an array: coefficients of the iterators, constant, and what the sum is divided by."""


def from_program(program: Program, float32: bool = True, bfloat16: bool = True) -> ArrayProgram:
    """`program` as parallel arrays with the same inputs and outputs, for lanes that compute with such numbers. Raises
    `VectorTargetError` naming the statement that cannot be translated, and why."""
    check_numbers(program, float32, bfloat16)
    return Translation(program).run()


def check_numbers(program: Program, float32: bool, bfloat16: bool) -> None:
    """Raises `VectorTargetError` if a program computes with numbers that the lanes do not have."""
    for statement in program.statements:
        _check_lanes(statement, float32, bfloat16)


def _check_lanes(statement: Statement, float32: bool, bfloat16: bool) -> None:
    """Raise `VectorTargetError` if the statement computes with numbers that the lanes do not have."""
    for node in postorder(statement.value):
        if not isinstance(node, Apply | Cast) or not is_floating(node):
            continue
        kinds = {part.type for part in (node, *children(node))}
        option = "bfloat16" if BFLOAT16 in kinds else "float32"
        if bfloat16 if option == "bfloat16" else float32:
            continue
        raise VectorTargetError(f"{statement.label()} computes with floating-point numbers, which lanes do if they "
                                f"are asked for: give the option {option} ({option}=True, --option {option}=true)")


class Translation:
    """`contents`: what arrays hold so far; missing ones hold zeros."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.contents: dict[str, Contents] = {}
        self.tables = {table.name: table for table in program.tables}

    def run(self) -> ArrayProgram:
        for array in self.program.inputs:
            given = given_array(array, f"input {array.name}")
            self.contents[array.name] = Contents(array.shape, given.dtype, given)
        for statement in _ordered(self.program, self.program.statements):
            for single in singles_of(self.program, statement):
                for step in in_statement_order(self.program, single, Space(single)):
                    self._translated(step)
        outputs = {array.name: self._held(array.name, "output").result() for array in self.program.outputs}
        return array_program(self.program.name, **outputs)

    def space_of(self, statement: Statement) -> Space:
        """The index space that a statement runs over."""
        return Space(statement)

    def simplified(self, statement: Statement) -> Statement:
        """The statement without the loops of one iteration."""
        return without_unit_loops(statement)

    def source_of(self, statement: Statement, access: Access) -> tuple[Array, tuple[int, ...]]:
        """An array that holds what an access reads, and where its first element is in the one that is meant."""
        return self._held(access.array).read(), (0,) * len(self.program.array(access.array).shape)

    def _held(self, name: str, role: str = "array") -> Contents:
        """What an array holds."""
        if name not in self.contents:
            array = self.program.array(name)
            kind = container(element_of(array.type, f"{role} {name}"))
            self.contents[name] = Contents(array.shape, kind)
        return self.contents[name]

    def _translated(self, statement: Statement) -> None:
        place = statement.location
        try:
            if place is None:
                self._run(statement)
                return
            with written_at(place.file, place.line):
                self._run(statement)
        except ArrayError as error:
            raise VectorTargetError(f"{statement}: {error}") from None

    def _run(self, statement: Statement) -> None:
        if len(statement.iterators) > MOST_DIMENSIONS:
            raise VectorTargetError(f"{statement.label()}: there are {len(statement.iterators)} loops around it; the "
                                    f"vector target takes up to {MOST_DIMENSIONS}: write a loop and the one inside it "
                                    "that walk consecutive elements as one loop")
        scan = self._scan(statement)
        if scan is None:
            statement = self.simplified(statement)
        space = self.space_of(statement)
        if isinstance(statement.value, Store):
            self._scatter(statement, statement.value, space)
            return
        target = self.program.array(statement.write.array)
        kind = element_of(target.type, f"array {target.name}")
        written, accumulated = _Target(space, statement), accumulation_of(self.program, statement)
        if scan is not None:
            term = space.spread(self._value(statement, scan.term, space)).astype(container(kind))
            neutral = _neutral(scan.op, term.dtype)
            found = scanned(scan, term, lambda n: self._words(statement, statement.reads[n], space, None), neutral)
            value = cut(found, kind)
        elif accumulated is None:
            value = space.spread(self._value(statement, statement.value, space))
            if space.mask is not None:
                value = space.mask.select(value, self._words(statement, statement.write, space, None))
        elif isinstance(accumulated, FloatAccumulation):
            value = self._accumulated_float(statement, accumulated, space)
        else:
            assert isinstance(kind, Int)
            value = self._accumulated(statement, accumulated, space, written, kind)
        self._held(target.name).write(written.placed(value.astype(container(kind))))

    def _scan(self, statement: Statement) -> Scan | None:
        """The scan that a statement is which needs its own results other than to accumulate."""
        if isinstance(statement.value, Store) or accumulation_of(self.program, statement) is not None:
            return None
        return scan_of(self.program, statement) if precedes(self.program, statement, statement) else None

    def _scatter(self, statement: Statement, store: Store, space: Space) -> None:
        """A store of the whole of a statement, in the order of its iterators."""
        name = store.memory
        update = update_of(store.value, Load(name, store.index, (), self.program.array(name).type))
        index = space.spread(self._value(statement, store.index, space))
        if space.mask is not None:
            index = space.mask.select(index.astype(np.dtype(np.int32)), -1)
        value = space.spread(self._value(statement, update.term if update else store.value, space))
        kind, found = element_of(self.program.array(name).type, f"array {name}"), self._held(name).read()
        for part in _parts_of(index, update is not None and isinstance(update.term, Const)):
            found = scattered(found, index[part], value[part], update is not None)
        self._held(name).write(Written(cut(found, kind) if update else found, Place((0,), (1,))))

    def _accumulated(self, statement: Statement, found: _Accumulation, space: Space, written: _Target,
                     kind: Int) -> Array:
        before = self._words(statement, statement.reads[found.read], space, written)
        terms = space.spread(self._value(statement, found.term, space))
        if space.mask is not None:
            terms = space.mask.select(terms, _neutral(found.op, terms.dtype))
        axes = written.reduced
        if found.op in ("add", "sub"):
            total = (terms.sum(axes, container(kind)) if axes else terms).astype(container(kind))
            return cut(before + total if found.op == "add" else before - total, kind)
        less = terms.min(axes) if found.op == "min" else terms.max(axes)
        return (minimum if found.op == "min" else maximum)(before, less.astype(container(kind)))

    def _accumulated_float(self, statement: Statement, found: FloatAccumulation, space: Space) -> Array:
        """Of a statement that has one term for an element."""
        before = space.spread(self._words(statement, statement.reads[found.read], space, None))
        term = space.spread(self._value(statement, found.term, space))
        operands = (term, before) if found.swapped else (before, term)
        after = plain_operation(found.op)(*operands)
        return after if space.mask is None else space.mask.select(after, before)

    def _value(self, statement: Statement, value: Expr, space: Space) -> Array:
        def read(number: int) -> Array:
            return self._words(statement, statement.reads[number], space, None)

        try:
            return value_of(value, read, space.index, self.tables, lambda name: self._held(name).read())
        except UnsupportedValue as error:
            raise VectorTargetError(f"{statement}: {error}") from None

    def _words(self, statement: Statement, access: Access, space: Space, written: _Target | None) -> Array:
        """The words of an access for all iterations, or for those that `written` keeps."""
        inside = clamped(access, space.domain, self.program.array(access.array).shape)
        rows = space.rows(statement, access) if inside is None else space.rows_of(statement, access, inside)
        kept = list(range(len(space.sizes))) if written is None else written.kept
        sizes = tuple(space.sizes[k] for k in kept)
        matrix = tuple(tuple(row[k] for k in kept) for row, *_ in rows)
        offset, factors = [o for _, o, _ in rows], tuple(divisor for *_, divisor in rows)
        held = self._held(access.array)
        if all(f == 1 for f in factors):
            part = held.last([Indices.of(o, row, sizes) for o, row in zip(offset, matrix, strict=True)])
            if part is not None:
                return _part_viewed(part, sizes, matrix, offset)
        source, first = self.source_of(statement, access)
        source = source if all(f == 1 for f in factors) else stretch(source, factors)
        expression = source.expression
        boundary = None if space.mask is None and inside is None else CLAMP
        offset = [o - start for o, start in zip(offset, first, strict=True)]
        return Array(viewed(expression, sizes, matrix, offset, boundary, expression.location))


def _part_viewed(part: Written, sizes: tuple[int, ...], matrix: Sequence[Sequence[int]],
                 offset: Sequence[int]) -> Array:
    """Elements ``matrix @ i + offset`` of an array, all of which belong to `part`."""
    rows = tuple(tuple(c // step if n > 1 else 0 for c, n in zip(row, sizes, strict=True))
                 for row, step in zip(matrix, part.place.steps, strict=True))
    places = [(o - first) // step for o, first, step in zip(offset, part.place.first, part.place.steps, strict=True)]
    expression = part.value.expression
    return Array(viewed(expression, sizes, rows, places, None, expression.location))


def _parts_of(index: Array, one: bool) -> Iterator[slice | tuple[()]]:
    """Parts of the outermost loop of which indices and words fit the scratchpad; `one`: all words are one number."""
    if not index.ndim:
        yield ()
        return
    row = prod(index.shape[1:]) * (index.dtype.itemsize + (0 if one else 4))
    count = max(1, SCATTERED // row)
    yield from (slice(first, first + count) for first in range(0, index.shape[0], count))


def given_array(array: ProgramArray, what: str) -> Array:
    """An array that is there before. Raises `VectorTargetError`, which calls it `what`."""
    kind = element_of(array.type, what)
    if len(array.shape) > MOST_DIMENSIONS:
        raise VectorTargetError(f"{what} has {len(array.shape)} dimensions; the vector target has arrays of up to "
                                f"{MOST_DIMENSIONS}")
    ends = () if isinstance(kind, Float) else (kind.minimum, kind.maximum)
    return input(array.name, array.shape, container(kind), *ends)


def element_of(type: Type, what: str) -> Int | Float:
    if type not in NUMBERS and (not isinstance(type, Int) or type.width > 32):
        raise VectorTargetError(f"{what} has elements of type {type}; the vector target has integers of 1 to 32 bits "
                                "and float8.23 and float8.7, that is float and __bf16 in C; the targets dataflow and "
                                "fpga have other floats")
    assert isinstance(type, Int | Float)
    return type


def _neutral(op: str, kind: np.dtype) -> int:
    """What accumulating leaves as it is."""
    low, high = bounds(kind)
    return {"add": 0, "sub": 0, "min": high, "max": low}[op]


# Order.


def _ordered(program: Program, statements: Sequence[Statement]) -> Iterator[Statement]:
    """Statements so that each can run as a whole. What a loop carries from turn to turn is done turn by turn."""
    graph = nx.DiGraph()
    graph.add_nodes_from(range(len(statements)))
    graph.add_edges_from((i, j) for i, j in permutations(range(len(statements)), 2)
                         if precedes(program, statements[i], statements[j]))
    groups = nx.condensation(graph)
    for group in nx.lexicographical_topological_sort(groups, key=lambda g: min(groups.nodes[g]["members"])):
        members = [statements[i] for i in sorted(groups.nodes[group]["members"])]
        (first, *others) = members
        whole = isinstance(first.value, Store) or _runs_whole(program, first) or _is_scan(program, first)
        if others or not whole:
            yield from _stepped(program, members)
        else:
            yield first


def _carrying(times: Sequence[isl.Set], distances: isl.Set) -> tuple[int, int, int]:
    """The outermost dimension of time that carries some of the `distances` and turns none of them round, and its first
    and last value: loops around it that carry nothing are interchanged with it, and run inside its steps at once.
    Without distances, the outermost dimension in which iterations differ."""
    ranges = [(min(t.dim_min_val(d).to_python() for t in times), max(t.dim_max_val(d).to_python() for t in times))
              for d in range(times[0].dim(isl.dim_type.set))]
    if distances.is_empty():
        return next((d, low, high) for d, (low, high) in enumerate(ranges) if low < high)
    return next((d, low, high) for d, (low, high) in enumerate(ranges)
                if distances.dim_min_val(d).to_python() >= 0 < distances.dim_max_val(d).to_python())


def _distances(program: Program, statements: Sequence[Statement]) -> isl.Set:
    """The distances in time between iterations of `statements` of which one has to come before the other."""
    orders = [program.order_of(s.name) for s in statements]
    found = [needed.apply_domain(first).apply_range(second).deltas()
             for a, first in zip(statements, orders, strict=True) for b, second in zip(statements, orders, strict=True)
             for needed in _orderings(program, a, b)]
    return reduce(isl.Set.union, found, isl.Set.empty(orders[0].range().get_space()))


def _runs_whole(program: Program, statement: Statement) -> bool:
    """Whether no iteration needs another's result, but for accumulating it, the write moves along the array's
    dimensions one loop each, and every point of the index space writes an element of its own."""
    accumulated = accumulation_of(program, statement) is not None
    if carries(program, statement, program.order_of(statement.name).lex_lt_map(program.order_of(statement.name))):
        return False
    spaces = [Space(single) for single in singles_of(program, statement)]
    return not any(space.folds() or (not accumulated and space.repeats()) for space in spaces)


def _is_scan(program: Program, statement: Statement) -> bool:
    """Whether a statement that needs its own results combines all of those before, and can be written whole."""
    singles = singles_of(program, statement)
    if len(singles) != 1 or accumulation_of(program, statement) is not None or scan_of(program, singles[0]) is None:
        return False
    return not Space(singles[0]).folds() and not Space(singles[0]).repeats()


def singles_of(program: Program, statement: Statement) -> list[Statement]:
    """The statement in parts in which every index is one function, affine or a sum divided by a number."""
    parts = divided(statement, lambda name: program.array(name).shape)
    return [single for part in parts for between in by_quotient(part) for single in by_residue(between)]


def _stepped(program: Program, statements: Sequence[Statement]) -> Iterator[Statement]:
    """The statements at the first value of the outermost loop that they run in, at the second value, and so on."""
    times = [program.order_of(s.name).intersect_domain(s.domain) for s in statements]
    dimension, low, high = _carrying([t.range() for t in times], _distances(program, statements))
    if high - low >= MOST_STEPS:
        raise VectorTargetError(f"{statements[0]}: a loop of {high - low + 1} iterations has a loop-carried "
                                "dependence; the vector target computes whole arrays, and unrolls at most "
                                f"{MOST_STEPS} iterations: call the program for {MOST_STEPS} of them at a time, or "
                                "compile it for fpga or dataflow")
    for value in range(low, high + 1):
        now = [replace(s, domain=t.fix_val(isl.dim_type.out, dimension, isl.Val(value)).domain())
               for s, t in zip(statements, times, strict=True)]
        yield from _ordered(program, [s for s in now if not s.domain.is_empty()])


def carries(program: Program, statement: Statement, before: isl.Map) -> bool:
    """Whether some iteration needs another's result, or replaces what it needs, of those pairs of which one comes
    `before` the other; but for accumulating."""
    found = accumulation_of(program, statement)
    pairs = [(a, b) for read in statement.reads for a, b in ((statement.write, read), (read, statement.write))]
    if found is None:
        pairs.append((statement.write, statement.write))
    else:
        own = statement.reads[found.read]
        pairs = [(a, b) for a, b in pairs if a is not own and b is not own]
    return any(not touching(statement, a, statement, b).intersect(before).is_empty()
               for a, b in pairs if a.array == b.array)


def precedes(program: Program, a: Statement, b: Statement) -> bool:
    """Whether some iteration of `a` has to come before one of `b`."""
    return any(not needed.is_empty() for needed in _orderings(program, a, b))


def _orderings(program: Program, a: Statement, b: Statement) -> Iterator[isl.Map]:
    """Iterations of `a` and of `b` that come later and touch the same element, which one of both writes."""
    before = program.order_of(a.name).lex_lt_map(program.order_of(b.name))
    pairs = [(a.write, b.write), *((a.write, r) for r in b.reads), *((r, b.write) for r in a.reads)]
    return (touching(a, x, b, y).intersect(before) for x, y in pairs if x.array == y.array)


def touching(a: Statement, x: Access, b: Statement, y: Access) -> isl.Map:
    first, second = x.map.intersect_domain(a.domain), y.map.intersect_domain(b.domain)
    return first.apply_range(second.reverse())


# Accumulation.


@dataclass(frozen=True)
class _Accumulation:
    """``element = element op term``; `read` is the number of the read that fetches the element."""

    op: str
    read: int
    term: Expr


def in_statement_order(program: Program, statement: Statement, space: Space) -> Iterator[Statement]:
    """A statement that adds up floating-point numbers, term by term; any other one as it is. Raises
    `VectorTargetError`."""
    if float_accumulation(program, statement) is None:
        yield statement
        return
    yield from in_order(program, statement, _Target(space, statement).reduced)


def accumulation_of(program: Program, statement: Statement) -> _Accumulation | FloatAccumulation | None:
    """What a statement accumulates: the element that it writes is read once, as an operand of the last operation."""
    if isinstance(program.array(statement.write.array).type, Float):
        return float_accumulation(program, statement)
    own = own_reads(statement)
    value, kinds = statement.value, [statement.value.type]
    while isinstance(value, Cast):
        value = value.arg
        kinds.append(value.type)
    if len(own) != 1 or not isinstance(value, Apply):
        return None
    parts = _parts(value)
    if parts is None or (len(kinds) > 1 and parts[0] not in ("add", "sub")):
        return None
    op, operands = parts
    places = operands[:1] if op == "sub" else operands
    element = [i for i, o in enumerate(places) if _is_read(o, own[0], op)]
    if len(element) != 1 or not all(keeps_bits(kind, _word(operands[element[0]])) for kind in kinds):
        return None
    return _Accumulation(op, own[0], operands[1 - element[0]])


def _parts(value: Apply) -> tuple[str, tuple[Expr, Expr]] | None:
    if value.op == "mad":
        a, b, c = value.args
        return "add", (c, Apply("mul", (a, b), value.type))
    if value.op in ("add", "sub", "min", "max"):
        return value.op, (value.args[0], value.args[1])
    return None


def _is_read(value: Expr, number: int, op: str) -> bool:
    """Whether an operand is the element, at its own type; converted to another only where sums wrap anyway."""
    word = _word(value)
    while op in ("add", "sub") and isinstance(value, Cast) and keeps_bits(value.type, word):
        value = value.arg
    return isinstance(value, Read) and value.index == number


def _word(value: Expr) -> Type:
    """The type of what is converted to `value`."""
    while isinstance(value, Cast):
        value = value.arg
    return value.type


# Index spaces.


class Mask(Protocol):
    """Which points of an index space are iterations."""

    def select(self, value: Array, others: ArrayLike) -> Array:
        """`value` for all iterations, and `others` for the points around them."""
        ...


@dataclass(frozen=True)
class Around:
    """A box around the iterations of a statement that it runs over instead; `mask` says which points of it they are."""

    box: isl.Set
    mask: Mask


class Space:
    """The iterations of a statement as an index space from 0. Where they are no box, the space is the least box around
    them, or one that is given, and `mask` says which of its points they are."""

    def __init__(self, statement: Statement, around: Around | None = None) -> None:
        self.statement = statement
        self.domain = domain = around.box if around else statement.domain
        dimensions = range(len(statement.iterators))
        self.low = [domain.dim_min_val(k).to_python() for k in dimensions]
        self.sizes = [domain.dim_max_val(k).to_python() - low + 1 for k, low in zip(dimensions, self.low, strict=True)]
        whole = around is not None or statement.box() is not None
        self.mask: Mask | None = around.mask if around else None
        if not whole:
            self.mask = IterationMask(domain, tuple(self.low), tuple(self.sizes))

    def rows(self, statement: Statement, access: Access) -> Rows:
        """The affine functions of an access, counted from the first iteration."""
        parts = parts_of(access, self.domain)
        if len(parts) != 1:
            raise VectorTargetError(f"{statement.label(access)}: the access to {access.array} changes from iteration "
                                    "to iteration")
        return self.rows_of(statement, access, parts[0][1])

    def rows_of(self, statement: Statement, access: Access, index: isl.MultiAff) -> Rows:
        """The same for an access of which `index` is known."""
        return [self._row(statement, access, index.get_aff(i)) for i in range(index.dim(isl.dim_type.out))]

    def folds(self) -> bool:
        """Whether several loops move along one dimension of the written array, as in loops over tiles."""
        return any(sum(c != 0 and n > 1 for c, n in zip(row, self.sizes, strict=True)) > 1
                   for row, *_ in self.rows(self.statement, self.statement.write))

    def repeats(self) -> bool:
        """Whether the points along some loop write one element, as those beside skewed tiles do."""
        rows = [row for row, *_ in self.rows(self.statement, self.statement.write)]
        return any(n > 1 and not any(row[k] for row in rows) for k, n in enumerate(self.sizes))

    def _row(self, statement: Statement, access: Access, aff: isl.Aff) -> tuple[tuple[int, ...], int, int]:
        divisor = 1
        if (total := divided_sum(aff)) is not None:
            aff = total
            divisor = aff.get_denominator_val().to_python()
            aff = aff.scale_val(isl.Val(divisor))
        if rounded_parts(aff) or aff.get_denominator_val().to_python() != 1:
            raise VectorTargetError(f"{statement.label(access)}: the index {aff} of {access.array} is neither affine "
                                    "nor an affine expression divided by a number, nor periodic with a period of "
                                    f"up to {MOST_CLASSES} iterations")
        row = tuple(aff.get_coefficient_val(isl.dim_type.in_, k).to_python() for k in range(len(self.sizes)))
        offset = aff.get_constant_val().to_python() + sum(c * low for c, low in zip(row, self.low, strict=True))
        return row, offset, divisor

    def index(self, name: str) -> Array:
        """The values of an iterator."""
        place = self.statement.iterators.index(name)
        values = np.arange(self.low[place], self.low[place] + self.sizes[place], dtype=np.int32)
        shape = [1] * len(self.sizes)
        shape[place] = self.sizes[place]
        return array_constant(values.reshape(shape))

    def spread(self, value: Array) -> Array:
        """A value for every iteration."""
        return broadcast_to(value, self.sizes)


class _Target:
    """Where a statement writes: per dimension of the array an iterator with a step, or a fixed index."""

    def __init__(self, space: Space, statement: Statement) -> None:
        rows = space.rows(statement, statement.write)
        self.offsets = [o for _, o, _ in rows]
        self.axes: list[int | None] = []
        self.steps: list[int] = []
        for row, _, divisor in rows:
            used = [k for k, c in enumerate(row) if c and space.sizes[k] > 1]
            if divisor > 1 or len(used) > 1 or (used and used[0] in self.axes):
                raise VectorTargetError(f"{statement}: it writes {statement.write.array} neither row by row nor in "
                                        "steps")
            self.axes.append(used[0] if used else None)
            self.steps.append(row[used[0]] if used else 1)
        self.kept = [k for k in range(len(space.sizes)) if k in self.axes]
        self.reduced = tuple(k for k in range(len(space.sizes)) if k not in self.axes)

    def placed(self, value: Array) -> Written:
        """Where `value`, of all iterations or of those that are kept, is written."""
        if value.ndim > len(self.kept):
            value = value[tuple(slice(None) if k in self.kept else 0 for k in range(value.ndim))]
        order = [self.kept.index(a) for a in self.axes if a is not None]
        value = value.transpose(*order) if order else value
        value = value[tuple(None if a is None else slice(None, None, -1 if s < 0 else 1)
                            for a, s in zip(self.axes, self.steps, strict=True))]
        starts = [o + s * (n - 1) if s < 0 else o
                  for o, s, n in zip(self.offsets, self.steps, value.shape, strict=True)]
        return Written(value, Place(tuple(starts), tuple(abs(s) for s in self.steps)))
