"""The command line of hw.build: files, manifest, and one line for whatever is wrong."""

import hashlib
import json

import pytest
from board_copier import copier_design

from hw.boards import build
from hw.boards.registry import boards
from hw.designs.registry import load_design
from hw.ecp5.pnr import Figures, PnrError, find_tool, place_and_route, read_report, run_tool


@pytest.fixture
def copier(monkeypatch):
    """The named design is the small copier, so that no array is built."""
    design = copier_design()
    monkeypatch.setattr(build, "load_design", lambda *sizes: design)


def test_writes_project_and_manifest(copier, tmp_path, capsys):
    assert build.main(["--board", "de3", "-o", str(tmp_path / "out")]) == 0
    written = {path.name for path in (tmp_path / "out").iterdir()}
    assert written == {"copier.v", "top.v", "top.qsf", "top.sdc", "top.srf", "build_top.sh", "manifest.json"}
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert manifest["board"] == "de3"
    assert manifest["device"] == "EP3SL150F1152C2"
    assert manifest["clock_hz"] == 50e6
    assert manifest["top"] == "top"
    assert manifest["self_check"] == ["copy"]
    assert manifest["virtual_pins"] == ["reset", "passed", "error", "busy", "done", "heartbeat"]
    assert set(manifest["files"]) == written - {"manifest.json"}
    for name, digest in manifest["files"].items():
        assert hashlib.sha256((tmp_path / "out" / name).read_bytes()).hexdigest() == digest
    out = capsys.readouterr().out
    assert out.startswith(
        f"{tmp_path}/out: 6 files and manifest.json, core clock 50 MHz\nnote: not every pin is known (virtual pins: "
    )


def test_default_place_and_repeatability(copier, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert build.main(["--board", "ulx3s_85f"]) == 0
    first = {path.name: path.read_bytes() for path in (tmp_path / "rtl_out/ulx3s-85f/copy").iterdir()}
    assert build.main(["--board", "ulx3s_85f"]) == 0
    assert {path.name: path.read_bytes() for path in (tmp_path / "rtl_out/ulx3s-85f/copy").iterdir()} == first


def test_list(capsys):
    assert build.main(["--list"]) == 0
    out = capsys.readouterr().out
    assert all(name in out for name in boards())
    assert "cgra" in out


def failure(capsys, *arguments):
    assert build.main(list(arguments)) == 1
    captured = capsys.readouterr()
    assert captured.err.count("\n") == 1
    return captured.err.removesuffix("\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--board", "de4"], "error: there is no board 'de4'; did you mean de3 or de0 or de0-cv or de1-soc?"),
        (["--design", "cgre"], "error: there is no design 'cgre'; did you mean cgra?"),
        (["--pnr"], "error: board de3 (EP3SL150F1152C2) has no free tools for --pnr; boards of these families "
                   "have: ecp5, ice40, gowin"),
        (["--array", "4by4"],
         "error: '4by4' is not the size of an array; write ROWSxCOLUMNS, as in 4x4 or 16x32"),
        (["--bank-words", "6"], "error: --bank-words is 6, must be a multiple of 4 from 4 to 65536"),
        (["--connect", "x"],
         "error: 'x' is not a connection; write PORT=NAME, or PORT=~NAME if the pin is active low"),
    ],
)  # fmt: skip
def test_errors_are_one_line(capsys, arguments, message):
    assert failure(capsys, *arguments) == message


def test_damaged_directory(capsys, tmp_path):
    (tmp_path / "manifest.json").write_text("{}")
    assert failure(capsys, "--design", str(tmp_path)) == (
        f"error: {tmp_path}/manifest.json: format is None, not 'sluice-design'"
    )


def test_unwritable_output(copier, capsys, tmp_path):
    (tmp_path / "file").write_text("")
    message = failure(capsys, "-o", str(tmp_path / "file"))
    assert message.startswith(f"error: cannot write {tmp_path}/file/")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--divide", "3"], "argument --divide: invalid choice: 3 (choose from 1, 2, 4, 8, 16)"),
        (["--nonsense"], "unrecognized arguments: --nonsense"),
    ],
)
def test_wrong_command_line(capsys, arguments, message):
    with pytest.raises(SystemExit) as stop:
        build.main(arguments)
    assert stop.value.code == 2
    assert capsys.readouterr().err == f"python -m hw.build: {message}\n"


