"""Shared units on the array: how many there are, that every damage to the multiplexers is caught, what cannot be."""

from __future__ import annotations

from functools import cache

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from shared_programs import alike, chain, shared_chains

import compiler
from compiler.bind.cgra.design import CgraDesign
from compiler.bind.cgra.mapping import ApplicationError, map_program
from compiler.bind.cgra.memories import CapacityError
from compiler.bind.cgra.operand_multiplexing import SharingError
from compiler.frontend.loop_nest import load, prog
from compiler.ir.program import Program
from compiler.passes import directives as transform
from compiler.sched.static.static_schedule import schedule_program
from compiler.sched.streams.streams import stage_streams
from hw.errors import SluiceError
from hw.memtile import MemTileSpec

STAGES = ("Reduce_f1", "Reduce_f2", "Reduce_output")
SHARE = f"share({', '.join(STAGES)})"
MEMORIES = ("pub", "dual-port")


@cache
def pyramid(memory: str, **options: str) -> CgraDesign:
    design = compiler.compile(load("gaussian_pyramid", size=16), memory=memory, array="8x8", **options)
    assert isinstance(design, CgraDesign)
    return design


@pytest.mark.parametrize("memory", MEMORIES)
def test_a_third_of_the_units_in_a_third_of_their_cycles(memory: str) -> None:
    shared = pyramid(memory, transform=SHARE)
    assert shared.resources["PEs"] == 4
    assert shared.choices["shared units"] == (f"{', '.join(STAGES)} share 4 PEs, 8 fewer, through 8 "
                                              "multiplexers in memory tiles")
    assert shared.occupancy == pytest.approx((64 + 16 + 4) / shared.predicted_cycles)


def test_the_compiler_finds_what_can_share() -> None:
    apart, found = pyramid("pub"), compiler.compile(load("gaussian_pyramid"), array="8x4", share="auto")
    assert apart.resources["PEs"] == 12 and apart.choices["shared units"] == "none"
    assert found.resources["PEs"] == 4 and found.choices["shared units"].startswith(", ".join(STAGES))
    assert isinstance(found, CgraDesign) and found.schedule.period == 4096


def built(program: Program) -> None:
    map_program(schedule_program(stage_streams(program, 0)), MemTileSpec())


def starts(first: int, second: int) -> Program:
    """Two sums that start from constants."""
    prg = prog("starts")
    prg.add_input("a", shape=(2, 4, 8))
    for name, value in (("b", first), ("c", second)):
        prg.add_output(name)
        start = prg.add_loop("y", 0, 4).add_loop("x", 0, 8).add_op(f"Start_{name}")
        start.add_function(lambda value=value: value)
        start.add_store(name, "x", "y")
        op = prg.add_loop("r", 0, 2).add_loop("y", 0, 4).add_loop("x", 0, 8).add_op(f"Add_{name}")
        op.add_function(lambda total, v: total + v)
        op.add_load(name, "x", "y")
        op.add_load("a", "x", "y", "r")
        op.add_store(name, "x", "y")
    return prg.build()


def test_what_cannot_share() -> None:
    program = chain(alike, [[(0, 0), (1, 1)], [(0, 0), (1, 1)]], [2, 2], 4)
    with pytest.raises(CapacityError, match="memories of kind 'dual-port-pe' are no multiplexers, as shared units "
                                            "need; use pub or dual-port"):
        compiler.compile(program, memory="dual-port-pe", array="4x4")
    copies = chain(lambda a, b: a, [[(0, 0), (1, 1)], [(0, 0), (1, 1)]], [2, 2], 4)
    with pytest.raises(ApplicationError, match="Stage0, Stage1 only move values: they have no units to share"):
        built(copies)


def test_sums_that_start_from_different_constants() -> None:
    program = transform.share(starts(1, 2), "Add_b", "Add_c")
    with pytest.raises(SharingError) as error:
        compiler.compile(program, array="4x4")
    assert str(error.value) == ("Add_b, Add_c cannot share units: operand 1 takes the constants 1, 2; only one can be "
                                "brought to it")
    assert isinstance(error.value, SluiceError)
    assert compiler.compile(transform.share(starts(3, 3), "Add_b", "Add_c"), array="4x4").resources["PEs"] == 2


@pytest.mark.parametrize("memory", MEMORIES)
def test_random_chains_are_mapped(memory: str) -> None:
    """Every compilation validates its own result against the program."""

    @settings(max_examples=5, deadline=None, database=None, phases=[Phase.explicit, Phase.generate],
              suppress_health_check=list(HealthCheck))
    @given(shared_chains())
    def run(program: Program) -> None:
        design = compiler.compile(program, memory=memory, array="8x4")
        assert isinstance(design, CgraDesign)
        (use,) = design.application.shared
        assert design.resources["PEs"] == use.units > 0
        assert use.saved == use.units * (len(program.statements) - 1)

    run()
