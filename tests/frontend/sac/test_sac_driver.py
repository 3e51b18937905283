"""The driver in C: the host's part by gcc, loops by what executes their programs, a configuration loaded once."""

import numpy as np
import pytest

from compiler.bind.applications import HARDWARE_PASSES
from compiler.bind.host_process import run_driver
from compiler.cli.main import main
from compiler.frontend.apps import sac_applications
from compiler.frontend.sac import SacProgram, load_sac, parse_sac, random_inputs
from compiler.frontend.sac.ddcf import interpret
from compiler.frontend.sac.programs import group_loops, run_by_interpreter, trace_application
from hw.errors import SluiceError

BETWEEN = """
uint8[:], uint32 main (uint8 A[70], fix12.4 k) {
    uint8 B[:] = for a in A return (array (a + 1));
    uint8 m = array_median (B);
    uint8 C[:], uint32 s = for b in B return (array ((uint8)(b * k) + m), sum ((uint32)b));
} return (C, s);
"""


def drive(program: SacProgram, inputs: dict, folder, execute=run_by_interpreter):
    sized = program.with_extents({name: np.shape(value) for name, value in inputs.items() if np.ndim(value)})
    held = program.held(inputs)
    application, _ = trace_application(sized.optimised(HARDWARE_PASSES)[0], held)
    groups = [application.group(numbers) for numbers in group_loops(application.graph, application.candidates()[0])]
    run = run_driver(application, groups, held, execute, folder)
    for one, other in zip(run.outputs, interpret(program.module, program.main.name, held), strict=True):
        assert one.dtype == other.dtype and np.array_equal(one, other)
    return run, groups


def test_loops_with_the_host_between(tmp_path):
    program = parse_sac(BETWEEN)
    run, groups = drive(program, random_inputs(program, 1), tmp_path)
    assert len(groups) == 2 and run.configurations == run.starts == [0, 1]


@pytest.mark.parametrize("name", ["gaussian_pyramid", "matrix_product", "motion"])
def test_applications(name, tmp_path):
    program = load_sac(sac_applications()[f"sac/{name}"])
    run, groups = drive(program, random_inputs(program, 1, 18), tmp_path)
    assert run.configurations == run.starts == list(range(len(groups)))


def test_hardware_that_fails(tmp_path):
    def fails(*_):
        raise SluiceError("no board")
    with pytest.raises(SluiceError, match="no board"):
        drive(parse_sac(BETWEEN), random_inputs(parse_sac(BETWEEN), 1), tmp_path, fails)


def test_the_command_writes_and_runs_it(capsys, tmp_path):
    (tmp_path / "p.sc").write_text(BETWEEN)
    assert main([str(tmp_path / "p.sc"), "--target", "fpga", "--random", "1", "--simulator", "icarus", "--host-c",
                 str(tmp_path / "driver.c"), "--passes", "all"]) == 0
    text = " ".join(capsys.readouterr().out.replace("│", " ").split())
    assert "configurations that the driver in C loaded 2" in text and "its results equal to the interpreter yes" in text
    assert "rts_execute_dfg();" in (tmp_path / "driver.c").read_text() and (tmp_path / "sac_rts_pipe.c").exists()
