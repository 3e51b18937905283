"""Dataflow graphs as window machines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from compiler.bind.window.errors import WindowError
from compiler.frontend.sac.ddcf.graph import Argument, Edge
from compiler.frontend.sac.dfg.graph import Dfg, DfgNode, Operand, Word
from compiler.frontend.sac.dfg.kinds import RETURNS
from hw.window import (
    Accumulators,
    ArgumentWord,
    Carry,
    Constant,
    Counters,
    Element,
    FinalValue,
    Operator,
    Output,
    Reduction,
    Table,
    Tile,
    Windows,
    WindowSpec,
)
from hw.window.operators import OPERATORS
from hw.window.spec import Node
from hw.window.spec import Operand as Source

__all__ = ["MOST_PLACES", "lower_dfg"]

MOST_PLACES = 1 << 15
"""Results of a histogram, or of an accumulation by label: 58 block memories of an ECP5, if they have 32 bits."""


MOST_WORDS = 1 << 10
"""Words of an array that values index, in memory of look-up tables."""

Extents = Sequence[tuple[int | None, ...]]
"""Extents of each operand of a loop, as far as they are known."""


def lower_dfg(dfg: Dfg, extents: Extents, memories: int = 1) -> WindowSpec:
    """The machine of the graph of a loop whose operands have `extents`, with one memory, or a second one for results.
    Raises `WindowError`."""
    names = [port.name for port in dfg.inputs]
    loop = tuple(ArgumentWord(n) for n, name in enumerate(names) if name.startswith("loop.extent"))
    kept = [n for n, node in enumerate(dfg.nodes) if not _joins(dfg, node)]
    moved = {number: place for place, number in enumerate(kept)}
    tables = _tables(dfg, extents)
    return WindowSpec(tuple(port.width for port in dfg.inputs), loop, ArgumentWord(names.index("iterations")),
                      tuple(_node(dfg, dfg.nodes[n], moved, list(tables)) for n in kept), memories,
                      tuple(tables.values()))


def _joins(dfg: Dfg, node: DfgNode) -> bool:
    """Whether a node only joins triggers: the machine is done when all writers are."""
    return node.kind == "AND_MANY" and isinstance(dfg.output, Edge) and dfg.nodes[dfg.output.number] is node and all(
        isinstance(o, Word) or _is_trigger(dfg, o) for o in node.operands)


def _is_trigger(dfg: Dfg, operand: Operand) -> bool:
    return isinstance(operand, Edge) and dfg.nodes[operand.number].kind in RETURNS


def _tables(dfg: Dfg, extents: Extents) -> dict[Operand, Table]:
    """The arrays that values index, by their addresses."""
    found = {}
    for node in dfg.nodes:
        if node.kind != "AREF" or node.operands[0] in found:
            continue
        address = node.operands[0]
        assert isinstance(address, Argument)
        operand = int(dfg.inputs[address.number].name.partition(".")[0].removeprefix("in"))
        known = tuple(extent for extent in extents[operand] if extent is not None)
        if len(known) < len(extents[operand]):
            raise _refused(dfg, node, "the extents of the array are not known, and it needs memory on chip",
                           "declare it with extents: uint8 T[64]")
        table = Table(ArgumentWord(address.number), known, node.number("bits"))
        if table.words > MOST_WORDS:
            raise _refused(dfg, node, f"the array has {table.words} words, and memory within a cycle is for "
                           f"{MOST_WORDS}", "leave the loop on the host, or compile it for another target")
        found[address] = table
    return found


def _node(dfg: Dfg, node: DfgNode, moved: dict[int, int], tables: list[Operand]) -> Node:
    operands = [_operand(operand, moved) for operand in node.operands]
    lower = _LOWER.get(node.kind)
    if lower is not None:
        return lower(dfg, node, operands)
    if node.kind in OPERATORS:
        return Operator(node.kind, tuple(operands), node.widths[0])
    if node.kind.startswith("ACCUM_") or node.kind == "HISTOGRAM_VALUES":
        return _accumulators(dfg, node, operands)
    if node.kind.endswith("_VALUES"):
        return _reduction(dfg, node, operands)
    if node.kind == "AREF":
        rank = len(operands) // 2
        return Element(tables.index(node.operands[0]), tuple(operands[1 + rank:]), node.widths[0])
    raise _refused(dfg, node, "is not in the machine, whose bodies take one cycle", "leave the loop on the host, or "
                   "compile it for another target")


def _operand(operand: Operand, moved: dict[int, int]) -> Source:
    if isinstance(operand, Word):
        return Constant(operand.value, operand.width)
    if isinstance(operand, Argument):
        return ArgumentWord(operand.number)
    return Output(moved[operand.number], operand.port)


def _refused(dfg: Dfg, node: DfgNode, reason: str, rewrite: str) -> WindowError:
    where = f" at {node.place}" if node.place else ""
    return WindowError(f"loop {dfg.name}, {node.kind}{where}: {reason}; {rewrite}")


def _windows(dfg: Dfg, node: DfgNode, operands: Sequence[Source]) -> Windows:
    """Address, extents, sizes of all dimensions but for elements, steps of those that the loop runs over."""
    pattern = str(node.attribute("pattern"))
    rank = len(pattern)
    rest = list(operands[1 + rank:])
    sizes = [1] * rank if node.kind == "ELEGEN" else [_number(dfg, node, o) for o in rest[:rank]]
    steps = iter(rest if node.kind == "ELEGEN" else rest[rank:])
    known = [_number(dfg, node, next(steps)) if slot == "~" else 0 for slot in pattern]
    return Windows(operands[0], tuple(operands[1:1 + rank]), tuple(sizes), tuple(known), node.number("bits"))


def _number(dfg: Dfg, node: DfgNode, operand: Source) -> int:
    if not isinstance(operand, Constant):
        raise _refused(dfg, node, "its sizes and steps are no constants", "write numbers")
    return operand.value


def _counters(dfg: Dfg, node: DfgNode, operands: Sequence[Source]) -> Counters:
    return Counters(tuple(operands[::3]), tuple(operands[2::3]), node.widths)


def _carry(dfg: Dfg, node: DfgNode, operands: Sequence[Source]) -> Carry:
    return Carry(operands[0], operands[1], node.widths[0])


def _tile(dfg: Dfg, node: DfgNode, operands: Sequence[Source]) -> Tile:
    loop, tile = node.number("loop"), node.number("tile")
    first = len(operands) - loop - tile
    extents = tuple(_number(dfg, node, operand) for operand in operands[first + loop:])
    return Tile(tuple(operands[:first - 1]), operands[first - 1], extents, node.number("bits"))


def _final(dfg: Dfg, node: DfgNode, operands: Sequence[Source]) -> FinalValue:
    return FinalValue(operands[0], operands[1], dfg.width(node.operands[0]))


def _reduction(dfg: Dfg, node: DfgNode, operands: Sequence[Source]) -> Reduction:
    kind = node.kind.removesuffix("_VALUES")
    return Reduction(kind, operands[0], operands[1], operands[2], dfg.width(node.operands[0]), node.number("bits"))


def _accumulators(dfg: Dfg, node: DfgNode, operands: Sequence[Source]) -> Accumulators:
    """Value, label of an ACCUM, mask, address, iterations, extents; the value of a histogram is its last label."""
    labelled, counted = node.kind.startswith("ACCUM_"), node.kind.endswith("HISTOGRAM_VALUES")
    value, bits = operands[0], dfg.width(node.operands[0])
    labels = (*operands[1:1 + labelled], *([value] if counted else []))
    kind = node.kind.removeprefix("ACCUM_").removesuffix("_VALUES")
    if counted:
        kind, bits = "USUM", node.number("bits")
        value = Constant(1, bits)
    mask, address = operands[1 + labelled:3 + labelled]
    extents = _places(dfg, node, operands[4 + labelled:])
    return Accumulators(kind, value, labels, mask, address, extents, bits, node.number("bits"))


def _places(dfg: Dfg, node: DfgNode, operands: Sequence[Source]) -> tuple[int, ...]:
    known = [operand.value for operand in operands if isinstance(operand, Constant)]
    if len(known) < len(operands):
        raise _refused(dfg, node, "the number of its results is not known, and they need memory on chip",
                       "write it as a number, and run --passes all")
    if prod(known) > MOST_PLACES:
        raise _refused(dfg, node, f"it has {prod(known)} results, and memory on chip is for {MOST_PLACES}",
                       "divide labels by a power of 2, or leave the loop on the host")
    return tuple(known)


_LOWER: dict[str, Callable[[Dfg, DfgNode, Sequence[Source]], Node]] = {
    "ELEGEN": _windows, "SLICEGEN": _windows, "WINDOWGEN": _windows, "SCALARGEN": _counters, "CIRCULATE": _carry,
    "WRITE_TILE": _tile, "WRITE_SCALAR": _final,
}
