"""Main memory that answers with an error or not at all, aborts, and starts while busy: every run ends with its name.

fpga and dataflow on both simulators, one build each; the array, which is large, on Icarus. Systolic arrays have the
same tests in `test_systolic_compiled.py` and `test_systolic_array.py`, the vector processor in `test_soc.py`.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

import compiler
from compiler.bind.dataflow.errors import DataflowError
from compiler.bind.fpga.errors import FpgaError
from compiler.cli.input_files import random_inputs
from compiler.frontend.c_scop import parse_scop
from compiler.ir.interpret import interpret
from hw.fabric.driver import RunFailure
from hw.sim.faults import JobError
from hw.sim.simulate import SimulationTimeout, run_job

SOURCE = """void sum(const int16_t a[8][8], const int16_t b[8][8], int16_t y[8][8]) {
#pragma scop
  for (int i = 0; i < 8; i++) for (int j = 0; j < 8; j++) y[i][j] = a[i][j] * 3 + b[i][j];
#pragma endscop
}"""

TARGETS = {"fpga": FpgaError, "dataflow": DataflowError}
MEMORY_ERRORS = {
    "fpga": {"read": "the run ended with error READ", "write": "the run ended with error WRITE"},
    "dataflow": {"read": "the run ended with a memory error while reading a stream",
                 "write": "the run ended with a memory error while writing a stream"},
}
LATENCY = 600
"""Cycles of memory that leave time for register accesses during a run."""


@cache
def design(target: str) -> Any:
    options = {"array": "4x4", "memory": "dual-port"} if target == "cgra" else {}
    return compiler.compile(parse_scop(SOURCE, "sum.c"), target=target, **options)


def inputs(target: str) -> dict[str, np.ndarray]:
    return random_inputs(design(target).program, 1)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("fault", ["read a", "read b 16", "write y", "write y 16"])
def test_an_error_of_one_beat_ends_the_run(target: str, fault: str, simulator: str) -> None:
    with pytest.raises(TARGETS[target]) as caught:
        design(target).simulate(inputs(target), simulator, inject=fault)
    assert str(caught.value) == MEMORY_ERRORS[target][fault.split()[0]]


HANGS = {"stuck ar": {"a", "b", "y"}, "stuck ar 1": None, "stuck r": {"a", "b", "y"}, "stuck r 20": None,
         "stuck aw": {"y"}, "stuck w": {"y"}, "stuck w 5": {"y"}, "stuck b": {"y"}}
"""Streams that are not complete: where words of both inputs are under way it depends on the target which these are."""


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("fault", HANGS)
def test_the_watchdog_ends_a_run_that_hangs(target: str, fault: str, simulator: str) -> None:
    """Whatever channel comes to rest; the message names what is not complete."""
    with pytest.raises(TARGETS[target]) as caught:
        design(target).simulate(inputs(target), simulator, inject=fault, watchdog=500)
    begin, end = "the run ended with error WATCHDOG: nothing moved; streams ", " have words left to move"
    message = str(caught.value)
    assert message.startswith(begin) and message.endswith(end)
    found = {name.split("_")[-1] for name in message.removeprefix(begin).removesuffix(end).split(", ")}
    assert found == HANGS[fault] or (HANGS[fault] is None and {"y"} < found)


@pytest.mark.parametrize("target", TARGETS)
def test_without_a_watchdog_the_simulator_gives_up(target: str) -> None:
    """Off is the reset value; a hang is then found by the limit of the simulation, which says what it knows."""
    with pytest.raises(SimulationTimeout, match=r"streams \w*b, \w*a, \w*y have words left to move; memory does not"):
        design(target).simulate(inputs(target), "icarus", inject="stuck ar", watchdog=0)


@pytest.mark.parametrize("target", TARGETS)
def test_a_watchdog_lets_slow_runs_end(target: str, simulator: str) -> None:
    """Memory that takes its time is no hang: every answer counts."""
    executable, data = design(target).executable, inputs(target)
    for limit, ends in ((LATENCY + 100, True), (LATENCY - 100, False)):
        job = executable.job(data, simulator, seed=1, stall=None)
        setting = (executable.registers.address("WATCHDOG"), limit)
        job = replace(job, latency=LATENCY, writes=[*job.writes[:-1], setting, job.writes[-1]])
        if ends:
            assert np.array_equal(executable.result(run_job(job), simulator).outputs["y"],
                                  interpret(design(target).program, data)["y"])
        else:
            with pytest.raises(TARGETS[target], match="error WATCHDOG"):
                executable.result(run_job(job), simulator)


def run_commands(target: str, simulator: str, *commands: tuple[str, int]) -> tuple[dict[str, Any], bytes]:
    """Status and output of a run with slow memory. `commands` after its start: a field of CONTROL that is set, or idle
    accesses, so many times."""
    executable = design(target).executable
    registers = executable.registers
    job = executable.job(inputs(target), simulator, seed=1, stall=None)
    control = registers.address("CONTROL")
    words = {name: (control, registers.encode("CONTROL", **{name: 1})) for name in ("start", "clear")}
    words["idle"] = (registers.address("WATCHDOG"), 0)
    writes = [*job.writes, *(words[name] for name, number in commands for _ in range(number))]
    result = run_job(replace(job, writes=writes, latency=LATENCY))
    return registers.decode("STATUS", result.registers[job.reads[0]]), result.dumps[0]


@pytest.mark.parametrize("target", TARGETS)
def test_start_while_busy_is_ignored_and_flagged(target: str, simulator: str) -> None:
    status, output = run_commands(target, simulator)
    assert (status["done"], status["busy"], status["start_ignored"], status["error"]) == (1, 0, 0, 0)
    again, same = run_commands(target, simulator, ("idle", 3), ("start", 1))
    assert (again["done"], again["busy"], again["start_ignored"], again["error"]) == (1, 0, 1, 0)
    assert same == output
    cleared, _ = run_commands(target, simulator, ("start", 1), ("idle", 800), ("clear", 1), ("start", 1))
    assert cleared["start_ignored"] == 0


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("delay", [0, 1, 5, 40])
def test_clear_aborts_a_run_and_the_next_one_is_right(target: str, delay: int, simulator: str) -> None:
    status, output = run_commands(target, simulator, ("idle", delay), ("clear", 1))
    assert (status["done"], status["busy"], status["error"].name) == (1, 0, "ABORTED")
    assert output == bytes(len(output))
    status, output = run_commands(target, simulator, ("idle", delay), ("clear", 1), ("idle", 300), ("start", 1))
    expected = interpret(design(target).program, inputs(target))["y"]
    assert (status["done"], status["busy"], status["error"]) == (1, 0, 0)
    assert output == expected.astype("<i2").tobytes()


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("register", ["IN0_ADDRESS", "OUT0_ADDRESS"])
def test_an_array_beyond_the_last_address_is_refused(target: str, register: str, simulator: str) -> None:
    """Where it ends with the last byte of memory it is not: then memory, which is smaller here, reports an error."""
    executable, data = design(target).executable, inputs(target)
    area, place = 8 * 8 * 2, executable.registers.address(register)
    for address, error in (((1 << 32) - area + 8, "ADDRESS"), ((1 << 32) - area, register[:2])):
        job = executable.job(data, simulator, seed=1, stall=None)
        result = run_job(replace(job, writes=[*job.writes[:-1], (place, address), job.writes[-1]]))
        status = executable.registers.decode("STATUS", result.registers[job.reads[0]])
        assert (status["done"], status["busy"]) == (1, 0)
        assert status["error"].name == {"IN": "READ", "OU": "WRITE"}.get(error, error)


ARRAY = {
    "read a": "the run ended with error READ_RESPONSE (column", "write y": "the run ended with error WRITE_RESPONSE",
    "stuck ar": "the run ended with error WATCHDOG", "stuck r {}": "the run ended with error WATCHDOG (column",
    "stuck w": "the run ended with error WATCHDOG (column", "stuck b": "the run ended with error WATCHDOG (column",
}


@pytest.mark.parametrize("fault", ARRAY)
def test_the_array_ends_with_a_named_error(fault: str) -> None:
    """A hang while the configuration is read concerns no bank."""
    with pytest.raises(RunFailure) as caught:
        design("cgra").simulate(inputs("cgra"), "icarus", inject=fault.format(len(design("cgra").image) // 8 + 4))
    assert str(caught.value).startswith(ARRAY[fault])


@pytest.mark.parametrize(("fault", "message"), [
    ("read y", "met no beat of the run"), ("write y 17", "met no beat of the run"),
    ("read c", "memory has the arrays a, b, y, not c"), ("a 3", "is none of 'read ARRAY"),
])
def test_faults_that_a_run_does_not_meet(fault: str, message: str) -> None:
    with pytest.raises(JobError, match=message):
        design("fpga").simulate(inputs("fpga"), "icarus", inject=fault)
    with pytest.raises(JobError, match="the watchdog's limit is -1 cycles, outside 0 to 4294967295"):
        design("fpga").simulate(inputs("fpga"), "icarus", watchdog=-1)
