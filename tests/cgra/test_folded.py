"""Sums in rounds on the array, constants that come like weights, and loops as directives order them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import compiler
from compiler.bind.cgra.design import CgraDesign
from compiler.bind.cgra.sites import ArrayTooSmall
from compiler.frontend.loop_nest import load, prog
from compiler.ir.expr import Iterator, Load, iterators_needed
from compiler.ir.interpret import interpret
from compiler.ir.program import Program
from compiler.ir.types import UINT16
from compiler.passes.arrays.iterator_tables import constant_inputs
from compiler.sched.verify import ValidationError


def compiled(program: Program, **options: str) -> CgraDesign:
    design = compiler.compile(program, **options)
    assert isinstance(design, CgraDesign)
    return design


@pytest.mark.parametrize("memory", ["pub", "dual-port", "buffet"])
def test_a_third_of_the_products_in_three_times_the_cycles(memory: str) -> None:
    program = load("gaussian", width=32, height=10)
    whole = compiled(program, memory=memory, array="8x4")
    folded = compiled(program, memory=memory, array="8x8", transform="fold(Gaussian, 3)")
    assert folded.application.units["Gaussian_rounds"] <= 4 < 12 == whole.application.units["Gaussian"]
    assert folded.lower_bound == 3 * 8 * 30
    assert folded.predicted_cycles <= 1.1 * folded.lower_bound
    assert [array.name for array in folded.program.inputs] == ["input"]


def test_rounds_are_chosen_where_the_array_is_too_small(tmp_path: Path) -> None:
    """Sixteen processing elements; a layer with sixteen products at a time needs two more."""
    hardware = tmp_path / "array.toml"
    hardware.write_text('rows = 4\ncolumns = 8\nmem_period = 2\n[mem]\nkind = "dual-port"\n')
    program = load("resnet_layer", size=6, inputs=8, outputs=2, unroll_in=8, unroll_out=2)
    with pytest.raises(ArrayTooSmall):
        compiled(program, hardware=str(hardware))
    design = compiled(program, hardware=str(hardware), share="auto")
    assert design.choices["transform"] == "fold(Accumulate_0, 2, 3); fold(Accumulate_1, 2, 3)"
    assert design.resources["PEs"] <= 14
    assert design.lower_bound == 2 * 9 * 36
    assert design.predicted_cycles <= 1.15 * design.lower_bound


def test_what_still_does_not_fit_is_said_as_it_was_asked_for() -> None:
    """In rounds, there are too few memory tiles."""
    program = load("gaussian", width=34, height=6)
    with pytest.raises(ArrayTooSmall) as asked:
        compiled(program, array="4x2")
    with pytest.raises(ArrayTooSmall) as chosen:
        compiled(program, array="4x2", share="auto")
    assert str(chosen.value) == str(asked.value)


def coordinates(width: int, height: int) -> Program:
    """Words with the place of each added to it."""
    prg = prog("coordinates")
    prg.add_input("a", shape=(height, width))
    prg.add_output("b")
    op = prg.add_loop("y", 0, height).add_loop("x", 0, width).add_op("Add")
    op.add_function(lambda word: word + 7)
    op.add_load("a", "x", "y")
    op.add_store("b", "x", "y")
    program = prg.build()
    (old,) = program.statements
    value = old.value
    for name in old.iterators:
        value = replace(value, args=(value, Iterator(name, UINT16)))
    return replace(program, statements=(replace(old, value=value),))


def test_values_of_iterators() -> None:
    program = coordinates(8, 6)
    image = np.arange(48).reshape(6, 8)
    expected = image + 7 + np.arange(6)[:, None] + np.arange(8)
    assert np.array_equal(interpret(program, {"a": image})["b"], expected)
    streamed, constants = constant_inputs(program)
    assert {name: values.shape for name, values in constants.items()} == {"Add_values": (1, 6), "Add_values_": (1, 8)}
    assert np.array_equal(interpret(streamed, {"a": image} | constants)["b"], expected)
    design = compiled(program, array="4x8")
    assert design.parts.split({"a": image}).keys() == {"a", "Add_values", "Add_values_"}


def test_words_of_memories_are_no_constants() -> None:
    """Though nothing but an iterator says which one is loaded."""
    iterator = Iterator("i", UINT16)
    word = Load("m", iterator, (), UINT16)
    assert iterators_needed(word) == {id(iterator): {"i"}, id(word): None}


def test_a_constant_that_is_wrong_is_noticed() -> None:
    design = compiled(load("gaussian", width=32, height=8), array="8x8", memory="dual-port",
                      transform="fold(Gaussian, 3)")
    (name,) = design.parts.constants
    assert np.array_equal(design.parts.constants[name], [[24, 30, 24], [30, 37, 30], [24, 30, 24]])
    wrong = design.parts.constants[name].copy()
    wrong[1, 2] += 1
    design.parts = replace(design.parts, constants={name: wrong})
    with pytest.raises(ValidationError, match=f"'{name}.*' does not hold the values of its constants"):
        design.validate()


def test_reordered_loops_are_the_loops_of_the_array() -> None:
    program = load("gaussian", width=12, height=32)
    design = compiled(program, array="8x4", transform="reorder(x, y)")
    assert tuple(design.schedule.statements["Gaussian"].strides) == ("x", "y")
    assert design.predicted_cycles <= 1.1 * design.lower_bound
