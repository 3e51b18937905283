"""Compiling for the array: options, what is loosened where a memory cannot follow, random programs."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st
from random_accumulations import accumulations
from random_programs import programs

import compiler
from compiler.bind.buffers.wide_fetch import AccessPatternError
from compiler.bind.cgra.design import CgraDesign
from compiler.bind.cgra.instruction_selection import CoverError
from compiler.bind.cgra.netlist import MemNode
from compiler.bind.cgra.options import Options, OptionsError
from compiler.bind.cgra.place import ArrayTooSmall
from compiler.bind.cgra.place_and_route import Unroutable
from compiler.bind.registry import TARGETS, TargetError
from compiler.frontend import kernel
from compiler.frontend.loop_nest import load, prog
from compiler.ir.program import Program
from compiler.ir.types import ProgramError
from compiler.sched.static.static_schedule import FusionError
from compiler.sched.streams.streams import StreamError
from hw.errors import SluiceError
from hw.fabric.spec import FabricError

ROOT = Path(__file__).resolve().parents[2]


def compiled(program: Program, **options: Any) -> CgraDesign:
    design = compiler.compile(program, "cgra", **options)
    assert isinstance(design, CgraDesign)
    return design


@pytest.mark.parametrize(("options", "kind", "message"), [
    ({"memory": "sram"}, OptionsError, "there is no memory 'sram'; there are: pub, dual-port, dual-port-pe, buffet"),
    ({"share": "all"}, OptionsError, "share is 'all', not one of asked, auto"),
    ({"loops": "all"}, OptionsError, "loops is 'all', not one of auto, asked"),
    ({"schedule": "late"}, OptionsError, "schedule is 'late', not one of pipelined, sequential"),
    ({"sums": "long"}, OptionsError, "sums is 'long', not one of auto, chain"),
    ({"array": "big"}, FabricError, "'big' is not the size of an array; write ROWSxCOLUMNS, as in 4x4 or 16x32"),
    ({"half_words": 100}, FabricError, "half a bank cannot have 100 words; it needs a power of two from 8 on"),
    ({"fusion_level": 9}, FusionError, "fusion level 9 does not exist: the deepest loop nest has 2 levels"),
    ({"tile_depth": 3}, StreamError, "3 tile loops were asked for, but statements share 1 independent outer loops (not "
     "counting the innermost)"),
    ({"unroll": 2}, TargetError, "target cgra has no option 'unroll'; there are: memory_latency, memory_bursts, "
     "memory, counter, bfloat16, array, fusion_level, tile_depth, half_words, seed, transform, share, loops, schedule, "
     "sums, hardware, passes"),
])
def test_wrong_options(options: dict[str, Any], kind: type[SluiceError], message: str) -> None:
    with pytest.raises(kind) as error:
        compiled(load("gaussian"), **options)
    assert str(error.value) == message


def test_unknown_targets() -> None:
    with pytest.raises(TargetError) as error:
        compiler.compile(load("gaussian"), "asic")
    assert str(error.value) == f"there is no target 'asic'; there are: {', '.join(TARGETS)}"


def test_options_describe_the_array() -> None:
    spec = Options(memory="dual-port", array="3x5", half_words=64).fabric()
    assert (spec.rows, spec.columns, spec.mem.kind, spec.glb.half_words) == (3, 5, "dual-port", 64)
    assert Options().fabric().glb.half_words == 32768


def test_programs_are_verified() -> None:
    program = load("gaussian", width=8, height=8)
    damaged = Program(program.name, program.arrays[:1], program.tables, program.statements, program.order)
    with pytest.raises(ProgramError) as error:
        compiled(damaged)
    assert str(error.value) == "program 'gaussian' has no output"


@pytest.mark.parametrize(("name", "memory", "pes", "memories", "latency"), [
    ("gaussian", "pub", 12, 1, 25), ("gaussian", "dual-port", 12, 2, 25), ("conv_3_3", "pub", 10, 1, 25),
    ("cascade", "pub", 18, 2, 40), ("cascade", "dual-port", 18, 4, 40), ("brighten_blur", "pub", 5, 1, 25),
    ("brighten_blur", "dual-port", 5, 1, 25), ("upsample", "pub", 0, 1, 30), ("gaussian_tiled", "pub", 10, 1, 40),
])
def test_the_applications_run_at_full_rate(name: str, memory: str, pes: int, memories: int, latency: int) -> None:
    """Table 7.4: one pixel per cycle. The last output comes no later than the schedule says plus the path latency."""
    design = compiled(load(name), memory=memory)
    assert (design.resources["PEs"], design.resources["memory tiles"]) == (pes, memories)
    assert 0 < design.path_latency <= latency
    assert design.choices["initiation interval"] == design.choices["alignment of loop lengths"] == "1"
    assert design.predicted_cycles - 1 == design.path_latency + {
        "gaussian": 4095, "conv_3_3": 4095, "cascade": 4095, "brighten_blur": 65535, "upsample": 16383,
        "gaussian_tiled": 65535}[name]
    assert sum(design.seconds.values()) == design.compile_seconds < 20


def transposed(height: int, width: int) -> Program:
    """Three tiles right after each other, so that one is written while another is read."""
    prg = prog("transpose")
    prg.add_input("a", shape=(3, height, width))
    prg.add_output("b")
    tile = prg.add_loop("t", 0, 3)
    op = tile.add_loop("y", 0, height).add_loop("x", 0, width).add_op("Copy")
    op.add_load("a", "x", "y", "t")
    op.add_store("m", "x", "y", "t")
    op = tile.add_loop("y", 0, width).add_loop("x", 0, height).add_op("Turn")
    op.add_load("m", "y", "x", "t")
    op.add_store("b", "x", "y", "t")
    return prg.build()


@pytest.mark.parametrize(("memory", "size", "interval", "alignment"), [
    ("dual-port", (8, 8), "1", "1"), ("dual-port", (5, 7), "1", "1"),
    ("pub", (8, 8), "2", "4"), ("pub", (5, 7), "3", "1"),
])
def test_schedules_are_loosened_only_as_far_as_a_memory_needs(memory: str, size: tuple[int, int], interval: str,
                                                              alignment: str) -> None:
    """A wide-fetch memory cannot fetch a wide word for every word and store as well: it takes every second cycle. Rows
    that would have to be padded for that take every third one instead, which is sooner."""
    design = compiled(transposed(*size), memory=memory, array="4x4", tile_depth=1)
    assert design.choices["initiation interval"] == interval
    assert design.choices["alignment of loop lengths"] == alignment
    assert design.predicted_cycles > 3 * size[0] * size[1] * int(interval)


def test_choices_say_what_was_asked_and_taken() -> None:
    design = compiled(load("gaussian", width=8, height=8), memory="dual-port", array="4x4", fusion_level=1, seed=3)
    assert design.choices == {
        "memory_latency": "20", "memory_bursts": "16", "bfloat16": "False",
        "memory": "dual-port", "counter": "True", "array": "4x4", "fusion_level": "1", "half_words": "32768",
        "seed": "3", "transform": "", "share": "asked", "loops": "auto", "schedule": "pipelined", "sums": "auto",
        "hardware": "", "passes": "", "shared units": "none",
        "starts": "as early as fusion level 1 allows",
        "tile loops": "0 (1 tiles)", "period": "64 cycles", "initiation interval": "1",
        "alignment of loop lengths": "1", "loaded in the order of a window": "none", "arrays in parts": "none"}


def test_dead_statements_take_no_units() -> None:
    prg = prog("dead")
    prg.add_input("a", shape=(8, 8))
    prg.add_input("unused", shape=(8, 8))
    prg.add_output("b")
    for name, source, target in (("Dead", "unused", "c"), ("Live", "a", "b")):
        op = prg.add_loop("y", 0, 8).add_loop("x", 0, 8).add_op(name)
        op.add_function(lambda word: word + 1)
        op.add_load(source, "x", "y")
        op.add_store(target, "x", "y")
    design = compiled(prg.build(), array="2x4")
    assert design.resources["PEs"] == 1
    assert set(design.application.streams_in) == {"a"}
    assert set(design.layout.addresses) == {"a", "unused", "b"}


@pytest.mark.parametrize("level", [None, 1, 0])
@pytest.mark.parametrize("memory", ["pub", "dual-port"])
def test_fusion_levels_take_as_long_as_they_say(memory: str, level: int | None) -> None:
    """Section 4.4: 9, 16 and 64 cycles between the stages of 8 x 8 tiles."""
    program = load("brighten_blur", tiles=3, size=8)
    design = compiled(program, memory=memory, fusion_level=level, tile_depth=1, array="4x4")
    start = {None: 9, 1: 16, 0: 64}[level]
    blur = design.schedule.statements["Blur"]
    assert blur.offset == start
    assert design.predicted_cycles == 2 * 64 + start + 6 * 8 + 6 + 1 + design.path_latency
    assert 0 < design.path_latency < 30


@pytest.mark.parametrize("width", [900, 1200, 1900, 2500])
@pytest.mark.parametrize("memory", ["pub", "dual-port"])
def test_wide_images(memory: str, width: int) -> None:
    """Lines longer than half a memory tile, and than a whole one."""
    design = compiled(load("gaussian", width=width, height=4), memory=memory, array="4x8")
    assert design.resources["delay PEs"] == 0
    (buffer,) = design.storage
    assert buffer.live_words == 2 * width
    assert buffer.allocated_words >= buffer.live_words - 16  # some words are in shift registers and on their way


def test_tile_loops_may_start_anywhere() -> None:
    """Checked by the validation of every compiled design."""
    prg = prog("late")
    prg.add_input("a", shape=(10, 6))
    prg.add_output("b")
    op = prg.add_loop("t", -1, 5).add_loop("y", 1, 2).add_loop("x", 2, 6).add_op("Copy")
    op.add_function(lambda word: word * 5)
    op.add_load("a", "x - 2", "2*t + y + 1")
    op.add_store("b", "7 - x", "2*t + y + 1")
    assert compiled(prg.build(), tile_depth=1, array="2x4").schedule.staged.tiles == 5


def test_an_array_of_the_exact_size_is_enough() -> None:
    program = load("gaussian", width=8, height=8)
    assert compiled(program, array="4x4").resources["PEs"] == 10
    with pytest.raises(ArrayTooSmall) as error:
        compiled(program, array="3x4")
    assert str(error.value) == ("needs 10 PE tiles, 0 memory tiles, 2 streams; the 3x4 array has 9, 3, 4; most, 10 of "
                                "the 10 PE tiles, are for statement 'Gaussian' (apps/gaussian.py:28); use --array 4x4")


def test_what_cannot_be_compiled_stops_at_once() -> None:
    """A looser schedule would not help, and the reason is the first one."""
    prg = prog("index")
    prg.add_input("a", shape=(2, 5000))
    prg.add_output("b")
    loop = prg.add_loop("y", 0, 2).add_loop("x", 0, 5000)
    op = loop.add_op("Ramp")
    op.add_function(lambda word: word + kernel.iterator("x", word.type))
    op.add_load("a", "x", "y")
    op.add_store("b", "x", "y")
    with pytest.raises(CoverError) as error:
        compiled(prg.build(), array="2x4")
    assert str(error.value).endswith("uses the value of iterator 'x', which no stream of the array carries")


def reversed_pairs() -> Program:
    """Neighbours swapped: no loop nest of addresses walks them."""
    prg = prog("swap")
    prg.add_input("a", shape=(8, 8))
    prg.add_output("b")
    op = prg.add_loop("y", 0, 8).add_loop("x", 0, 8).add_op("Swap")
    op.add_load("a", "4*(x // 2) + 1 - x", "y")
    op.add_store("b", "x", "y")
    return prg.build()


@pytest.mark.parametrize("memory", ["pub", "dual-port"])
def test_orders_with_floors_are_loop_nests_too(memory: str) -> None:
    """Swapped pairs are a loop over pairs around a loop over two."""
    assert compiled(reversed_pairs(), memory=memory, array="2x4").resources["memory tiles"] == 1


def test_the_first_reason_is_given_if_nothing_helps() -> None:
    prg = prog("odd")
    prg.add_input("a", shape=(12, 12))
    prg.add_output("b")
    op = prg.add_loop("y", 0, 12).add_loop("x", 0, 7).add_op("Odd")
    op.add_load("a", "x + 2*(x // 3) - (x // 2)", "y")
    op.add_store("b", "x", "y")
    with pytest.raises(AccessPatternError) as error:
        compiled(prg.build(), memory="dual-port", array="2x4")
    assert re.fullmatch(r"statement 'Odd' \(\S+:\d+\) reads 'a' in an order that is no loop nest with constant "
                        "strides, as dual-port memory tiles need; give each part of the order a loop of its own, "
                        "or take target fpga or dataflow",
                        str(error.value))


@settings(max_examples=3, deadline=None,
          suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@given(st.one_of(accumulations(), programs(largest=8, stages=2)))
def test_random_programs_compile_for_all_memories(program: Program) -> None:
    """Every one is validated; only one that is larger than the array may fail."""
    for memory in ("pub", "dual-port", "dual-port-pe", "buffet"):
        try:
            design = compiled(program, memory=memory)
        except (ArrayTooSmall, Unroutable) as error:
            event(f"{type(error).__name__} on {memory}")
        else:
            assert design.path_latency >= 0
            assert design.predicted_cycles >= design.lower_bound
            assert design.resources["memory tiles"] == design.application.netlist.count(MemNode)


SCRIPT = """
import zlib
import compiler
from compiler.frontend.loop_nest import load
design = compiler.compile(load("cascade", width=12, height=8), "cgra")
print(zlib.crc32(repr(design.words).encode()), design.predicted_cycles)
"""


def test_compiling_again_gives_the_same_words() -> None:
    """Also in another process, where sets of names have another order."""
    results = {subprocess.run([sys.executable, "-c", SCRIPT], cwd=ROOT, env={"PYTHONHASHSEED": seed, "PATH": ""},
                              capture_output=True, text=True, check=True).stdout for seed in ("1", "2")}
    assert len(results) == 1


@pytest.mark.parametrize("function", [lambda a, b: b, lambda a, b: (a - a) + b])
def test_loads_that_no_value_needs_take_no_stream(function: Callable[[Any, Any], Any]) -> None:
    prg = prog("unused")
    prg.add_input("a", (4, 4))
    prg.add_input("b", (4, 4))
    prg.add_output("c")
    op = prg.add_loop("y", 0, 4).add_loop("x", 0, 4).add_op("Second")
    op.add_load("a", "x", "y")
    op.add_load("b", "x", "y")
    op.add_function(function)
    op.add_store("c", "x", "y")
    design = compiled(prg.build(), memory="pub", array="4x4")
    assert list(design.application.streams_in) == ["b"]
    assert len(design.plan.banks) == len(design.config.banks) == 2
