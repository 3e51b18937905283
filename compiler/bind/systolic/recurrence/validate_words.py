"""Translation validation of what cells compute: operators against expressions, words against the program's types from
end to end, and times of words, as the hardware of `hw.systolic.recurrence` has them.

Nothing converts words on the way, so all that carry one value are alike. A cell delays what it has until it is wanted;
what is wanted before it is there cannot be had.
"""

from __future__ import annotations

from collections.abc import Iterator

from compiler.bind.dataflow.errors import DataflowError
from compiler.bind.dataflow.validate_nodes import check_expression, check_operands, word_of
from compiler.bind.systolic.recurrence.mapping import ArrayMapping
from compiler.sched.space_time.errors import SpaceTimeError
from hw.dataflow.spec import Word
from hw.systolic.recurrence.spec import CellSpec, NodeSpec, RecurrenceSpec, SourceSpec

__all__ = ["validate_words"]

Fact = tuple[str, Word, Word]
"""What has a word, which one, and which one it must have."""


def validate_words(mapping: ArrayMapping) -> None:
    """Raise `SpaceTimeError` unless cells compute the program's statements in words of its types."""
    spec = mapping.spec
    where = f"array {spec.name}"
    for what, own, wanted in (*_streams(mapping), *_wires(spec), *(
            fact for kind in spec.kinds for fact in _cell(mapping, kind))):
        if own != wanted:
            raise SpaceTimeError(f"{where}: {what} has words {own}, not {wanted}")
    for kind in spec.kinds:
        for what, early in _times(kind):
            if early < 0:
                raise SpaceTimeError(f"{where}: {what} is wanted {-early} cycles before it is there")
        for node in kind.nodes:
            _check_node(mapping, where, kind, node)


def _check_node(mapping: ArrayMapping, where: str, kind: CellSpec, node: NodeSpec) -> None:
    program = mapping.recurrence.program
    try:
        check_operands(where, node.name, node.operators)
        check_expression(where, node.operators, kind.tables, program, program.statement(node.name))
    except DataflowError as problem:
        raise SpaceTimeError(str(problem)) from None


# Words.


def _streams(mapping: ArrayMapping) -> Iterator[Fact]:
    """Streams have the types of their arrays, and those of the ports and queues that they end at."""
    spec, program = mapping.spec, mapping.recurrence.program
    for own, streams in ((mapping.inputs, spec.inputs), (mapping.outputs, spec.outputs)):
        for stream, source in zip(streams, own, strict=True):
            yield f"stream {stream.name}", stream.word, word_of(program.array(source.array).type)
    for chain in spec.loads:
        for cell, port in chain.leaves:
            name, word = spec.kinds[spec.cells[cell].kind].ports[port]
            yield f"port {name}", word, spec.inputs[chain.stream].word
    for chain in spec.drains:
        for cell, number in chain.leaves:
            queue = spec.kinds[spec.cells[cell].kind].queues[number]
            yield f"queue {queue.name}", queue.word, spec.outputs[chain.stream].word


def _wires(spec: RecurrenceSpec) -> Iterator[Fact]:
    """Ports have the words of the queues in front of them."""
    for wire in spec.wires:
        name, word = spec.kinds[spec.cells[wire.sink].kind].ports[wire.port]
        yield f"port {name}", word, spec.kinds[spec.cells[wire.source].kind].queues[wire.queue].word


def _cell(mapping: ArrayMapping, kind: CellSpec) -> Iterator[Fact]:
    """Results and operands have the types of arrays, sources and queues those of what they give and hold."""
    program = mapping.recurrence.program
    for node in kind.nodes:
        statement = program.statement(node.name)
        yield f"the result of {node.name}", node.word, word_of(program.array(statement.write.array).type)
        for options, access in zip(node.reads, statement.reads, strict=True):
            for operand, _ in options:
                yield (f"operand {operand} of {node.name}", kind.operands[operand].word,
                       word_of(program.array(access.array).type))
    for number, operand in enumerate(kind.operands):
        for source in operand.sources:
            yield f"{source.kind} {source.number} before operand {number}", _given(kind, source), operand.word
    for queue in kind.queues:
        held = kind.nodes[queue.number].word if queue.kind == "node" else kind.operands[queue.number].word
        yield f"queue {queue.name}", queue.word, held


def _given(kind: CellSpec, source: SourceSpec) -> Word:
    """What a source gives."""
    match source.kind:
        case "port":
            return kind.ports[source.number][1]
        case "queue":
            return kind.queues[source.number].word
        case "node":
            return kind.nodes[source.number].word
        case "operand":
            return kind.operands[source.number].word


# Times.


def _times(kind: CellSpec) -> Iterator[tuple[str, int]]:
    """What is taken from where, and how many cycles after it is there."""
    for number, operand in enumerate(kind.operands):
        for source in operand.sources:
            yield f"operand {number} from {source.kind} {source.number}", operand.offset - _there(kind, source)
    for node in kind.nodes:
        starts = {operator.value: operator.start for operator in node.operators if operator.op == "read"}
        for read, options in enumerate(node.reads):
            for operand, _ in options:
                yield (f"operand {operand} of {node.name}",
                       node.delay + starts.get(read, 0) - kind.operands[operand].offset)
    for queue in kind.queues:
        made = kind.nodes[queue.number].delay + kind.nodes[queue.number].latency if queue.kind == "node" else \
            kind.operands[queue.number].offset
        yield f"what queue {queue.name} holds", queue.delay - made


def _there(kind: CellSpec, source: SourceSpec) -> int:
    """Cycles after the step in which a source has its word."""
    if source.kind == "node":
        return kind.nodes[source.number].delay + kind.nodes[source.number].latency
    return kind.operands[source.number].offset if source.kind == "operand" else 0
