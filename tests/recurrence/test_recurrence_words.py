"""Cells whose operators, words or times are not what the program needs are rejected."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
from recurrence_programs import recurrence, scop

from compiler.bind.systolic.recurrence import Settings
from compiler.bind.systolic.recurrence.depths import sized_array
from compiler.bind.systolic.recurrence.mapping import ArrayMapping
from compiler.bind.systolic.recurrence.recurrence import analyse_recurrence
from compiler.bind.systolic.recurrence.validate_words import validate_words
from compiler.sched.space_time.errors import SpaceTimeError
from hw.dataflow.spec import Operator, StreamSpec, Word
from hw.systolic.recurrence.spec import CellSpec, NodeSpec, OperandSpec, QueueSpec


@pytest.fixture(scope="module", params=["lu", "wave"])
def mapping(request: pytest.FixtureRequest) -> ArrayMapping:
    program = recurrence("lu") if request.param == "lu" else scop(
        "for (int i = 0; i < 5; i++) for (int j = 0; j < 5; j++) "
        "y[i][j] = (i && j ? y[i - 1][j] + y[i][j - 1] : 0) / 2 - x[i][j] * 3;",
        "const int8_t x[5][5], int16_t y[5][5]")
    return sized_array(analyse_recurrence(program), ("i", "j"), Settings()).mapping


def narrower(word: Word) -> Word:
    return replace(word, width=word.width - 1)


def other_sign(word: Word) -> Word:
    return replace(word, signed=not word.signed)


CHANGES = {"narrower": narrower, "of another sign": other_sign}


def changed(items: tuple, change: Callable) -> Iterator[tuple]:
    """The items with one of them changed; those for which `change` gives None stay."""
    for k, item in enumerate(items):
        other = change(item)
        if other is not None:
            yield (*items[:k], other, *items[k + 1 :])


def rejected(mapping: ArrayMapping, kinds: Iterator[tuple[CellSpec, ...]], message: str) -> None:
    count = 0
    for wrong in kinds:
        count += 1
        with pytest.raises(SpaceTimeError, match=message):
            validate_words(replace(mapping, spec=replace(mapping.spec, kinds=wrong)))
    assert count >= 2


def parts(mapping: ArrayMapping, field: str, change: Callable) -> Iterator[tuple[CellSpec, ...]]:
    """The kinds of cells with one entry of `field` changed."""
    for k, kind in enumerate(mapping.spec.kinds):
        for items in changed(getattr(kind, field), change):
            yield (*mapping.spec.kinds[:k], replace(kind, **{field: items}), *mapping.spec.kinds[k + 1 :])


def operators(change: Callable[[Operator], Operator | None]) -> Callable[[NodeSpec], NodeSpec | None]:
    """The node with its last operator changed of those that `change` changes."""

    def damage(node: NodeSpec) -> NodeSpec | None:
        found = list(changed(node.operators, change))
        return replace(node, operators=found[-1]) if found else None

    return damage


def test_what_the_compiler_made_is_right(mapping: ArrayMapping) -> None:
    validate_words(mapping)


@pytest.mark.parametrize("change", CHANGES)
def test_words_on_the_way(mapping: ArrayMapping, change: str) -> None:
    def other(part: OperandSpec | QueueSpec) -> OperandSpec | QueueSpec:
        return replace(part, word=CHANGES[change](part.word))

    for field in ("operands", "queues"):
        rejected(mapping, parts(mapping, field, other), r"has words Word\(.*, not Word\(")
    rejected(mapping, parts(mapping, "ports", lambda port: (port[0], CHANGES[change](port[1]))), "port .* has words")


@pytest.mark.parametrize("change", CHANGES)
def test_streams(mapping: ArrayMapping, change: str) -> None:
    def other(stream: StreamSpec) -> StreamSpec:
        return replace(stream, word=CHANGES[change](stream.word))

    for field in ("inputs", "outputs"):
        for streams in changed(getattr(mapping.spec, field), other):
            with pytest.raises(SpaceTimeError, match=r"stream .* has words"):
                validate_words(replace(mapping, spec=replace(mapping.spec, **{field: streams})))


@pytest.mark.parametrize("change", CHANGES)
def test_operators(mapping: ArrayMapping, change: str) -> None:
    def other(operator: Operator) -> Operator | None:
        return None if operator.op == "const" else replace(operator, word=CHANGES[change](operator.word))

    rejected(mapping, parts(mapping, "nodes", operators(other)), "is not what the expression|has words")


def test_other_operations(mapping: ArrayMapping) -> None:
    def other(operator: Operator) -> Operator | None:
        return replace(operator, op="xor") if operator.op in ("add", "sub", "mul", "div") else None

    rejected(mapping, parts(mapping, "nodes", operators(other)), "is not what the expression")


@pytest.mark.parametrize("cycles", [1, -1])
def test_other_latencies(mapping: ArrayMapping, cycles: int) -> None:
    """One register more: operands come too late. An operator that begins earlier: they are not there yet."""

    def other(operator: Operator) -> Operator | None:
        if operator.op in ("read", "const", "index", "cast", "table"):
            return None
        return replace(operator, latency=operator.latency + 1) if cycles > 0 else replace(operator, start=-1)

    rejected(mapping, parts(mapping, "nodes", operators(other)), r"cycles before it is there|begins in tick")


def test_words_that_are_taken_too_early(mapping: ArrayMapping) -> None:
    rejected(mapping, parts(mapping, "queues", lambda q: replace(q, delay=q.delay - 1) if q.kind == "node" else None),
             r"what queue .* holds is wanted 1 cycles before it is there")
