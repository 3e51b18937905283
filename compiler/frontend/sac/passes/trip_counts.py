"""How many iterations a ``while`` loop has at most, where its condition bounds a counter."""

from __future__ import annotations

from collections.abc import Iterator

from compiler.frontend.sac.ddcf.graph import Argument, Constant, Edge, Graph, Node, Operand
from compiler.frontend.sac.passes.ranges import is_whole

__all__ = ["most_trips"]

_MIRRORED = {"GT": "LT", "GE": "LE", "LT": "GT", "LE": "GE"}


def most_trips(loop: Node) -> int | None:
    """The least bound on the iterations of a WHILE node that one of its counters gives: a variable of integers that
    begins with a known number, to which each iteration adds a known one, and that a comparison with a known number
    limits; the condition is that comparison, or it and others. None if there is no such counter."""
    test = loop.graphs[0]
    found = [_trips(loop, *limit) for operand in test.outputs for limit in _limits(test, operand)]
    return min((trips for trips in found if trips is not None), default=None)


def _limits(test: Graph, operand: Operand) -> Iterator[tuple[str, Argument, Operand]]:
    """Comparisons of an input that hold wherever `operand` does."""
    if not isinstance(operand, Edge):
        return
    node = test.nodes[operand.number]
    if node.kind == "BIT_AND":
        for part in node.operands:
            yield from _limits(test, part)
    elif node.kind in _MIRRORED:
        left, right = node.operands
        if isinstance(left, Argument):
            yield node.kind, left, right
        if isinstance(right, Argument):
            yield _MIRRORED[node.kind], right, left


def _trips(loop: Node, kind: str, counter: Argument, limit: Operand) -> int | None:
    """How often the comparison can hold before an iteration; None if that is not known."""
    first, bound, step = _number(loop, counter), _bound(loop, limit), _step(loop.graphs[1], counter)
    if first is None or bound is None or step is None or (step > 0) != (kind in ("LT", "LE")):
        return None
    last = bound + {"LT": -1, "LE": 0, "GT": 1, "GE": 0}[kind]
    scalar = loop.graphs[1].inputs[counter.number].scalar
    if not scalar.minimum <= last + step <= scalar.maximum:
        return None  # the counter may wrap
    return max(0, (last - first) // step + 1)


def _bound(loop: Node, limit: Operand) -> int | None:
    """The number that a counter is compared with, which no iteration changes."""
    carried = {n.number("input") for n in loop.graphs[1].nodes if n.kind == "NEXT"}
    return None if isinstance(limit, Argument) and limit.number in carried else _number(loop, limit)


def _number(loop: Node, operand: Operand) -> int | None:
    """The integer that an operand of the loop's graphs is at first."""
    if isinstance(operand, Argument):
        operand = loop.operands[operand.number]
    return int(operand.value) if isinstance(operand, Constant) and not operand.scalar.floating else None


def _step(body: Graph, counter: Argument) -> int | None:
    """What each iteration adds to the counter."""
    if not is_whole(body.inputs[counter.number]):
        return None
    for node in body.nodes:
        if node.kind == "NEXT" and node.number("input") == counter.number and isinstance(node.operands[0], Edge):
            made = body.nodes[node.operands[0].number]
            numbers = [int(o.value) for o in made.operands if isinstance(o, Constant)]
            if made.kind not in ("ADD", "SUB") or counter not in made.operands or len(numbers) != 1 or not numbers[0]:
                return None
            if made.kind == "SUB":
                return -numbers[0] if made.operands[0] == counter else None
            return numbers[0]
    return None
