"""Damaged nodes are found at compile time: latencies, formats, operations, operands, indices."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

import compiler
from compiler.bind.dataflow.errors import DataflowError
from compiler.bind.dataflow.plan import Plan
from compiler.bind.dataflow.validate import validate_kernel
from compiler.frontend.c_scop import parse_scop
from hw.dataflow.spec import NodeSpec, Operator

TEXT = """
#include <stdint.h>
static const uint8_t table[4] = {3, 1, 4, 1};
void f(const int16_t a[6], const uint16_t b[6], int32_t y[6], int16_t z[6]) {
#pragma scop
  for (int i = 0; i < 6; i++)
    y[i] = a[i] * b[i] + table[i & 3] * i - 7;
  for (int i = 0; i < 6; i++)
    z[i] = (a[i] > 5 ? y[5 - i] >> 3 : b[i]) + table[1];
#pragma endscop
}
"""


@pytest.fixture(scope="module")
def plan() -> Plan:
    return compiler.compile(parse_scop(TEXT), target="dataflow", latency={"add": 2, "mul": 3}).plan


def compute_nodes(plan: Plan) -> list[int]:
    return [k for k, node in enumerate(plan.kernel.nodes) if node.kind == "compute"]


def rejected(plan: Plan, number: int, node: NodeSpec, message: str) -> None:
    nodes = (*plan.kernel.nodes[:number], node, *plan.kernel.nodes[number + 1 :])
    with pytest.raises(DataflowError, match=message):
        validate_kernel(replace(plan.kernel, nodes=nodes), plan.network.program, plan.network.times)


def damaged_operators(node: NodeSpec, change: Callable[[Operator], Operator | None]) -> Iterator[NodeSpec]:
    for place, operator in enumerate(node.operators):
        wrong = change(operator)
        if wrong is not None:
            yield replace(node, operators=(*node.operators[:place], wrong, *node.operators[place + 1 :]))


def more(operator: Operator) -> Operator | None:
    return None if operator.op in ("const", "index") else replace(operator, latency=operator.latency + 1)


def fewer_at_the_end(operator: Operator) -> Operator | None:
    return replace(operator, latency=operator.latency - 1) if operator.latency else None


def narrower(operator: Operator) -> Operator | None:
    return replace(operator, word=replace(operator.word, width=operator.word.width - 1))


def other_sign(operator: Operator) -> Operator:
    return replace(operator, word=replace(operator.word, signed=not operator.word.signed))


def other_operation(operator: Operator) -> Operator | None:
    return replace(operator, op="min") if operator.op in ("add", "sub", "mul") else None


def other_value(operator: Operator) -> Operator | None:
    return replace(operator, value=operator.value + 1) if operator.op == "const" else None


@pytest.mark.parametrize(("change", "message"), [
    (more, r"ticks? |has registers"), (narrower, r"not what the expression|gives Word"),
    (other_sign, r"not what the expression|gives Word"), (other_operation, r"not what the expression"),
    (other_value, r"not what the expression"),
], ids=lambda value: getattr(value, "__name__", ""))
def test_every_operator_counts(plan, change, message):
    tried = 0
    for number in compute_nodes(plan):
        for node in damaged_operators(plan.kernel.nodes[number], change):
            rejected(plan, number, node, message)
            tried += 1
    assert tried >= 2


def test_a_result_that_is_there_earlier_is_no_result(plan):
    for number in compute_nodes(plan):
        node = plan.kernel.nodes[number]
        last = fewer_at_the_end(node.operators[-1])
        if last is not None:
            rejected(plan, number, replace(node, operators=(*node.operators[:-1], last)), r"has Word\(.*\) after \d+")


def test_an_operand_comes_when_it_is_taken(plan):
    for number in compute_nodes(plan):
        node = plan.kernel.nodes[number]
        read, *rest = node.reads
        rejected(plan, number, replace(node, reads=(replace(read, offset=read.offset + 1), *rest)), r"ticks after")
        wrong = replace(read, word=replace(read.word, width=read.word.width - 1))
        rejected(plan, number, replace(node, reads=(wrong, *rest)), r"takes '\w+' as Word")


def test_indices_are_the_iterators(plan):
    number = next(k for k in compute_nodes(plan) if plan.kernel.nodes[k].indices)
    node = plan.kernel.nodes[number]
    ((where, value), *pieces), *others = node.indices
    wrong = ((where, replace(value, constant=value.constant + 1)), *pieces)
    rejected(plan, number, replace(node, indices=(wrong, *others)), r"index 0 of node \w+ is not 'i'")
