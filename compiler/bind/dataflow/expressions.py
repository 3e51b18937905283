"""A statement's expression as a pipeline of operators, every operand as late as possible.

Operands that wait for nothing come last, so a recurrence through the last operator is as long as that operator alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from compiler.bind.dataflow.errors import DataflowError
from compiler.bind.dataflow.options import Options
from compiler.ir.expr import (
    Apply,
    Cast,
    Const,
    Expr,
    Iterator,
    Load,
    Lookup,
    Read,
    Store,
    children,
    is_floating,
    postorder,
)
from compiler.ir.program import Statement
from compiler.ir.types import Float, Int, Type
from hw.dataflow.spec import LOAD_TICKS, STORE_TICKS, Operator, Word
from hw.integer import INTEGER_OPERATIONS, integer_latency

__all__ = ["Pipeline", "pipeline", "word"]


@dataclass(frozen=True)
class Pipeline:
    """`operators`, the last one's result being the statement's; `offsets`: ticks after the firing at which each read
    is wanted; `indices`: names of iterators whose values operators use, in the order of their numbers."""

    operators: tuple[Operator, ...]
    offsets: tuple[int, ...]
    indices: tuple[str, ...]

    @property
    def latency(self) -> int:
        """Ticks from the firing to the result."""
        return self.operators[-1].done


def word(type: Type, where: str) -> Word:
    """`type` as the hardware has it. Raises `DataflowError` for formats without operators; `where` opens it."""
    if isinstance(type, Float) and type.computable:
        return Word(type.width, signed=False, exponent=type.exponent)
    if not isinstance(type, Int):
        raise DataflowError(f"{where}: values of type {type} need operators that this target does not have")
    return Word(type.width, type.signed)


def pipeline(statement: Statement, options: Options, tables: Sequence[str], memories: Sequence[str] = ()) -> Pipeline:
    """The operators of `statement`; `tables`, `memories`: names of those of the program, by number."""
    nodes, arguments = _distinct(statement.value)
    latencies = [_ticks(node, options) for node in nodes]
    done = _latest(arguments, latencies)
    indices = tuple(dict.fromkeys(node.name for node in nodes if isinstance(node, Iterator)))
    operators = tuple(
        Operator(_name(node), tuple(args), word(node.type, statement.label()), latency, finish - latency,
                 _value(node, indices, tables, memories))
        for node, args, latency, finish in zip(nodes, arguments, latencies, done, strict=True)
    )
    offsets = [operators[-1].done] * len(statement.reads)
    for operator in operators:
        if operator.op == "read":
            offsets[operator.value] = operator.start
    return Pipeline(operators, tuple(offsets), indices)


def _ticks(node: Expr, options: Options) -> int:
    """Latency of one operator."""
    if isinstance(node, Apply) and node.op in INTEGER_OPERATIONS and not is_floating(node):
        shapes = [word(argument.type, node.op).shape for argument in node.args]
        return (options.latency or {}).get(node.op, integer_latency(node.op, shapes, options.clock_mhz))
    if isinstance(node, Apply):
        return options.ticks(node.op, floating=is_floating(node))
    if isinstance(node, Load | Store):
        return max(LOAD_TICKS) if isinstance(node, Load) else STORE_TICKS
    return options.ticks("cast", floating=True) if isinstance(node, Cast) and is_floating(node) else 0


def _distinct(value: Expr) -> tuple[list[Expr], list[list[int]]]:
    """Nodes of the expression, operands first, each read once, and the numbers of their operands."""
    numbers: dict[object, int] = {}
    nodes: list[Expr] = []
    arguments: list[list[int]] = []
    for node in postorder(value):
        key = _key(node)
        if key not in numbers:
            numbers[key] = len(nodes)
            nodes.append(node)
            arguments.append([numbers[_key(child)] for child in children(node)])
    return nodes, arguments


def _key(node: Expr) -> object:
    return ("read", node.index) if isinstance(node, Read) else id(node)


def _latest(arguments: list[list[int]], latencies: list[int]) -> list[int]:
    """Ticks in which results have to be there: the whole as early as possible, the parts as late as that allows."""
    earliest: list[int] = []
    for args, latency in zip(arguments, latencies, strict=True):
        earliest.append(max((earliest[a] for a in args), default=0) + latency)
    latest = [earliest[-1]] * len(arguments)
    for number in reversed(range(len(arguments))):
        for argument in arguments[number]:
            latest[argument] = min(latest[argument], latest[number] - latencies[number])
    return latest


def _name(node: Expr) -> str:
    match node:
        case Apply():
            return node.op
        case Cast():
            return "cast"
        case Const():
            return "const"
        case Iterator():
            return "index"
        case Lookup():
            return "table"
        case Load():
            return "load"
        case Store():
            return "store"
        case Read():
            return "read"


def _value(node: Expr, indices: tuple[str, ...], tables: Sequence[str], memories: Sequence[str]) -> int:
    match node:
        case Const():
            return node.value
        case Read():
            return node.index
        case Iterator():
            return indices.index(node.name)
        case Lookup():
            return tables.index(node.table)
        case Load() | Store():
            return memories.index(node.memory)
    return 0
