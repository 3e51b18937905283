"""Translation validation of what nodes compute: their operators against the expression, and their words and ticks
against the channels, as the hardware of `hw.dataflow` has them.

A result can be taken `NodeSpec.delay` and `NodeSpec.latency` ticks after the counters, an operand `delay` and its
offset; channels have to be written and read exactly then. Within a node no operator may be asked for a result
before it is there. Formats have to be equal from end to end: nothing converts words on the way.
"""

from __future__ import annotations

from collections.abc import Iterator as Stream
from collections.abc import Sequence
from dataclasses import replace

from compiler.bind.dataflow.errors import DataflowError
from compiler.ir.expr import Apply, Cast, Const, Expr, Iterator, Load, Lookup, Read, Store, children
from compiler.ir.program import Program, Statement
from compiler.ir.types import Float, Int, Type
from hw.dataflow.spec import ChannelSpec, KernelSpec, MemorySpec, NodeSpec, Operator, Word

__all__ = ["check_expression", "check_operands", "iterators_used", "validate_nodes", "word_of"]

Pair = tuple[int, Expr]
"""Number of an operator, and the part of the expression that it computes."""


def validate_nodes(kernel: KernelSpec, program: Program) -> None:
    """Raise `DataflowError` unless every node of `kernel` computes the expression of its statement, from operands and
    for channels that are there in time and have the same formats."""
    meant = tuple(MemorySpec(word_of(m.type), m.words, m.trap, initial=m.initial) for m in program.memories)
    if tuple(replace(memory, forwarded=0) for memory in kernel.memories) != meant:
        raise DataflowError(f"kernel {kernel.name}: its memories are not those of the program")
    for node in kernel.nodes:
        statement = program.statement(node.name)
        _check_words(kernel, program, node, statement)
        if node.kind == "compute":
            _check_ticks(kernel, node)
            check_expression(f"kernel {kernel.name}", node.operators, kernel.tables, program, statement)
    for channel in kernel.channels:
        _check_given(kernel, channel)


def iterators_used(kernel: KernelSpec, node: NodeSpec, statement: Statement) -> dict[int, str]:
    """Which iterator each index of a node has to be, by number."""
    return {node.operators[number].value: part.name for number, part in
            _pairs(f"kernel {kernel.name}", node.operators, statement) if isinstance(part, Iterator)}


def word_of(type_: Type) -> Word:
    """The format of values of `type_`."""
    if isinstance(type_, Float):
        return Word(type_.width, signed=False, exponent=type_.exponent)
    assert isinstance(type_, Int)
    return Word(type_.width, type_.signed)


# Between nodes.

def _check_words(kernel: KernelSpec, program: Program, node: NodeSpec, statement: Statement) -> None:
    """Operands and results have the formats of their arrays, and are taken when their channels say."""
    result = word_of(program.array(statement.write.array).type)
    if _result(kernel, node) != result:
        raise DataflowError(f"kernel {kernel.name}: node {node.name} gives {_result(kernel, node)}, not {result}")
    if node.kind == "output" and kernel.outputs[node.stream].word != result:
        raise DataflowError(f"kernel {kernel.name}: stream {kernel.outputs[node.stream].name} has another format than "
                            f"node {node.name}")
    for read, access in zip(node.reads, statement.reads, strict=False):
        if read.word != word_of(program.array(access.array).type):
            raise DataflowError(f"kernel {kernel.name}: node {node.name} takes '{access.array}' as {read.word}")
        for source in read.sources:
            channel = kernel.channels[source.channel]
            if channel.word != read.word or channel.read != node.delay + read.offset:
                raise DataflowError(f"kernel {kernel.name}: node {node.name} takes {read.word} {node.delay} + "
                                    f"{read.offset} ticks after the counters, channel {channel.name} gives "
                                    f"{channel.word} after {channel.read}")


def _result(kernel: KernelSpec, node: NodeSpec) -> Word:
    """The format of what a node gives."""
    if node.kind == "input":
        return kernel.inputs[node.stream].word
    return node.reads[0].word if node.kind == "output" else node.operators[-1].word


