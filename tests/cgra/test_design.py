"""What a compiled design says about itself without a simulation."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import compiler
from compiler.bind.cgra.design import CgraDesign
from compiler.bind.design import BufferStorage, InputError, Run, check_inputs
from compiler.frontend.loop_nest import load, prog
from compiler.ir.interpret import interpret
from compiler.ir.program import Array, Program
from compiler.ir.types import Fixed, Int
from hw.designs.directory import crc32, read_design, write_design
from hw.fabric.config import decode_array
from hw.fabric.driver import RunFailure
from hw.fabric.spec import FabricSpec


def compiled(name: str, memory: str = "pub", **parameters: Any) -> CgraDesign:
    design = compiler.compile(load(name, **parameters), memory=memory, array="4x8")
    assert isinstance(design, CgraDesign)
    return design


@pytest.fixture(scope="module")
def gaussian() -> CgraDesign:
    return compiled("gaussian", width=30, height=8)


def test_predictions(gaussian: CgraDesign) -> None:
    """The last bank access of the last tile is the last cycle; without latencies it would be the schedule's last."""
    last = max(bank.nest.last_time for bank in gaussian.config.banks.values() if bank.direction == "output")
    assert gaussian.predicted_cycles == last + 1
    assert gaussian.schedule.statements["Gaussian"].last == 239
    assert gaussian.path_latency == last - 239 > 0
    assert gaussian.lower_bound == 240


def test_predictions_of_several_tiles() -> None:
    design = compiler.compile(load("brighten_blur", tiles=5, size=8), array="4x4", tile_depth=1)
    assert isinstance(design, CgraDesign)
    assert design.plan.tiles == 5
    assert design.plan.period == 64
    assert design.plan.run_cycles == design.predicted_cycles == 4 * 64 + (9 + 6 * 8 + 6) + 1 + design.path_latency


def test_resources(gaussian: CgraDesign) -> None:
    assert gaussian.resources == {
        "PEs": 12, "delay PEs": 0, "memory tiles": 1, "registers": 6,
        "input-stage delay words": gaussian.physical.retiming.words, "routed wires": gaussian.physical.routes.wires}


@pytest.mark.parametrize(("memory", "units"), [("pub", ("mem0",)), ("dual-port", ("mem0", "mem1"))])
def test_storage_of_line_buffers(memory: str, units: tuple[str, ...]) -> None:
    (buffer,) = compiled("gaussian", memory, width=40, height=6).storage
    assert (buffer.name, buffer.units, buffer.live_words) == ("input__tile.load_input", units, 80)
    assert 70 <= buffer.allocated_words <= 100  # some words are in shift registers and on their way


def two_readers() -> Program:
    """A matrix that is read by columns in two orders."""
    prg = prog("turns")
    prg.add_input("a", shape=(5, 6))
    prg.add_output("b")
    op = prg.add_loop("y", 0, 6).add_loop("x", 0, 5).add_op("Turn")
    op.add_function(lambda p, q: p - q)
    op.add_load("a", "y", "x")
    op.add_load("a", "5 - y", "x")
    op.add_store("b", "x", "y")
    return prg.build()


@pytest.mark.parametrize("memory", ["pub", "dual-port"])
def test_copies_of_a_buffer_are_not_live_twice(memory: str) -> None:
    """Both readers want a word in every cycle, each from another row. Rows of 6 words are padded to 8 in a wide-fetch
    memory; that makes no more words live."""
    design = compiler.compile(two_readers(), memory=memory, array="4x8")
    (buffer,) = design.storage
    assert isinstance(buffer, BufferStorage)
    assert len(buffer.units) == 2
    assert 20 <= buffer.live_words <= 30
    assert buffer.allocated_words >= 2 * buffer.live_words - 8


def test_a_chain_counts_once() -> None:
    """64 x 64 words in two tiles of 2048; all but the last columns are live when the first is read."""
    prg = prog("turn")
    prg.add_input("a", shape=(64, 64))
    prg.add_output("b")
    prg.add_output("c")
    op = prg.add_loop("y", 0, 64).add_loop("x", 0, 64).add_op("Keep")
    op.add_load("a", "x", "y")
    op.add_store("c", "x", "y")
    op = prg.add_loop("y", 0, 64).add_loop("x", 0, 64).add_op("Turn")
    op.add_load("a", "y", "x")
    op.add_store("b", "x", "y")
    (buffer,) = compiler.compile(prg.build(), memory="dual-port", array="2x8").storage
    assert (buffer.units, buffer.allocated_words) == (("mem0", "mem1"), 4096)
    assert 3900 < buffer.live_words <= 4096


def test_the_words_are_the_configuration(gaussian: CgraDesign) -> None:
    assert decode_array(gaussian.words, gaussian.spec).words(gaussian.spec) == gaussian.words
    assert gaussian.image[:4] == 0x534C4331.to_bytes(4, "little")


def test_main_memory_is_laid_out_without_overlaps(gaussian: CgraDesign) -> None:
    layout = gaussian.layout
    assert list(layout.addresses) == ["input", "output"]
    assert layout.addresses["input"] >= len(gaussian.image)
    assert layout.addresses["output"] >= layout.addresses["input"] + 30 * 8 * 2
    assert layout.end >= layout.addresses["output"] + 28 * 6 * 2
    assert all(address % 64 == 0 for address in layout.addresses.values())
    assert sorted(d.base for d in gaussian.descriptors.values()) == sorted(layout.addresses.values())
    assert set(gaussian.descriptors) == set(gaussian.config.banks)


