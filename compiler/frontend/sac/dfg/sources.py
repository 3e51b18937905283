"""Nodes that begin the iterations of a dataflow graph: for each the tokens it sends (Hammes 2000, section 5.4.1)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

from compiler.frontend.sac.dfg.graph import DfgNode
from compiler.frontend.sac.dfg.interface import WORD
from compiler.frontend.sac.dfg.kinds import signed
from compiler.frontend.sac.dfg.memory import Memory
from compiler.frontend.sac.extents import span_extent, window_extent

__all__ = ["generate"]


def generate(node: DfgNode, tokens: Sequence[int], memory: Memory) -> Iterator[list[int]]:
    """The tokens of each iteration, the rightmost dimension fastest."""
    return _scalars(node, tokens) if node.kind == "SCALARGEN" else _windows(node, tokens, memory)


def _scalars(node: DfgNode, tokens: Sequence[int]) -> Iterator[list[int]]:
    spans = [(signed(low, WORD), signed(high, WORD), step)
             for low, high, step in zip(tokens[::3], tokens[1::3], tokens[2::3], strict=True)]
    for indices in product(*(range(span_extent(*span) or 0) for span in spans)):
        yield [(low + step * index) % (1 << width)
               for (low, _, step), index, width in zip(spans, indices, node.widths, strict=True)]


def _windows(node: DfgNode, tokens: Sequence[int], memory: Memory) -> Iterator[list[int]]:
    """Elements in order of their addresses, then the index of each dimension that the loop runs over."""
    pattern, bits = str(node.attribute("pattern")), node.number("bits")
    rank = len(pattern)
    address, extents, rest = tokens[0], tokens[1:1 + rank], tokens[1 + rank:]
    sizes, steps = ([1] * rank, rest) if node.kind == "ELEGEN" else (rest[:rank], rest[rank:])
    run = [d for d, slot in enumerate(pattern) if slot == "~"]
    counts = [window_extent(extents[d], sizes[d], step) or 0 for d, step in zip(run, steps, strict=True)]
    within = list(product(*(range(size) for size in sizes)))
    for indices in product(*map(range, counts)):
        starts = [index * step for index, step in zip(indices, steps, strict=True)]
        first = [0] * rank
        for d, start in zip(run, starts, strict=True):
            first[d] = start
        yield [memory.read(address, extents, [a + b for a, b in zip(first, offset, strict=True)], bits)
               for offset in within] + starts