REPORT = {
    "utilization": {
        "TRELLIS_COMB": {"used": 10, "available": 100},
        "TRELLIS_FF": {"used": 20, "available": 100},
        "DP16KD": {"used": 1, "available": 8},
        "MULT18X18D": {"used": 2, "available": 4},
    },
    "critical_paths": [
        {"from": "posedge a", "to": "posedge a", "path": [
            {"delay": 0.5, "from": {"cell": "counter[0]"}, "to": {"cell": "counter[0]"}},
            {"delay": 24.5, "from": {"cell": "counter[0]"}, "to": {"cell": "full"}},
        ]},
        {"from": "<async>", "to": "posedge a", "path": [
            {"delay": 99.0, "from": {"cell": "pin"}, "to": {"cell": "full"}},
        ]},
    ],
    "fmax": {"a": {"achieved": 80.0, "constraint": 25.0}, "b": {"achieved": 40.0, "constraint": 50.0}},
}


def test_read_report(tmp_path):
    path = tmp_path / "report.json"
    path.write_text(json.dumps(REPORT))
    figures = read_report(path)
    assert (figures.lut, figures.ff, figures.block_ram, figures.multipliers, figures.lut_ram) == (10, 20, 1, 2, 0)
    assert (figures.mhz, figures.target_mhz, figures.met) == (40.0, 50.0, False)
    assert figures.available["block_ram"] == 8
    assert figures.critical == "counter[0] to full"
    path.write_text("[]")
    with pytest.raises(PnrError, match=r"^nextpnr wrote no usable report: "):
        read_report(path)


def test_seed_and_placer_are_those_of_nextpnr(monkeypatch, tmp_path):
    tool = tmp_path / "tool"
    tool.write_text(f"#!/bin/sh\necho $@ > arguments\ncat > top.report.json << END\n{json.dumps(REPORT)}\nEND\n")
    tool.chmod(0o755)
    monkeypatch.setenv("NEXTPNR_ECP5", str(tool))
    assert place_and_route(tmp_path / "top.json", seed=3, placer="static").mhz == 40.0
    assert "--seed 3 --placer static " in (tmp_path / "arguments").read_text()
    place_and_route(tmp_path / "top.json")
    assert not {"--seed", "--placer"} & set((tmp_path / "arguments").read_text().split())


def test_what_cannot_fit_is_not_placed(copier, monkeypatch, capsys, tmp_path):
    """nextpnr, which would place for hours, is not even started."""
    cells = {f"f{number}": {"type": "TRELLIS_FF"} for number in range(24289)}
    (tmp_path / "netlist.json").write_text(json.dumps({"modules": {"top": {"cells": cells}}}))
    yosys = tmp_path / "yosys"
    yosys.write_text(f"#!/bin/sh\n[ $1 = -V ] || cp {tmp_path}/netlist.json top.json\n")
    yosys.chmod(0o755)
    monkeypatch.setenv("YOSYS", str(yosys))
    monkeypatch.setenv("NEXTPNR_ECP5", str(tmp_path / "nothing"))
    monkeypatch.setattr(build, "finish_netlist", lambda *arguments, **options: None)
    message = failure(capsys, "--board", "ulx3s-25f", "--pnr", "-o", str(tmp_path / "out"))
    assert message == "error: does not fit the LFE5U-25F-6BG381: needs 24289 flip-flops of 24288"
    assert not (tmp_path / "out").exists()


def test_missed_target_is_said_not_an_error():
    figures = Figures(1, 1, 0, 0, 0, 40.0, 50.0, {})
    assert build._clock_line(figures) == (
        "MHz: 40.00 (target 50.00, missed: the bitstream may not work at this clock, try a larger --divide)"
    )


@pytest.mark.parametrize(("tool", "extra"), [("ecppack", "pnr"), ("icepack", "pnr-ice40"),
                                           ("gowin_pack", "pnr-gowin")])