def test_the_design_directory(gaussian: CgraDesign, tmp_path: Path) -> None:
    image = np.random.default_rng(0).integers(0, 65536, (8, 30))
    design = gaussian.design_image({"input": image})
    (region,) = design.outputs
    expected = interpret(gaussian.program, {"input": image})["output"]
    assert region.crc32 == crc32(expected.astype("<u2").tobytes())
    assert design.metadata["predicted_cycles"] == gaussian.predicted_cycles
    assert design.metadata["shapes"] == {"input": [8, 30], "output": [6, 28]}
    memory = design.memory_image()
    start = gaussian.layout.addresses["input"]
    assert memory[start: start + 480] == image.astype("<u2").tobytes()
    write_design(tmp_path, design)
    assert read_design(tmp_path) == design
    assert gaussian.design_image().outputs[0].crc32 is None


@pytest.mark.parametrize(("name", "identifier"), [("br-bl", "br_bl"), ("3 by 3", "_3_by_3"), ("ok", "ok"), ("", "_")])
def test_names_become_identifiers(gaussian: CgraDesign, name: str, identifier: str) -> None:
    named = replace(gaussian, program=replace(gaussian.program, name=name))
    assert named.design_image().name == identifier


def test_a_failed_run_is_named(gaussian: CgraDesign) -> None:
    with pytest.raises(RunFailure) as error:
        gaussian.check({"STATUS": 0, "DETAIL": 0})
    assert str(error.value).startswith("the run has not ended: ")


def test_runs_know_their_speed() -> None:
    run = Run({}, 10, 0, 20, "verilator", 1000, 0.5, 0.0)
    assert run.cycles_per_second == 2000
    assert Run({}, 10, 0, 20, "verilator", 1000, 0.0, 0.0).cycles_per_second == 0


# Inputs.


def program_of(*arrays: Array) -> Program:
    base = load("gaussian", width=4, height=3)
    return Program("given", arrays, (), base.statements, base.order)


U8 = Array("a", (2, 3), Int(8, False), "input")
S8 = Array("a", (2, 3), Int(8, True), "input")
BIT = Array("a", (2, 3), Int(1, False), "input")


@pytest.mark.parametrize(("array", "data"), [
    (U8, [[0, 255, 1], [2, 3, 4]]), (S8, [[-128, 127, 0], [0, 0, 0]]), (BIT, [[True, False, True]] * 2),
    (U8, np.ones((2, 3), np.uint64)), (S8, np.full((2, 3), -1, np.int8)),
])
def test_inputs_that_fit(array: Array, data: Any) -> None:
    given = check_inputs(program_of(array), {"a": data})
    assert given["a"].dtype == np.int64
    np.testing.assert_array_equal(given["a"], np.asarray(data))


@pytest.mark.parametrize(("array", "data", "message"), [
    (U8, np.zeros((3, 2), int), "input a has shape (3, 2), the program needs (2, 3)"),
    (U8, [[1, 2, 3], [4]], "input a is no array: its rows have different lengths"),
    (U8, np.zeros((2, 3)), "input a holds float64, the program needs integers (uint8)"),
    (U8, [["x", "y", "z"]] * 2, "input a holds <U1, the program needs integers (uint8)"),
    (U8, [[0, 0, 0], [0, 256, 0]], "input a holds 256 at (1, 1), outside the range of uint8"),
    (U8, [[0, -1, 0], [0, 256, 0]], "input a holds -1 at (0, 1), outside the range of uint8"),
    (S8, [[0, 0, 128], [0, 0, 0]], "input a holds 128 at (0, 2), outside the range of int8"),
    (Array("a", (2, 3), Fixed(8, 4, False), "input"), np.zeros((2, 3), int),
     f"input a has elements of type {Fixed(8, 4, False)}; only integers and floating-point numbers can be given"),
])
def test_inputs_that_do_not_fit(array: Array, data: Any, message: str) -> None:
    with pytest.raises(InputError) as error:
        check_inputs(program_of(array), {"a": data})
    assert str(error.value) == message


def test_inputs_that_are_missing_or_unknown() -> None:
    with pytest.raises(InputError) as error:
        check_inputs(program_of(U8), {})
    assert str(error.value) == "input a is missing"
    with pytest.raises(InputError) as error:
        check_inputs(program_of(U8), {"b": np.zeros((2, 3), int)})
    assert str(error.value) == "program given has no input 'b'; inputs: a"


def test_inputs_are_checked_before_anything_runs(gaussian: CgraDesign) -> None:
    for action in (gaussian.simulate, gaussian.design_image):
        with pytest.raises(InputError) as error:
            action({"input": np.zeros((64, 64), int)})
        assert str(error.value) == "input input has shape (64, 64), the program needs (8, 30)"


def test_the_spec_is_what_the_options_say(gaussian: CgraDesign) -> None:
    assert isinstance(gaussian.spec, FabricSpec)
    assert str(gaussian.spec) == gaussian.options.array == "4x8"
