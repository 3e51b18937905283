"""Forms of an application: what ends first is taken, of equals what is smaller; pragmas are followed."""

import numpy as np
import pytest

from compiler.bind.application_forms import FORMS, ChosenForm, choose_form, estimate_luts
from compiler.frontend.apps import sac_applications
from compiler.frontend.sac import SacProgram, load_sac, parse_sac, random_inputs
from compiler.frontend.sac.ddcf import interpret
from compiler.frontend.sac.passes import count_nodes
from compiler.frontend.sac.programs import run_application


def chosen(program: SacProgram, inputs: dict, target: str, **options) -> ChosenForm:
    """The form, which computes what the program does."""
    sized = program.with_extents({name: np.shape(value) for name, value in inputs.items() if np.ndim(value)})
    held = program.held(inputs)
    found = choose_form(sized, held, target, **options)
    groups = [placed.group for placed in found.placed.groups]
    wanted = interpret(program.module, program.main.name, held)
    assert all(map(np.array_equal, run_application(found.placed.application, groups, held), wanted))
    assert [form.outcome for form in found.tried].count("taken") == 1 and len(found.tried) == len(FORMS)
    return found


def taken(found: ChosenForm) -> str:
    return next(form.name for form in found.tried if form.outcome == "taken")


def test_line_buffers_between_loops_are_smaller_than_windows_that_overlap():
    program = load_sac(sac_applications()["sac/fused_pair"])
    inputs = {"A": np.random.default_rng(1).integers(0, 256, (12, 16))}
    found = chosen(program, inputs, "fpga")
    fused, separate = (next(form for form in found.tried if form.name == name) for name in ("fused", "not fused"))
    assert taken(found) == "not fused" and separate.luts < fused.luts and separate.cycles <= 1.02 * fused.cycles
    assert found.placed.groups[0].design.lanes > 1


def test_lanes_that_are_asked_for_are_taken():
    program = parse_sac("uint8[:] main (uint8 A[96]) return (for a in A return (array (a + 1)));")
    inputs = random_inputs(program, 1)
    assert chosen(program, inputs, "fpga", lanes=2).placed.groups[0].design.lanes == 2
    assert chosen(program, inputs, "fpga").placed.groups[0].design.lanes == 8


def test_pragmas_force():
    """The loop and its fringe, in spite of what is predicted."""
    program = load_sac(sac_applications()["sac/strip_max"])
    found = chosen(program, random_inputs(program, 1, 14), "fpga")
    assert any(note.split(": ")[1] == "stripmine" for note in found.notes), found.notes
    assert len(found.placed.application.fates) > len(load_sac(sac_applications()["sac/strip_max"]).main.graph.nodes)


def test_the_model_counts_operations_alone():
    def luts(value: str) -> int:
        program = parse_sac(f"uint8[:] main (uint8 A[9]) return (for a in A return (array ({value})));")
        return estimate_luts(program.module)
    assert luts("a") == luts("a << 1") == 0 and luts("a + a") == 8 and luts("a < 3 ? a : 1") == 16


SHORT = {
    "elements": ("uint8[:] main (uint8 A[9]) return (for a in A return (array (a + 7)));", 1),
    "a loop inside": ("""uint8[:] main (uint8 A[12]) {
        uint8 R[:] = for a in A {
            uint8 k = 0; uint16 x = a;
            uint8 n = while (x > 1 && k < 30) {
                next x = (x & 1) == 1 ? 3 * x + 1 : x >> 1; next k = k + 1;
            } return (final (k));
        } return (array (n));
    } return (R);""", 1),
    "a carried array": ("""uint8[:] main (uint8 A[30]) {
        uint8 P[:] = A;
        uint8 R[:] = for uint8 k in [3] {
            next P = for window W[3] in array_conperim (P, 1, 0) return (array (array_max (W)));
        } return (final (P));
    } return (R);""", 3),
    "constants": ("""uint16[:,:] main (uint8 A[7,8]) {
        uint8 K[3,3] = for uint4 i in [3] cross uint4 j in [3] return (array (i + 2 * j));
        uint16 R[:,:] = for window W[3,3] in A {
            uint16 s = for w in W dot k in K return (sum ((uint16)w * k));
        } return (array (s));
    } return (R);""", 1),
}


@pytest.mark.parametrize("name", SHORT)
def test_short_loops_are_on_hardware_and_a_design_each(name: str) -> None:
    text, designs = SHORT[name]
    program = parse_sac(text)
    placed = chosen(program, random_inputs(program, 3), "fpga").placed
    assert len(placed.groups) == designs and not placed.host


def test_loops_inside_and_of_constants_are_unrolled() -> None:
    module = parse_sac(SHORT["constants"][0]).optimised(["inline", "cycle_inner"])[0].module
    counts = count_nodes(module)
    assert counts["FORALL"] == 1 and counts["SUM_MANY"] == 1
