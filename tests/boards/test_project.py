"""Projects: boards of all families get one, the DE3 never gets a pin that the user did not give."""

import re

import pytest
from board_copier import copier_design

from hw.boards.pll import PLLS
from hw.boards.project import LinkOptions, default_divide, make_project
from hw.boards.registry import find_board
from hw.ecp5.pnr import KEEP_REGISTERS


@pytest.fixture(scope="module")
def design():
    return copier_design()


CONSTRAINTS = {"ecp5": "top.lpf", "machxo2": "top.lpf", "machxo3": "top.lpf", "ice40": "top.pcf", "gowin": "top.cst",
               "xilinx7": "top.xdc", "cyclone4": "top.qsf", "cyclone5": "top.qsf", "max10": "top.qsf"}
"""Where a family's pins are."""
TOOLS = {"ecp5": ["yosys", "nextpnr-ecp5", "ecppack"], "ice40": ["yosys", "nextpnr-ice40", "icepack"],
         "gowin": ["yosys", "nextpnr-himbaechel-gowin", "gowin_pack"], "xilinx7": ["vivado"],
         "machxo2": ["pnmainc", "ddtcmd"], "machxo3": ["pnmainc", "ddtcmd"]}
LOOPS = {"icebreaker": "SB_PLL40_PAD"}
"""Where it depends on the board's pin."""
QUARTUS = ["quartus_map", "quartus_fit", "quartus_asm", "quartus_sta"]


@pytest.mark.parametrize(("name", "mhz", "link"), [
    ("icebreaker", 24, True), ("arty-a7-35", 50, True), ("de10-nano", 40, True), ("tang-nano-9k", 36, True),
    ("ulx3s-85f", None, False), ("orangecrab-r0-2-25f", None, False), ("ecpix5-85", 60, True), ("versa-ecp5", 50, True),
    ("machxo3lsk", 36, True), ("stepmxo2", 24, False), ("de0nano", 40, False), ("de10-lite", 40, False)])
def test_boards_of_all_families(name, mhz, link, design):
    """Every port has the pin that the board's file gives it; the clock is that of a loop if there is one."""
    board = find_board(name)
    project = make_project(board, design, mhz=mhz, link=LinkOptions(400_000, 128) if link else None)
    top, pins = project.files["top.v"], project.files[CONSTRAINTS[board.family]]
    assert re.search(r"\bcopier\b.*system", top) and "copier.v" in project.files
    assert project.lights[0] == "passed" and project.clock_hz <= (mhz or 50) * 1e6
    assert project.checked == (() if link else ("copy",))
    assert "src =" not in "".join(project.files.values())
    for port in _ports(top):
        assert re.search(rf"\b{port}\b", pins), port
    platform = board.build_platform()
    clock = platform.resources[platform.default_clk, 0].ios[0]
    for pin in (clock.p if hasattr(clock, "p") else clock).names:
        assert re.search(rf"\b{platform.default_clk}_0__(io|p)\b.*\b(PIN_)?{pin}\b|\b(PIN_)?{pin}\b.*\b"
                         rf"{platform.default_clk}_0__(io|p)\b", pins)
    assert (mhz is None) or re.search(rf"\b{LOOPS.get(name, PLLS[board.family].name)} #", top)
    tools = [command[0] for command in project.commands]
    expected = TOOLS.get(board.family, QUARTUS)
    assert tools[: len(expected)] == expected
    if board.family == "gowin":  # nextpnr has no other way to know what the clock needs
        assert project.commands[1][-2:] == ["--freq", f"{mhz:.6g}"]
    assert project.warnings == [] or project.warnings[0].startswith("the board has no light for: ")


@pytest.mark.parametrize("name", ["orangecrab-r0-2-85f", "ulx3s-85f"])
def test_links_over_jtag_need_no_pins(name, design):
    """The FPGA has pins of its own for it; the clock that comes from there is constrained."""
    files = make_project(find_board(name), design, link=LinkOptions(memory_bytes=128, carrier="jtag")).files
    assert "JTAGG #(" in files["top.v"] and not [port for port in _ports(files["top.v"]) if "uart" in port]
    assert re.search(r'FREQUENCY NET "core.link.jtag_clock" 30000000.0 HZ;', files["top.lpf"])


def test_registers_are_kept(design):
    assert f"{KEEP_REGISTERS}\nsynth_ecp5 " in make_project(find_board("ulx3s-85f"), design).files["top.ys"]


def _ports(verilog):
    head = re.search(r"module top\(([^)]*)\)", verilog)
    assert head is not None
    return head[1].split(", ")


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