def test_missing_tool(tool, extra, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("hw.ecp5.pnr.sys.executable", str(tmp_path / "python"))
    with pytest.raises(PnrError, match=rf"^{tool} is not installed: type  pip install 'sluice\[{extra}\]'$"):
        find_tool(tool)


def test_failing_tool(monkeypatch, tmp_path):
    tool = tmp_path / "tool"
    tool.write_text("#!/bin/sh\necho hello\necho ERROR: too big\necho ERROR: second\nexit 1\n")
    tool.chmod(0o755)
    monkeypatch.setenv("YOSYS", str(tool))
    with pytest.raises(PnrError, match=r"^yosys failed: ERROR: too big$"):
        run_tool("yosys", [], tmp_path)


def test_load_design_refuses_another_array(tmp_path):
    from board_copier import IMAGE

    from hw.designs.directory import DesignError, write_design

    write_design(tmp_path, IMAGE)
    with pytest.raises(DesignError, match=r"^design copy is for a 1x1 array, not 4x4$"):
        load_design(str(tmp_path), "4x4", None)
    with pytest.raises(DesignError, match=r"^design copy has its own bank size; leave --bank-words out$"):
        load_design(str(tmp_path), None, 64)


@pytest.mark.parametrize(("options", "message"), [
    (["--board", "ulx3s-85f", "--baud", "9600"], "--baud is about --link, which is not given"),
    (["--board", "de3", "--link"], "board de3 has no serial line in its platform, which --link needs"),
    (["--board", "orangecrab-r0-2-25f", "--link"],
     "board orangecrab-r0-2-25f has no serial line in its platform, which --link needs: --link jtag goes over its JTAG "
     "pins"),
    (["--board", "icebreaker", "--link", "jtag"],
     "--link jtag needs an FPGA of these families: ecp5; board icebreaker has iCE40UP5K-SG48: take --link uart"),
    (["--board", "ulx3s-85f", "--link", "jtag", "--baud", "9600"],
     "--baud is about --link uart: the cable sets the clock of JTAG"),
    (["--board", "ulx3s-85f", "--link", "--baud", "10000000"],
     "a clock of 25 MHz serves 382 to 6.25e+06 bits per second, not 10000000"),
    (["--board", "ulx3s-85f", "--link", "--baud", "3000000"],
     "a clock of 25 MHz gives 3125000 bits per second for 3000000, more than 2 % off: take 3125000"),
    (["--board", "ulx3s-85f", "--link", "--baud", "0"], "a serial line has 1 or more bits per second, not 0"),
    (["--board", "ulx3s-85f", "--link", "--memory-bytes", "0"],
     "a link reaches 1 to 4294967295 bytes of memory, not 0"),
    (["--board", "ulx3s-85f", "--memory", "sdram"], "--memory is about --link, which is not given"),
    (["--board", "ulx3s-85f", "--link", "--sdram-chip", "W9825G6KH"],
     "--sdram-chip is about --memory sdram, which is not given"),
    (["--board", "ulx3s-85f", "--link", "--memory", "sdram", "--sdram-chip", "x"],
     "there is no SDRAM 'x' on record; known are IS42S16160G, "),
    (["--board", "ulx3s-85f", "--link", "--memory", "sdram", "--sdram-chip", "M12L64322A"],
     "board ulx3s-85f has 13 address and 16 data lines for its SDRAM, and M12L64322A has 11 and 32: name its chip with "
     "--sdram-chip"),
    (["--board", "ulx3s-85f", "--link", "--memory", "sdram", "--mhz", "80", "--baud", "1000000"],
     "SDRAM IS42S16160G is driven with up to 62.5 MHz, not 80 MHz: take a slower clock"),
    (["--board", "ulx3s-85f", "--link", "--memory", "sdram", "--memory-bytes", "40000000"],
     "SDRAM IS42S16160G has 33554432 bytes, not 40000000"),
    (["--board", "orangecrab-r0-2-25f", "--link", "--memory", "sdram"], "board orangecrab-r0-2-25f has no "),
])
def test_links_that_there_cannot_be(options, message, tmp_path, capsys):
    assert build.main([*options, "--array", "1x4", "--bank-words", "64", "-o", str(tmp_path)]) == 1
    assert message in capsys.readouterr().err
