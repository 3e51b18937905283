"""What loops cost on a machine with memory beside it: iterations, and words that are read and written (Hammes 2000,
sections 7.1.3 and 7.4).

An iteration takes a cycle, as does each access to a memory. A generator reads the rows that its windows stand on once
for each *sweep* along the last dimension. Arrays are packed into words of 32 bits, and each row begins a word; elements
have 1, 2, 4, 8, 16 or 32 bits in memory. Counts follow from the loops of the graph alone: nothing runs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from compiler.frontend.sac.ddcf.graph import Argument, Constant, Graph, Module, Node
from compiler.frontend.sac.ddcf.kinds import LOOP_KINDS
from compiler.frontend.sac.extents import window_extent
from compiler.frontend.sac.passes.loops import LoopView, loop_view
from compiler.frontend.sac.passes.sizes import generator_extents
from compiler.frontend.sac.syntax import Place
from compiler.frontend.sac.types import Scalar, Type

__all__ = ["WORD_BITS", "LoopCost", "loop_costs", "packed_words"]

WORD_BITS = 32


@dataclass(frozen=True)
class LoopCost:
    """A loop without loops inside: how often it is started, its extents, and for all starts together iterations, words
    read and written, and words of the rows that are read at all, each once."""

    place: Place | None
    starts: int
    extents: tuple[int, ...]
    reads: int
    writes: int
    touched: int

    @property
    def sweeps(self) -> int:
        """Ways along the last dimension."""
        return self.starts * prod(self.extents[:-1])

    @property
    def iterations(self) -> int:
        """Of all starts."""
        return self.starts * prod(self.extents)

    @property
    def one_memory(self) -> int:
        """The fewest cycles with one memory for sources and results (the thesis' One-PE system)."""
        return max(self.iterations, self.reads + self.writes)

    @property
    def two_memories(self) -> int:
        """The fewest cycles with one memory for sources and one for results (Two-PE)."""
        return max(self.iterations, self.reads, self.writes)

    @property
    def transfers(self) -> int:
        """Words that any form of the loop would read and write (the thesis' I/O lower bound)."""
        return self.touched + self.writes


def packed_words(scalar: Scalar, extents: tuple[int, ...]) -> int:
    """Words of an array in memory."""
    bits = next((n for n in (1, 2, 4, 8, 16, 32) if n >= scalar.width), 64)
    return prod(extents[:-1]) * -(-extents[-1] * bits // WORD_BITS) if extents else -(-bits // WORD_BITS)


def loop_costs(module: Module, main: str) -> list[LoopCost]:
    """The loops of a function that have no loops inside, in their order; those whose extents are not known, and
    ``while`` loops, are left out."""
    return list(_costs(module.function(main).graph, 1))


def _costs(graph: Graph, starts: int) -> Iterator[LoopCost]:
    for node in graph.nodes:
        if node.kind in LOOP_KINDS:
            yield from _loop(graph, node, starts)
        elif node.kind not in ("DOT", "CROSS"):
            for inner in node.graphs:
                yield from _costs(inner, starts)


def _loop(around: Graph, node: Node, starts: int) -> Iterator[LoopCost]:
    inner = any(n.kind in LOOP_KINDS for graph in node.graphs for n in graph.walk())
    if node.kind == "WHILE":
        return
    view = loop_view(node)
    extents = generator_extents(view.graph.nodes[0], [view.graph.type(o) for o in view.graph.nodes[0].operands])
    known = tuple(extent for extent in extents if extent is not None)
    if len(known) < len(extents):
        return
    if inner:
        yield from _costs(view.graph, starts * prod(known))
        return
    reads = [_part(view, number) for number in range(len(view.parts))]
    writes = [_words(type_) for type_ in node.outputs]
    if None not in reads and None not in writes:
        yield LoopCost(node.place, starts, known, starts * sum(r[0] for r in reads if r),
                       starts * sum(w for w in writes if w), starts * sum(r[1] for r in reads if r))


def _words(type_: Type) -> int | None:
    known = tuple(extent for extent in type_.extents if extent is not None)
    return packed_words(type_.scalar, known) if len(known) == type_.rank else None


def _part(view: LoopView, number: int) -> tuple[int, int] | None:
    """Words that a generator reads, and words of the rows that it stands on; None if extents are not known."""
    part = view.parts[number]
    if part.kind == "SCALARGEN":
        return 0, 0
    array = part.operands[0]
    assert isinstance(array, Argument)
    type_ = view.graph.type(array)
    dimensions = _dimensions(part, type_)
    if dimensions is None:
        return None
    rows, used = 1, 1
    for size, step, count in dimensions[:-1]:
        rows *= size * count
        used *= (count - 1) * step + size if count and step < size else count * size
    known = tuple(extent or 0 for extent in type_.extents[-1:])
    line = packed_words(type_.scalar, known)
    return _repeats(view, number) * rows * line, used * line


def _dimensions(part: Node, type_: Type) -> list[tuple[int, int, int]] | None:
    """Size, step and count of windows in each dimension of the array; one window where it is taken whole."""
    numbers = [o.value if isinstance(o, Constant) else None for o in part.operands[1:]]
    windows = part.kind == "WINDOWGEN"
    each = iter(zip(numbers[::2], numbers[1::2], strict=True) if windows else [(1, step) for step in numbers])
    found = []
    for extent, slot in zip(type_.extents, str(part.attribute("pattern")), strict=True):
        size, step = (extent, 1) if slot == ":" else next(each)
        if extent is None or size is None or step is None:
            return None
        found.append((int(size), int(step), window_extent(extent, int(size), int(step)) or 0))
    return found


def _repeats(view: LoopView, number: int) -> int:
    """How often a generator runs: joined by cross, for each iteration of those to its left."""
    if view.joined == "DOT":
        return 1
    types = [view.graph.type(o) for o in view.graph.nodes[0].operands]
    inner = view.graph.nodes[0].graphs[0].nodes[:number]
    graph = view.graph.nodes[0].graphs[0]
    counts = 1
    for part in inner:
        given = [types[o.number] if isinstance(o, Argument) else graph.type(o) for o in part.operands]
        counts *= prod(extent or 0 for extent in generator_extents(part, given))
    return counts
