"""bfloat16 programs on the array: which operations they take, what is refused, and that timing is checked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from bfloat16_programs import gaussian, running_sum

import compiler
from compiler.bind.cgra.check import PhysicalError, check
from compiler.bind.cgra.instruction_selection import CoverError
from compiler.bind.cgra.netlist import PeNode
from compiler.bind.registry import TargetError
from compiler.frontend.kernel import Typed, absolute, cast
from compiler.frontend.loop_nest import prog
from compiler.ir.expr import Apply
from compiler.ir.program import Program
from compiler.ir.types import UINT16, Int
from hw.errors import SluiceError


def of(kernel: Callable[..., Any], type: str = "bfloat16", out: str = "bfloat16") -> Program:
    """A program that computes `kernel` of elements of two arrays."""
    prg = prog("one", type)
    prg.add_input("a", (4,))
    prg.add_input("b", (4,))
    prg.add_output("c", (4,), out)
    op = prg.add_loop("x", 0, 4).add_op("Op")
    op.add_load("a", "x")
    op.add_load("b", "x")
    op.add_function(kernel)
    op.add_store("c", "x")
    return prg.build()


def compiled(program: Program, **options: Any) -> Any:
    return compiler.compile(program, array="4x4", **{"bfloat16": True, **options})


def operations(design: Any) -> Counter[str]:
    return Counter(node.config.op for node in design.application.netlist.nodes.values() if isinstance(node, PeNode))


def test_a_product_and_a_sum_are_one_unit() -> None:
    assert operations(compiled(gaussian())) == {"fmul": 1, "fmad": 8}


def test_what_comes_back_soon_does_not_pass_the_multiplier() -> None:
    design = compiled(running_sum())
    assert operations(design)["fmad"] == 0 and operations(design)["fadd"] == 1
    adder = design.spec.pe.latency("fadd")
    entry = design.schedule.statements["following"]
    assert adder < next(iter(entry.strides.values())) < adder + 6


@pytest.mark.parametrize(("kernel", "out", "expected"), [
    (lambda a, b: -a, "bfloat16", {"xor"}),
    (lambda a, b: absolute(a - b), "bfloat16", {"fsub", "and"}),
    (lambda a, b: cast(Int(8, False), a), "uint8", {"ftoi", "and"}),
    (lambda a, b: cast(UINT16, cast(Int(32), a)), "uint16", {"ftoi"}),
    (lambda a, b: a + 1.5 * 2, "bfloat16", {"fadd"}),
])
def test_operations(kernel: Callable[..., Any], out: str, expected: set[str]) -> None:
    assert set(operations(compiled(of(kernel, out=out)))) == expected


HINT = "dataflow, fpga, systolic, vector"


@pytest.mark.parametrize(("program", "options", "message"), [
    (gaussian, {"bfloat16": False}, "computes with float8.7: target cgra has integers only; with floating-point "
     f"numbers: {HINT}; bfloat16 also here, with the option bfloat16 (bfloat16=True, --option bfloat16=true)"),
    (lambda: of(lambda a, b: a * b, "float32", "float32"), {}, "computes with float8.23: target cgra has integers and "
     f"float8.7 only; with floating-point numbers: {HINT}"),
    (lambda: of(lambda a, b: a * b, "float64", "float64"), {"bfloat16": False}, "computes with float11.52: target cgra "
     f"has integers only; with floating-point numbers: {HINT}"),
])
def test_other_numbers_are_refused(program: Callable[[], Program], options: dict[str, Any], message: str) -> None:
    with pytest.raises(TargetError) as caught:
        compiled(program(), **options)
    found = str(caught.value)
    assert found.startswith("statement '") and ".py:" in found.partition(")")[0] and found.endswith(message)


@pytest.mark.parametrize(("kernel", "message"), [
    (lambda a, b: a / b, "processing elements have no 'div' of float8.7; multiply by the reciprocal, if that is a "
                         "constant, or take targets fpga or dataflow"),
    (lambda a, b: Typed(Apply("mad", (a.expr, b.expr, a.expr), a.expr.type)), "processing elements have no 'mad' of "
     "float8.7; write a * b + c, which rounds twice, or take targets fpga or dataflow"),
    (lambda a, b: Typed(Apply("sqrt", (a.expr,), a.expr.type)), "processing elements have no 'sqrt' of float8.7; take "
                                                                "targets fpga or dataflow"),
])
def test_other_operations_are_refused(kernel: Callable[..., Any], message: str) -> None:
    with pytest.raises(CoverError) as caught:
        compiled(of(kernel))
    found = str(caught.value)
    assert found.startswith("statement 'Op' (") and found.endswith(f": {message}")


def test_elements_that_wait_for_each_other_have_integers_only() -> None:
    with pytest.raises(SluiceError) as caught:
        compiled(gaussian(), memory="buffet")
    assert str(caught.value) == "an array with ready-valid tracks has processing elements without bfloat16"


def test_latencies_are_those_of_the_array() -> None:
    """A configuration for one latency of the adder is none for another."""
    design = compiled(gaussian())
    check(design.physical, design.spec)
    other = replace(design.spec, pe=replace(design.spec.pe, add_cycles=design.spec.pe.add_cycles + 1))
    with pytest.raises(PhysicalError, match="is due at"):
        check(design.physical, other)
