"""Loop-nest programs as parallel arrays: every statement becomes an expression of whole arrays.

A statement is taken if its reads and its write are affine (or whole groups, ``i // 2``), and every element is written
once or accumulated by ``+``, ``min`` or ``max``. Statements are put in an order in which each
can run as a whole; loops that carry values from turn to turn are unrolled.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

import numpy as np

from compiler.bind.vector.accumulations import Accumulation, accumulation_of, in_statement_order
from compiler.bind.vector.affine_pieces import clamped
from compiler.bind.vector.array_state import Contents, Indices, Written
from compiler.bind.vector.diagonal_writes import with_written_box
from compiler.bind.vector.element_values import NUMBERS, UnsupportedValue, container, cut, float_operation, value_of
from compiler.bind.vector.errors import VectorTargetError
from compiler.bind.vector.fixed_loops import without_unit_loops
from compiler.bind.vector.float_sums import FloatAccumulation
from compiler.bind.vector.iteration_spaces import Space, Target
from compiler.bind.vector.masked_products import masked_product
from compiler.bind.vector.moving_boxes import MovingMask
from compiler.bind.vector.scans import Scan, neutral_number, scan_of, scanned
from compiler.bind.vector.scatter_updates import update_of
from compiler.bind.vector.statement_order import ordered, singles_of
from compiler.bind.vector.statement_precedence import precedes
from compiler.frontend.parallel_array.array import Array, input
from compiler.frontend.parallel_array.expression import CLAMP, Place
from compiler.frontend.parallel_array.functions import maximum, minimum, scattered, stretch
from compiler.frontend.parallel_array.location import ArrayError, written_at
from compiler.frontend.parallel_array.program import ArrayProgram
from compiler.frontend.parallel_array.program import program as array_program
from compiler.frontend.parallel_array.views import MOST_DIMENSIONS, viewed
from compiler.ir.expr import Apply, Cast, Const, Expr, Load, Store, children, is_floating, postorder
from compiler.ir.program import Access, Program, Statement
from compiler.ir.program import Array as ProgramArray
from compiler.ir.types import BFLOAT16, Float, Int, Type
from hw.vector_lanes.spec import VectorSpec

__all__ = ["Translation", "check_numbers", "element_of", "from_program", "given_array"]

SCATTERED = 1 << 14
"""Bytes of the indices and words that are scattered at once."""

EVERYTHING = VectorSpec(float32=True, bfloat16=True, fma=True)
"""A machine whose lanes have all that there is."""


def from_program(program: Program, spec: VectorSpec = EVERYTHING) -> ArrayProgram:
    """`program` as parallel arrays with the same inputs and outputs, for the lanes of a machine. Raises
    `VectorTargetError` naming the statement that cannot be translated, and why."""
    check_numbers(program, spec)
    return Translation(program).run()


def check_numbers(program: Program, spec: VectorSpec) -> None:
    """Raises `VectorTargetError` if a program computes with numbers, or by operations, that the lanes do not have."""
    for statement in program.statements:
        _check_lanes(statement, spec)


def _check_lanes(statement: Statement, spec: VectorSpec) -> None:
    """Raise `VectorTargetError` if the lanes have not the numbers or the operations of the statement."""
    for node in postorder(statement.value):
        if not isinstance(node, Apply | Cast) or not is_floating(node):
            continue
        kinds = {part.type for part in (node, *children(node))}
        option = "bfloat16" if BFLOAT16 in kinds else "float32"
        if not getattr(spec, option):
            raise VectorTargetError(f"{statement.label()} computes with floating-point numbers, which lanes do if they "
                                    f"are asked for: give the option {option} ({option}=True, --option {option}=true)")
        if isinstance(node, Apply) and node.op == "mad" and not spec.fma:
            raise VectorTargetError(
                f"{statement.label()} rounds a product and a sum once, which lanes do if they are asked for: give the "
                "option fma (fma=True, --option fma=true), or write a * b + c, which rounds twice")


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
        for statement in ordered(self.program, self.program.statements):
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
        statement, space = with_written_box(statement, space)
        target = self.program.array(statement.write.array)
        kind = element_of(target.type, f"array {target.name}")
        written, accumulated = Target(space, statement), accumulation_of(self.program, statement)
        if scan is not None:
            term = space.spread(self._value(statement, scan.term, space)).astype(container(kind))
            neutral = neutral_number(scan.op, term.dtype)
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

    def _accumulated(self, statement: Statement, found: Accumulation, space: Space, written: Target,
                     kind: Int) -> Array:
        before = self._words(statement, statement.reads[found.read], space, written)
        terms = self._terms(statement, found, space)
        axes = written.reduced
        if all(space.sizes[k] == 1 for k in axes):  # one term for each element is no sum
            terms, axes = terms[tuple(0 if k in axes else slice(None) for k in range(terms.ndim))], ()
        if found.op in ("add", "sub"):
            total = (terms.sum(axes, container(kind)) if axes else terms).astype(container(kind))
            return cut(before + total if found.op == "add" else before - total, kind)
        less = terms if not axes else terms.min(axes) if found.op == "min" else terms.max(axes)
        return (minimum if found.op == "min" else maximum)(before, less.astype(container(kind)))

    def _terms(self, statement: Statement, found: Accumulation, space: Space) -> Array:
        """What a statement accumulates, and around its iterations what makes no difference."""

        def value_of(value: Expr) -> Array:
            return space.spread(self._value(statement, value, space))

        term, mask = found.term, space.mask
        if isinstance(mask, MovingMask) and isinstance(term, Apply) and term.op == "mul" and found.op in ("add", "sub"):
            return space.spread(masked_product(statement, term, value_of, mask.tables()))
        terms = value_of(term)
        return terms if mask is None else mask.select(terms, neutral_number(found.op, terms.dtype))

    def _accumulated_float(self, statement: Statement, found: FloatAccumulation, space: Space) -> Array:
        """Of a statement that has one term for an element."""
        before = space.spread(self._words(statement, statement.reads[found.read], space, None))
        operands = [space.spread(self._value(statement, term, space)) for term in found.terms]
        operands.insert(found.place, before)
        after = float_operation(found.op)(*operands)
        return after if space.mask is None else space.mask.select(after, before)

    def _value(self, statement: Statement, value: Expr, space: Space) -> Array:
        def read(number: int) -> Array:
            return self._words(statement, statement.reads[number], space, None)

        try:
            return value_of(value, read, space.index, self.tables, lambda name: self._held(name).read())
        except UnsupportedValue as error:
            raise VectorTargetError(f"{statement}: {error}") from None

    def _words(self, statement: Statement, access: Access, space: Space, written: Target | None) -> Array:
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
