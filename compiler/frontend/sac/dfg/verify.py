"""Checks that dataflow graphs are well formed."""

from __future__ import annotations

from compiler.frontend.sac.ddcf.graph import Argument, Edge
from compiler.frontend.sac.dfg.graph import Dfg, DfgNode, Operand, Word
from compiler.frontend.sac.dfg.kinds import COMPUTE, GENERATORS, RETURNS, takes_pairs
from compiler.ir.types import ProgramError

__all__ = ["verify_dfg"]

_EXACT = ("UADD", "IADD", "USUB", "ISUB", "BIT_AND", "BIT_OR", "BIT_XOR")
_COMPARISONS = ("EQ", "NEQ", *(f"{sign}{name}" for sign in "UI" for name in ("LT", "LE", "GT", "GE")))
_OPERANDS = {"SQRT": 1, "BIT_NOT": 1, "CHANGE_WIDTH": 1, "CHANGE_WIDTH_SE": 1, "CIRCULATE": 3, "WRITE_SCALAR": 2,
             "LEFT_SHIFT": 2, "URIGHT_SHIFT": 2, "IRIGHT_SHIFT": 2, "UMUL": 2, "IMUL": 2,
             **dict.fromkeys((*_EXACT, *_COMPARISONS), 2)}


def verify_dfg(dfg: Dfg) -> None:
    """Raise `ProgramError`, naming graph and node, if `dfg` is not well formed: an edge from a node behind, but to a
    CIRCULATE; widths that a node does not take."""
    for number, node in enumerate(dfg.nodes):
        where = f"graph {dfg.name}, node %{number} {node.kind}" + (f" at {node.place}" if node.place else "")
        if node.kind not in (*COMPUTE, *GENERATORS, *RETURNS, "AREF", "CIRCULATE"):
            raise ProgramError(f"{where}: there is no such kind")
        for slot, operand in enumerate(node.operands):
            back = node.kind == "CIRCULATE" and slot == 1
            _check_operand(dfg, where, operand, len(dfg.nodes) if back else number)
        if min(node.widths, default=1) < 1:
            raise ProgramError(f"{where}: an output has no bits")
        reason = _wrong(node, [dfg.width(operand) for operand in node.operands])
        if reason:
            raise ProgramError(f"{where}: {reason}")
    _check_operand(dfg, f"graph {dfg.name}, its output", dfg.output, len(dfg.nodes))


def _check_operand(dfg: Dfg, where: str, operand: Operand, before: int) -> None:
    if isinstance(operand, Edge):
        if operand.number >= before or operand.port >= len(dfg.nodes[operand.number].widths):
            raise ProgramError(f"{where}: there is no output %{operand.number}.{operand.port} before it; only "
                               f"CIRCULATE "
                               "takes one from behind")
    elif isinstance(operand, Argument) and operand.number >= len(dfg.inputs):
        raise ProgramError(f"{where}: there is no input ^{operand.number}")
    elif isinstance(operand, Word) and not 0 <= operand.value < 1 << operand.width:
        raise ProgramError(f"{where}: {operand.value} has more than {operand.width} bits")


def _wrong(node: DfgNode, widths: list[int]) -> str | None:
    """What is wrong with the node's widths."""
    wanted = _OPERANDS.get(node.kind)
    if wanted is not None and len(widths) != wanted:
        return f"it has {wanted} operands"
    if node.kind in _EXACT and {*widths, *node.widths} != {widths[0]}:
        return f"its operands and its output have equally many bits, not {_listed(widths)} and {node.widths[0]}"
    if node.kind in _COMPARISONS and (widths[0] != widths[1] or node.widths != (1,)):
        return f"it compares equally many bits, not {_listed(widths)}, and gives one"
    if node.kind in ("UMUL", "IMUL") and node.widths != (sum(widths),):
        return f"it gives {sum(widths)} bits, not {node.widths[0]}"
    if node.kind == "SQRT" and widths[0] != 2 * node.widths[0]:
        return f"it takes twice the bits it gives, not {widths[0]}"
    if node.kind == "CIRCULATE" and (node.widths != (widths[0], widths[0]) or widths[1] != widths[0]):
        return f"it carries equally many bits, not {_listed(widths[:2])}"
    if node.kind == "SELECTOR":
        return _wrong_selector(node, widths)
    if takes_pairs(node.kind) and (len(widths) % 2 or set(widths[1::2]) - {1}):
        return "it takes pairs of a value and a mask of one bit"
    return None


def _wrong_selector(node: DfgNode, widths: list[int]) -> str | None:
    if len(widths) % 2 or set(widths[1:-1:2]) - {widths[0]}:
        return "it takes a key, pairs of a case and its value, and a value for all others"
    if {*widths[2::2], widths[-1]} - {node.widths[0]}:
        return f"its values have {node.widths[0]} bits"
    return None


def _listed(widths: list[int]) -> str:
    return " and ".join(map(str, widths))
