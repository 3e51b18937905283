"""Rows of Bok 2018 that are about one program's form: F2, F9, F10, F12 and F13, and families of programs by size."""

from __future__ import annotations

from pathlib import Path

import islpy as isl
import numpy as np
import pytest
from network_programs import INNER_PRODUCT, MATMUL, ROW_SUM, matmul, program

from compiler.bind.dataflow.options import Options
from compiler.bind.dataflow.plan import make_plan
from compiler.bind.dataflow.runtime_sizes import compile_sizes
from compiler.cli.input_files import random_inputs
from compiler.frontend.c_scop import load_c
from compiler.ir.interpret import interpret
from compiler.ir.points import enumerate_points
from compiler.ir.program import Program
from compiler.sched.process_network import (
    NetworkError,
    NodeKind,
    derive,
    parse_network,
    print_network,
    run_scheduled,
)
from compiler.sched.process_network.parametric_program import family, size_points
from compiler.sched.process_network.transfers import stage_transfers
from hw.dataflow.affine import evaluate_pieces
from hw.dataflow.counters import counter_vectors

APPS = Path(__file__).resolve().parents[2] / "apps" / "dataflow"


def test_f02_access_relations_of_all_statements() -> None:
    """Equations 2.6 and 2.7: reads and writes of listing 2.2, scalars as arrays of one element."""
    summed = program("row_sum", ROW_SUM, N=5, M=7)
    rows, box = "0 <= i < 5", "0 <= i < 5 and 0 <= j < 7"
    reads = {"S1": [], "S2": [], "S3": [f"{{ S3[i, j] -> y[i] : {box} }}", f"{{ S3[i, j] -> scale[0] : {box} }}",
                                        f"{{ S3[i, j] -> A[i, j] : {box} }}"]}
    writes = {"S1": "{ S1[] -> scale[0] }", "S2": f"{{ S2[i] -> y[i] : {rows} }}", "S3": reads["S3"][0]}
    for name, expected in reads.items():
        statement = summed.statement(name)
        found = [r.map.intersect_domain(statement.domain) for r in statement.reads if r.array != "x"]
        assert all(one.is_equal(isl.Map(text)) for one, text in zip(found, expected, strict=True)), name
        assert statement.write.map.intersect_domain(statement.domain).is_equal(isl.Map(writes[name])), name


def test_f10_f12_counters_count_every_vector_once_in_order() -> None:
    plan = make_plan(matmul(4), Options())
    assert list(counter_vectors(plan.kernel.counters)) == [(i, j, k) for i in range(4) for j in range(4)
                                                          for k in range(4)]
    assert [(c.minimum, c.maximum) for c in plan.kernel.counters] == [(0, 3)] * 3


@pytest.mark.parametrize(("loops", "fired"), [
    ("for (int i = 0; i < 8; i++) { y[i] = 0; for (int j = 0; j <= i; j++) S: y[i] += x[i][j]; }",
     [(i, j) for i in range(8) for j in range(i + 1)]),
    ("for (int i = 0; i < 10; i += 3) for (int j = 0; j < 2; j++) S: y[i / 3 + 4 * j] = x[i][j];",
     [(i, j) for i in (0, 3, 6, 9) for j in range(2)]),
])
def test_f12_triangular_and_strided_bounds(loops: str, fired: list[tuple[int, int]]) -> None:
    text = f"void f(const int16_t x[10][10], int16_t y[8]) {{\n#pragma scop\n{loops}\n#pragma endscop\n}}"
    plan = make_plan(program("nest", text), Options())
    statement = plan.network.program.statement("S")
    count, columns = enumerate_points(statement.reads[-1].map.intersect_domain(statement.domain).range())
    assert list(zip(*(c.tolist() for c in columns), strict=True)) == fired and count == len(fired)
    assert plan.kernel.ticks == len(fired) == plan.network.node("S").firings
    inputs = random_inputs(plan.network.program, 0)
    expected = interpret(plan.network.program, inputs)["y"]
    assert np.array_equal(run_scheduled(plan.network, inputs).outputs["y"], expected)