def _check_given(kernel: KernelSpec, channel: ChannelSpec) -> None:
    """A channel takes a word in the tick in which it is there; parts of lines take those of the part before."""
    node = kernel.nodes[channel.source]
    if channel.operand is None:
        word, ready = _result(kernel, node), node.delay + node.latency
    else:
        word, ready = node.reads[channel.operand].word, node.delay + node.reads[channel.operand].offset
    if channel.word != word or (channel.after is None and channel.written != ready):
        raise DataflowError(f"kernel {kernel.name}: channel {channel.name} takes {channel.word} {channel.written} "
                            f"ticks after the counters, node {node.name} has {word} after {ready}")


# Within a node.

def _check_ticks(kernel: KernelSpec, node: NodeSpec) -> None:
    """Every operand of an operator is there when that begins, and arrives in the tick in which it is read."""
    check_operands(f"kernel {kernel.name}", node.name, node.operators, kernel.memories)
    for number, operator in enumerate(node.operators):
        if operator.op == "read" and operator.done != node.reads[operator.value].offset:
            raise DataflowError(f"kernel {kernel.name}: operator {number} ('{operator.op}') of node {node.name} has "
                                f"its operand in tick {operator.done}, which arrives in tick "
                                f"{node.reads[operator.value].offset}")


def check_operands(where: str, name: str, operators: Sequence[Operator], memories: Sequence[MemorySpec] = ()) -> None:
    """Raise `DataflowError`, with what is `where` in front, unless operands of the `operators` of node `name` are there
    when these begin; or, for what loads come after, when the `memories` can still do with it."""
    for number, operator in enumerate(operators):
        label = f"{where}: operator {number} ('{operator.op}') of node {name}"
        if any(operand >= number for operand in operator.operands):
            raise DataflowError(f"{label} uses one that comes later")
        parts = [operators[operand] for operand in operator.operands]
        spare = memories[operator.value].forwarded if operator.op == "load" else 0
        late = [part.done for place, part in enumerate(parts)
                if part.op != "const" and part.done > operator.start + (spare if place else 0)]
        if late or operator.latency < 0:
            raise DataflowError(f"{label} begins in tick {operator.start}, its operands are there in tick {max(late)}"
                                if late else f"{label} has a latency of {operator.latency}")
        if operator.op == "cast" and operator.latency and not any(p.word.exponent for p in (operator, *parts)):
            raise DataflowError(f"{label} has registers, which conversions of integers do not have")


def check_expression(where: str, operators: Sequence[Operator], tables: Sequence[tuple[int, ...]], program: Program,
                     statement: Statement) -> None:
    """Raise `DataflowError`, with what is `where` in front, unless `operators` are what the value of `statement` has,
    with words of its formats; `tables`: those that the hardware has."""
    for number, part in _pairs(where, operators, statement):
        operator = operators[number]
        if not _computes(tables, program, operator, part) or operator.word != word_of(part.type):
            raise DataflowError(f"{where}: operator {number} of node {statement.name} is '{operator.op}' to "
                                f"{operator.word}, which is not what the expression of '{statement.name}' has there")


def _pairs(where: str, operators: Sequence[Operator], statement: Statement) -> Stream[Pair]:
    """Operators with the parts of the expression that they have to be, from the result on."""
    pending: list[Pair] = [(len(operators) - 1, statement.value)]
    seen: set[tuple[int, int]] = set()
    while pending:
        number, part = pending.pop()
        if (number, id(part)) in seen:
            continue
        seen.add((number, id(part)))
        operands, parts = operators[number].operands, children(part)
        if len(operands) != len(parts):
            raise DataflowError(f"{where}: operator {number} of node {statement.name} has {len(operands)} "
                                f"operands, not {len(parts)}")
        yield number, part
        pending += zip(operands, parts, strict=True)


def _computes(tables: Sequence[tuple[int, ...]], program: Program, operator: Operator, part: Expr) -> bool:
    """Whether an operator does what the outermost operation of `part` does."""
    match part:
        case Read(index):
            return (operator.op, operator.value) == ("read", index)
        case Const(value):
            return operator.op == "const" and operator.value == value
        case Iterator():
            return operator.op == "index"
        case Cast():
            return operator.op == "cast"
        case Lookup(table):
            values = next(t.values for t in program.tables if t.name == table)
            return operator.op == "table" and tables[operator.value] == values
        case Load(memory) | Store(memory):
            number = [m.name for m in program.memories].index(memory)
            return (operator.op, operator.value) == ("load" if isinstance(part, Load) else "store", number)
        case Apply(op):
            return operator.op == op
    return False
