"""Programs that are too large for proofs in numbers are refused at once, by the statement."""

from __future__ import annotations

import time

import pytest

import compiler
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


def test_many_instances_are_refused():
    with pytest.raises(FpgaError, match=r"statement 'S0' \(.*:5\): it has 100000000 instances; .* takes up to "
                                        r"33554432 in 2 loops: make the extents of its loops smaller"):
        compiler.compile(nested(10_000, 10_000), target="fpga")


def test_many_instances_take_no_time_where_relations_prove_them():
    start = time.process_time()
    assert compiler.compile(nested(10_000, 10_000), target="dataflow").predicted_cycles >= 10_000 * 10_000
    assert time.process_time() - start < 10


def test_loops_of_one_iteration_do_not_count():
    compiler.compile(nested(*[1] * 20, 3), target="fpga")
