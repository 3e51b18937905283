"""Values that depend on nothing but iterators, for targets whose operands all come on streams.

``table[round]`` or ``x * 3 + y`` is the same for every input. `constant_inputs` replaces such a part of an expression
by a read of an input array that holds its values, an element for each value of the iterators it needs. The host fills
it (`compiler.passes.arrays.partition.Partition.constants`); memories keep it like the weights of a layer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import islpy as isl
import numpy as np

from compiler.ir import expr
from compiler.ir.affine_index import affine_index
from compiler.ir.evaluate import evaluate
from compiler.ir.expr import Cast, Expr, Read, Store, children, iterators_needed, postorder, with_children
from compiler.ir.names import fresh_name
from compiler.ir.program import Access, Array, Program, Statement, Table
from compiler.ir.types import Int, Type

__all__ = ["constant_inputs", "narrow_iterator_values"]

WORD = 16
"""Bits of the words on streams."""
_WORDS = (Int(WORD, True), Int(WORD, False))
_MOST_ELEMENTS = 1 << 12
"""Values beyond which a part stays as it is: an array of this size would take as long to move as an image."""


def constant_inputs(program: Program) -> tuple[Program, dict[str, np.ndarray]]:
    """`program` with the values of iterators in input arrays of their own, and these arrays."""
    constants: dict[str, np.ndarray] = {}
    tables = {table.name: table for table in program.tables}
    for statement in program.statements:
        for (names, type_), parts in _parts(statement, lambda width: width <= WORD).items():
            grid = _Grid.of(statement, names)
            values = np.stack([grid.values(part, tables) for part in parts]).astype(np.int64)
            name = _known(constants, program, values, type_)
            if name is None:
                name = fresh_name(f"{statement.name}_values", (i.name for i in (*program.arrays, *program.tables)))
                constants[name] = values
                program = replace(program, arrays=(*program.arrays, Array(name, values.shape, type_, "input")))
            new = _reading(program.statement(statement.name), parts, program.array(name), grid)
            statements = tuple(new if s.name == statement.name else s for s in program.statements)
            program = replace(program, statements=statements)
    return program, constants


def _known(constants: Mapping[str, np.ndarray], program: Program, values: np.ndarray, type_: Type) -> str | None:
    """The array that has these values already, None if there is none."""
    return next((name for name, other in constants.items()
                 if program.array(name).type == type_ and np.array_equal(other, values)), None)


def narrow_iterator_values(program: Program) -> Program:
    """`program` with wide values of iterators that fit words computed as words and extended, as C's ``x + 1`` is an
    `int`: targets with words of 16 bits carry them on streams of words."""
    tables = {table.name: table for table in program.tables}
    return replace(program, statements=tuple(_shortened(statement, tables) for statement in program.statements))


def _shortened(statement: Statement, tables: Mapping[str, Table]) -> Statement:
    short: dict[Expr, Expr] = {}
    for (names, type_), parts in _parts(statement, lambda width: width > WORD).items():
        grid = _Grid.of(statement, names)
        for part in parts:
            values = grid.values(part, tables)
            word = next((w for w in _WORDS if w.minimum <= values.min() and values.max() <= w.maximum), None)
            if word is not None:
                short[part] = Cast(Cast(part, word), type_)

    def step(node: Expr, arguments: list[Expr]) -> Expr:
        return short[node] if node in short else with_children(node, arguments)

    return replace(statement, value=expr.fold(statement.value, step)) if short else statement


def _parts(statement: Statement, of_width: Callable[[int], bool]) -> dict[tuple[tuple[str, ...], Type], list[Expr]]:
    """The largest parts of the value that need iterators only, have not too many values and are `of_width`, by these
    and by type."""
    nodes, needs = list(postorder(statement.value)), iterators_needed(statement.value)
    few = {names: _Grid.of(statement, tuple(names)).size <= _MOST_ELEMENTS for names in needs.values() if names}
    wanted = {id(n) for n in nodes
              if (names := needs[id(n)]) and few[names] and isinstance(n.type, Int) and of_width(n.type.width)}
    seen = {id(statement.value)}
    for node in reversed(nodes):  # what is inside a part is not seen
        if id(node) in seen - wanted:
            seen.update(id(child) for child in _computed(statement, node))
    found: dict[tuple[tuple[str, ...], Type], list[Expr]] = {}
    for node in nodes:
        names = needs[id(node)]
        if names and id(node) in wanted & seen:
            ordered = tuple(name for name in statement.iterators if name in names)
            same = found.setdefault((ordered, node.type), [])
            if node not in same:
                same.append(node)
    return found


def _computed(statement: Statement, node: Expr) -> tuple[Expr, ...]:
    """The subexpressions of a node that are computed: an affine address of a store comes from a controller."""
    affine = isinstance(node, Store) and affine_index(statement, node.index) is not None
    return children(node)[1:] if affine else children(node)


@dataclass(frozen=True)
class _Grid:
    """All values of the iterators `names` of a statement: `trips` of each, from `lows` on."""

    names: tuple[str, ...]
    lows: tuple[int, ...]
    trips: tuple[int, ...]

    @staticmethod
    def of(statement: Statement, names: tuple[str, ...]) -> _Grid:
        """The smallest box around them."""
        numbers = [statement.iterators.index(name) for name in names]
        lows = tuple(statement.domain.dim_min_val(k).to_python() for k in numbers)
        highs = [statement.domain.dim_max_val(k).to_python() for k in numbers]
        return _Grid(names, lows, tuple(high - low + 1 for low, high in zip(lows, highs, strict=True)))

    @property
    def size(self) -> int:
        """How many there are."""
        return int(np.prod(self.trips))

    def values(self, part: Expr, tables: Mapping[str, Table]) -> np.ndarray:
        """The values of a part, an axis for each iterator."""
        axes: Mapping[str, np.ndarray] = {
            name: axis.ravel() + low for name, axis, low in zip(self.names, np.indices(self.trips), self.lows,
                                                                strict=True)}
        found = evaluate(part, _no_read, axes, tables)
        return np.broadcast_to(found, (self.size,)).reshape(self.trips)


def _no_read(index: int) -> np.ndarray:
    raise AssertionError(f"read {index} in a part without reads")


def _reading(statement: Statement, parts: list[Expr], array: Array, grid: _Grid) -> Statement:
    """The statement with reads of `array` in place of `parts`."""
    first = len(statement.reads)

    def step(node: Expr, arguments: list[Expr]) -> Expr:
        return Read(first + parts.index(node), node.type) if node in parts else with_children(node, arguments)

    places = [f"{name} - ({low})" for name, low in zip(grid.names, grid.lows, strict=True)]
    head = f"{statement.name}[{', '.join(statement.iterators)}]"
    reads = [Access(array.name, isl.Map(f"{{ {head} -> {array.name}[{', '.join([str(k), *places])}] }}"))
             for k in range(len(parts))]
    return replace(statement, reads=(*statement.reads, *reads), value=expr.fold(statement.value, step))