def test_f12_bounds_that_are_parameters() -> None:
    """One chain of counters for all N: the outermost one is N itself, and the others' bounds are functions of it."""
    sized = compile_sizes(lambda **sizes: load_c(APPS / "matmul.c", **sizes), {"N": (2, 5)})
    kernel = sized.plan.kernel
    assert [(s.name, s.minimum, s.maximum) for s in kernel.sizes] == [("N", 2, 5)]
    for size in range(2, 6):
        inner = [v for v in counter_vectors(kernel.counters) if v[0] == size]
        assert inner == [(size, i, j, k) for i in range(size) for j in range(size) for k in range(size)]
        assert evaluate_pieces(kernel.counters[1].high, (size,)) == size - 1
        design = sized.at(N=size)
        assert design.predicted_cycles == size**3 + kernel.depth >= design.lower_bound
    assert kernel.ticks == 125 and max(s.words for s in kernel.inputs) == 25


def test_f09_f12_channel_sizes_of_a_family_are_the_greatest() -> None:
    sizes = (3, 7)
    text = f"#define READ_B B[j][i] = b[j][i]\n#define INIT 0\n{MATMUL}"
    network = derive(family({"N": sizes}, lambda point: stage_transfers(program("mm", text, N=point[0]))), sizes=1)
    assert parse_network(print_network(network)) == network
    own = derive(matmul(7))
    assert {e.name: e.size for e in network.edges} == {e.name: e.size for e in own.edges}


def triangle(**macros: int) -> Program:
    text = """
void f(const int16_t x[N], int16_t y[N]) {
#pragma scop
  for (int i = 0; i < N; i++) {
    y[i] = 0;
    for (int j = i / 2; j <= i; j++) y[i] = y[i] * 3 + x[j];
  }
#pragma endscop
}"""
    return program("triangle", text, **macros)


def test_f12_family_with_two_sizes_and_floors() -> None:
    sized = compile_sizes(triangle, {"N": (3, 6)})
    assert sized.at(N=3).program.inputs[0].shape == (3,)
    summed = compile_sizes(lambda **sizes: program("row_sum", ROW_SUM, **sizes), {"N": (2, 4), "M": (3, 5)})
    for n in range(2, 5):
        for m in range(3, 6):
            assert summed.plan.clock.ticks_by_size(2)[n, m] == n * m
    assert summed.plan.kernel.ticks == 20


def test_f12_programs_that_are_no_family() -> None:
    def other(**sizes: int) -> Program:
        text = f"void f(const int16_t x[N], int16_t y[N]) {{\n#pragma scop\nfor (int i = 0; i < N; i++) " \
               f"S: y[i] = x[i] * {sizes['N']};\n#pragma endscop\n}}"
        return program("scaled", text, **sizes)

    with pytest.raises(NetworkError, match=r"statement 'S' \(scaled.c:\d+\): it computes something else for N=2 than "
                                           "for N=4"):
        compile_sizes(other, {"N": (2, 4)})
    with pytest.raises(NetworkError, match="size N: 5 to 4 is no range of sizes"):
        size_points({"N": (5, 4)})
    with pytest.raises(NetworkError, match="there are 289 combinations of sizes, not 1 to 256"):
        size_points({"N": (0, 16), "M": (0, 16)})
    with pytest.raises(NetworkError, match="its iterator 'i' has the name of a size"):
        family({"i": (2, 3)}, lambda point: program("dot", INNER_PRODUCT, N=point[0]))


TWO_OUTPUTS = """
void f(const int16_t x[8], int16_t y[8], int16_t z[8]) {
  int16_t t[8];
#pragma scop
  for (int i = 0; i < 8; i++) {
    T: t[i] = x[i] * i;
    Y: y[i] = t[i];
    Z: z[i] = t[i] + 1;
  }
#pragma endscop
}"""


def test_f13_a_node_with_two_results_and_an_input_with_an_argument() -> None:
    """A node may feed two outputs; an input whose value depends on the iterator is an input and a computation."""
    network = derive(program("two", TWO_OUTPUTS))
    kinds = {node.name: node.kind for node in network.nodes}
    assert kinds["Read_x"] is NodeKind.INPUT and kinds["T"] is NodeKind.COMPUTE
    assert kinds["Y"] is NodeKind.OUTPUT and kinds["Write_z"] is NodeKind.OUTPUT
    assert sum(edge.source == "T" for edge in network.edges) == 2
    inputs = random_inputs(network.program, 0)
    run = run_scheduled(network, inputs)
    for name, values in interpret(network.program, inputs).items():
        assert np.array_equal(run.outputs[name], values)
