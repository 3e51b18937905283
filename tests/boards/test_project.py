"""Projects: every board gets one, the DE3 never gets a pin that the user did not give."""

import re

import pytest
from board_copier import copier_design

from hw.boards.project import default_divide, make_project
from hw.boards.registry import boards, find_board
from hw.ecp5.pnr import KEEP_REGISTERS


@pytest.fixture(scope="module")
def design():
    return copier_design()


@pytest.mark.parametrize("name", sorted(boards()))
def test_every_board(name, design):
    project = make_project(find_board(name), design)
    text = "".join(project.files.values())
    assert "module top(" in project.files["top.v"]
    assert "copier.v" in project.files
    assert re.search(r"\bcopier\b.*system", project.files["top.v"])
    assert project.lights[0] == "passed"
    assert project.checked == ("copy",)
    assert project.clock_hz <= 50e6
    assert "src =" not in text
    if name != "de3":
        located = re.findall(r'LOCATE COMP "(\w+)[\[\d\]]*"', project.files["top.lpf"])
        assert set(located) == set(_ports(project.files["top.v"]))
        assert [command[0] for command in project.commands][:3] == ["yosys", "nextpnr-ecp5", "ecppack"]
        assert f"{KEEP_REGISTERS}\nsynth_ecp5 " in project.files["top.ys"]
        assert project.warnings == [] or project.warnings[0].startswith("the board has no light for: ")


def _ports(verilog):
    return re.search(r"module top\(([^)]*)\)", verilog)[1].split(", ")


def test_same_inputs_same_bytes(design):
    first, second = (make_project(find_board("de3"), design) for _ in range(2))
    assert first.files == second.files


def test_de3_without_pins_is_virtual(design):
    project = make_project(find_board("de3"), design)
    settings = project.files["top.qsf"]
    assert "set_location_assignment" not in settings
    assert re.findall(r'VIRTUAL_PIN ON -to "(\w+)"', settings) == [
        f"{port}_0__io" for port in ("reset", "passed", "error", "busy", "done", "heartbeat")
    ]
    assert "set_global_assignment -name DEVICE EP3SL150F1152C2" in settings
    assert 'create_clock -name "clk50_0__io" -period 20.0 [get_ports "clk50_0__io"]' in project.files["top.sdc"]
    # Virtual pins must not have a buffer, the clock's real pin has one.
    assert "altiobuf_out" not in project.files["top.v"]
    assert project.files["top.v"].count("altiobuf_in ") == 1
    assert project.virtual == ("reset", "passed", "error", "busy", "done", "heartbeat")
    assert project.unplaced == ("clk50",)
    assert project.warnings == [
        "not every pin is known (virtual pins: reset, passed, error, busy, done, heartbeat; "
        "pin left to the fitter: clk50): for analysis only, give the board's pin file with --pins"
    ]


def test_de3_with_a_pin_file(design, tmp_path):
    pins = tmp_path / "board.qsf"
    pins.write_text('set_location_assignment PIN_A1 -to clk50\nset_location_assignment PIN_B2 -to passed\n'
                    'set_instance_assignment -name IO_STANDARD "2.5 V" -to passed\n')  # fmt: skip
    project = make_project(find_board("de3"), design, pins=pins)
    settings = project.files["top.qsf"]
    assert 'set_location_assignment -to "clk50_0__io" PIN_A1' in settings
    assert 'set_location_assignment -to "passed_0__io" PIN_B2' in settings
    assert 'set_instance_assignment -to "passed_0__io" -name IO_STANDARD "2.5 V"' in settings
    assert settings.count("set_location_assignment") == 2
    assert project.files["top.v"].count("altiobuf_out ") == 1
    assert project.virtual == ("reset", "error", "busy", "done", "heartbeat")
    assert project.unplaced == ()


def test_active_low_light(design, tmp_path):
    pins = tmp_path / "board.qsf"
    pins.write_text("set_location_assignment PIN_A1 -to clk50\nset_location_assignment PIN_B2 -to L\n")
    from hw.boards.pins import Connection

    plain, inverted = (
        make_project(find_board("de3"), design, pins=pins, connections=[Connection("passed", "L", invert)])
        for invert in (False, True)
    )
    assert plain.files["top.v"] != inverted.files["top.v"]


@pytest.mark.parametrize(("clock", "divide"), [(12e6, 1), (50e6, 1), (50.1e6, 2), (100e6, 2), (125e6, 4)])
def test_default_divide(clock, divide):
    assert default_divide(clock) == divide


def test_divided_clock_is_constrained(design):
    project = make_project(find_board("ecpix5-85"), design)
    assert project.clock_hz == 50e6
    assert 'FREQUENCY NET "clock_divided" 50000000.0 HZ;' in project.files["top.lpf"]
    undivided = make_project(find_board("ecpix5-85"), design, divide=1)
    assert undivided.clock_hz == 100e6
    assert "clock_divided" not in undivided.files["top.lpf"]
