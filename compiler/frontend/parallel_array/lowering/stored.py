"""Which expressions become arrays, and which are computed where their elements are used.

Outputs, reductions and arrays of parts are stored. What is computed from elements is stored if its elements are used at
more than one place: by several statements, at several indices of one, or again and again in the loops of one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod

from compiler.frontend.parallel_array.expression import (
    Apply,
    Assembly,
    Expression,
    Input,
    Literal,
    Reduce,
    Scan,
    Scatter,
    Take,
    postorder,
)
from compiler.frontend.parallel_array.lowering.elements import Element, Loops

__all__ = ["Stored", "stored_expressions"]


@dataclass(frozen=True, eq=False)
class Stored:
    """An expression that becomes an array. `parts`: the elements that its statements store, each in loops of its own;
    those of a reduction are what is combined, in all loops, of which the last ones reduce; those of a scan the first
    ones along its dimension, and all others."""

    node: Expression
    parts: tuple[Element, ...]

    def needed(self, part: Element) -> tuple[Element, ...]:
        """The elements that `part` is made of: itself, if it is of another expression."""
        return part.sources if part.node is self.node else (part,)


def stored_expressions(roots: Mapping[str, Expression]) -> dict[int, Stored]:
    """The expressions that become arrays, sources first, by their `id`. `roots`: the outputs."""
    nodes = list(postorder(list(roots.values())))
    outputs = {id(node) for node in roots.values()}
    tables = {id(node.table) for node in nodes if isinstance(node, Take)}
    uses: dict[int, dict[tuple[int, tuple[str, ...]], Element]] = {id(node): {} for node in nodes}
    found: dict[int, Stored] = {}
    for node in reversed(nodes):
        used = list(uses[id(node)].values())
        if isinstance(node, Input):
            continue
        asked = id(node) in outputs or (id(node) in tables and not isinstance(node, Literal))
        if asked or _is_stored(node, used):
            stored = found[id(node)] = Stored(node, _parts(node))
            elements = [element for part in stored.parts for element in stored.needed(part)]
        elif isinstance(node, Literal):
            continue
        else:
            elements = [source for element in used for source in element.sources]
        for element in elements:
            uses[id(element.node)].setdefault((id(element.loops), element.text), element)
    return dict(reversed(found.items()))


def _is_stored(node: Expression, used: list[Element]) -> bool:
    if isinstance(node, Reduce | Scan | Assembly | Scatter):
        return True
    if isinstance(node, Take):
        return not isinstance(node.table, Literal) or _is_repeated(node, used)
    return _is_computed(node) and _is_repeated(node, used)


def _is_computed(node: Expression) -> bool:
    """Whether it takes operations to have an element again; conversions and views take none."""
    return isinstance(node, Apply) and node.operation != "convert"


def _is_repeated(node: Expression, used: list[Element]) -> bool:
    """Whether its elements are needed more often than there are elements."""
    return len(used) > 1 or any(element.loops.iterations > 2 * prod(node.shape) for element in used)


def _parts(node: Expression) -> tuple[Element, ...]:
    """The elements that the statements of a stored expression store."""
    match node:
        case Reduce():
            return (_every(node.source),)
        case Assembly():
            return tuple(map(_every, node.parts))
        case Scan():
            return tuple(_scanned(node.source))
    return (_every(node),)


def _every(node: Expression) -> Element:
    loops = Loops.around(node.shape)
    return loops.element(node, loops.identity)


def _scanned(source: Expression) -> Iterator[Element]:
    first = Loops.around(source.shape[:-1])
    yield first.element(source, (*first.identity, first.space.constant(0)))
    if source.shape[-1] > 1:
        others = Loops.around((*source.shape[:-1], source.shape[-1] - 1))
        yield others.element(source, others.later)
