"""Programs that are too large for proofs in numbers are refused at once, by the statement."""

from __future__ import annotations

import time

import pytest

import compiler
from benchmarks.compile_growth import measured
from compiler.bind.dataflow.errors import DataflowError
from compiler.bind.fpga.errors import FpgaError
from compiler.frontend.c_scop import parse_scop
from compiler.ir.program import Program

ERRORS = {"fpga": FpgaError, "dataflow": DataflowError}


@pytest.fixture(autouse=True)
def any_depth(monkeypatch):
    """The front end's own limit is not what is tested here."""
    monkeypatch.setenv("SLUICE_MAX_NESTED_LOOPS", "32")


def nested(*trips: int) -> Program:
    """A copy inside of loops of these many iterations."""
    loops = "\n".join(f"for (int i{k} = 0; i{k} < {count}; i{k}++)" for k, count in enumerate(trips))
    body = f"#pragma scop\n{loops}\nb[0] = a[0];\n#pragma endscop"
    return parse_scop(f"void f(const short a[1], short b[1]) {{\n{body}\n}}")


@pytest.mark.parametrize(("target", "most"), [("fpga", 14), ("dataflow", 10)])
def test_many_loops(target, most):
    start = time.perf_counter()
    with pytest.raises(ERRORS[target], match=rf"statement 'S0' \(.*:25\): it is in 22 nested loops; target {target} "
                                             rf"takes up to {most}: write neighbouring loops as one"):
        compiler.compile(nested(*[2] * 22), target=target)
    assert time.perf_counter() - start < 10


TURNED = """void turned(const short x[2100][2100], const short d[2100], short y[2100][2100]) {
  short t[2100];
#pragma scop
  for (int i = 0; i < 2100; i++)
    t[i] = d[i] + 1;
  for (int i = 0; i < 2100; i++)
    for (int j = 0; j < 2100; j++)
      y[i][j] = x[i][j] + t[(i + j) % 3];
#pragma endscop
}"""


def test_many_instances_that_are_no_loop_nest_are_refused():
    start = time.process_time()
    with pytest.raises(FpgaError, match=r"statement 'S1' \(.*:8\) has 4410000 instances, which would have to be "
                                        r"listed; the fpga target lists up to 4194304: compile a smaller image"):
        compiler.compile(parse_scop(TURNED), target="fpga")
    assert time.process_time() - start < 10


@pytest.mark.parametrize("target", ["fpga", "dataflow"])
def test_many_instances_take_no_time_where_relations_prove_them(target):
    start = time.process_time()
    assert compiler.compile(nested(10_000, 10_000), target=target).predicted_cycles >= 10_000 * 10_000
    assert time.process_time() - start < 10


@pytest.mark.parametrize("target", ["fpga", "dataflow"])
@pytest.mark.parametrize(("name", "small", "large"), [("gemm", 64, 4096), ("conv_3_3", 64, 4096), ("harris", 64, 4096)])
def test_large_matrices_and_pictures_take_little(name, target, small, large):
    found = {size: measured(name, target, size) for size in (small, large)}
    assert found[large]["start to done (model)"] <= 1.01 * found[large]["bound"]
    assert found[large]["seconds"] < 10
    assert found[large]["MB"] < 1.5 * found[small]["MB"]


def test_loops_of_one_iteration_do_not_count():
    compiler.compile(nested(*[1] * 20, 3), target="fpga")
