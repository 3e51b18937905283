"""The command line: what it prints and writes, and one line on stderr for everything that can go wrong."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from compiler.bind.cgra.design import CgraDesign
from compiler.bind.design import InputError, Run
from compiler.bind.fpga.design import FpgaDesign
from compiler.bind.registry import TARGETS
from compiler.cli import images
from compiler.cli.main import main
from compiler.frontend.apps import applications
from compiler.ir.interpret import interpret
from compiler.ir.program import Array
from compiler.ir.types import Int
from hw.designs.directory import read_design
from hw.errors import SluiceError

SMALL = ("--set", "width=8", "--set", "height=8", "--array", "4x4")
NONE = ("--simulator", "none")


@pytest.fixture(autouse=True)
def wide_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables and messages as on a terminal of 120 columns, without colours."""
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("NO_COLOR", "1")


def fails(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """The only line on stderr of a run that fails with exit status 1 and prints nothing else."""
    assert main(arguments) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.endswith("\n")
    assert captured.err.count("\n") == 1
    assert captured.err.startswith("error: ")
    return captured.err[len("error: "):-1]


def png(path: Path, size: tuple[int, int] = (64, 64), mode: str = "L", value: int = 7) -> str:
    Image.new(mode, size, value).save(path)
    return str(path)


@pytest.mark.parametrize(("arguments", "message"), [
    (("nothing",), f"there is no application 'nothing'; there are: {', '.join(applications())}"),
    (("apps/nothing.py",), "there is no application file apps/nothing.py"),
    (("gaussian", "--target", "tpu"), f"there is no target 'tpu'; there are: {', '.join(TARGETS)}"),
    (("gaussian", "--array", "8by8"), "'8by8' is not the size of an array; write ROWSxCOLUMNS, as in 4x4 or 16x32"),
    (("gaussian", "--array", "0x4"), "'0x4' is not the size of an array; write ROWSxCOLUMNS, as in 4x4 or 16x32"),
    (("gaussian", "--array", "200x4"), "an array has 1x1 to 128x256 tiles, not 200x4"),
    (("gaussian", "--memory", "sram"), "there is no memory 'sram'; there are: pub, dual-port, dual-port-pe, buffet"),
    (("gaussian", "--half-words", "1000"), "half a bank cannot have 1000 words; it needs a power of two from 8 on"),
    (("gaussian", "--half-words", "-8"), "half a bank cannot have -8 words; it needs a power of two from 8 on"),
    (("gaussian", "--half-words", str(1 << 40)), "half a bank of 1099511627776 words is more on-chip memory than its "
     "budget (set SLUICE_MAX_BANK_WORDS above 1048576 to go on)"),
    (("gemm", "--half-words", "64"), "array a, which statement 'Accumulate_0' (apps/gemm.py:42) reads: a tile of 4096 "
     "words does not fit the global buffer's 64 words per half; add tile loops around all statements"),
    (("gaussian", "--fusion-level", "3"), "fusion level 3 does not exist: the deepest loop nest has 2 levels"),
    (("gaussian", "--fusion-level", "-1"), "fusion level -1 does not exist: the deepest loop nest has 2 levels"),
    (("gaussian", "--tile-depth", "2"), "2 tile loops were asked for, but statements share 1 independent outer loops "
     "(not counting the innermost)"),
    (("gaussian", "--tile-depth", "-1"), "-1 tile loops were asked for, but statements share 1 independent outer loops "
     "(not counting the innermost)"),
    (("gaussian", "--set", "size=4"), "application 'gaussian' has no parameter 'size'; it has: width, height, lanes"),
    (("gaussian", "--set", "path_or_name=4"),
     "application 'gaussian' has no parameter 'path_or_name'; it has: width, height, lanes"),
    (("gaussian", "--set", "width"), "--set width: write NAME=VALUE"),
    (("gaussian", "--set", "=4"), "--set =4: write NAME=VALUE"),
    (("gaussian", "--set", "wi dth=4"), "--set wi dth=4: write NAME=VALUE"),
    (("gaussian", "--option", "seed"), "--option seed: write NAME=VALUE"),
    (("gaussian", "--option", "lanes=2"),
     "target cgra has no option 'lanes'; there are: memory_latency, memory_bursts, memory, "
     "counter, bfloat16, array, fusion_level, tile_depth, half_words, "
     "seed, transform, share, loops, schedule, sums, hardware, passes"),
    (("gaussian", "--option", "seed=many"), "option seed is 'many', which is not of type int"),
    (("gaussian", "--option", "tile_depth=1.5"), "option tile_depth is 1.5, which is not of type int | None"),
    (("gaussian", "--set", "width=2"), None),
    (("gaussian", "--set", "width=wide"), None),
    (("gaussian", "--set", "width={[]: 1}"), None),
    (("gaussian", "--set", "width=((((1"), None),
    (("gaussian", "--set", "width=2.5"), None),
    (("gaussian", "--output", "x.png"), "--output needs a simulation, and --simulator none asks for none"),
    (("gaussian", "--waves"), "--waves needs a simulation, and --simulator none asks for none"),
    (("gaussian", "--stall-seed", "0"), "--stall-seed needs a simulation, and --simulator none asks for none"),
])
def test_a_wrong_request_is_one_line(capsys: pytest.CaptureFixture[str], arguments: Sequence[str],
                                     message: str | None) -> None:
    """Where the message is not ours (None), it is one line all the same, and names the application."""
    found = fails(capsys, *arguments, *NONE)
    if message is None:
        assert "gaussian" in found
    else:
        assert found == message


def test_an_array_that_is_too_small_says_what_was_needed(capsys: pytest.CaptureFixture[str]) -> None:
    assert fails(capsys, "cascade", "--array", "4x4", *NONE) == (
        "needs 16 PE tiles, 2 memory tiles, 2 streams; the 4x4 array has 12, 4, 4; most, 8 of the 16 PE tiles, are for "
        "statement 'Conv1' (apps/cascade.py:24); use --array 8x4")
    assert fails(capsys, "gaussian", "--array", "1x1", *NONE) == (
        "needs 10 PE tiles, 1 memory tiles, 2 streams; the 1x1 array has 1, 0, 1; most, 10 of the 10 PE tiles, are for "
        "statement 'Gaussian' (apps/gaussian.py:28); use --array 4x4")


def test_images_that_cannot_be_used(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    small = png(tmp_path / "small.png", (63, 70))
    assert fails(capsys, "gaussian", "--input", small, *NONE) == (
        f"{small} has 63x70 pixels; input input needs at least 64x64")
    assert fails(capsys, "gaussian", "--input", str(tmp_path / "none.png"), *NONE) == (
        f"there is no image {tmp_path}/none.png")
    assert fails(capsys, "gaussian", "--input", str(tmp_path), *NONE) == (
        f"image {tmp_path} cannot be read: Is a directory")
    text = tmp_path / "text.png"
    text.write_text("no picture")
    assert fails(capsys, "gaussian", "--input", str(text), *NONE) == f"{text} is not an image"
    noise = tmp_path / "noise.png"
    Image.fromarray(np.random.default_rng(0).integers(0, 256, (80, 80)).astype(np.uint8)).save(noise)
    noise.write_bytes(noise.read_bytes()[:2000])
    message = fails(capsys, "gaussian", "--input", str(noise), *NONE)
    assert message.startswith(f"image {noise} cannot be read: ")


def test_a_picture_of_which_only_the_middle_is_taken_is_said_to_be(capsys: pytest.CaptureFixture[str],
                                                                   tmp_path: Path) -> None:
    large, whole = png(tmp_path / "large.png", (80, 70)), png(tmp_path / "whole.png")
    assert main(["gaussian", "--input", large, "--target", "fpga", *NONE]) == 0
    assert f"note: of the 80x70 pixels of {large} input input is the middle 64x64\n" in capsys.readouterr().err
    assert main(["gaussian", "--input", whole, "--target", "fpga", *NONE]) == 0
    assert "note" not in capsys.readouterr().err


BYTES = """
from compiler.frontend.loop_nest import prog
from compiler.ir.types import Int

def build():
    prg = prog("{name}")
    prg.add_input("in", type=Int({width}, False))
    prg.add_output("out", type=Int({width}, False))
    op = prg.add_loop("y", 0, 8).add_loop("x", 0, 8).add_op("Copy")
    op.add_load("in", "x", "y")
    op.add_store("out", "x", "y")
    return prg.build()
"""


def program(path: Path, name: str = "copy", width: int = 8) -> str:
    path.write_text(BYTES.format(name=name, width=width))
    return str(path)


def test_pixels_must_fit_the_elements(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    app = program(tmp_path / "copy.py")
    deep = png(tmp_path / "deep.png", mode="I;16", value=300)
    assert fails(capsys, app, "--input", deep, "--array", "4x4", *NONE) == (
        f"{deep} has pixels up to 300, outside the range of uint8")
    wide = program(tmp_path / "wide.py", width=24)
    assert "array in holds uint24; it computes with uint24; the array target has 16-bit words" in fails(
        capsys, wide, *NONE)


def test_results_that_cannot_be_written_are_refused_before_the_run(capsys: pytest.CaptureFixture[str]) -> None:
    assert fails(capsys, "gaussian", "--output", "picture.xyz") == (
        "cannot write an image as picture.xyz: its suffix is none of an image format; take a .png")
    assert fails(capsys, "gaussian", "--output", "picture") == (
        "cannot write an image as picture: its suffix is none of an image format; take a .png")


@pytest.fixture
def quick_verilog(monkeypatch: pytest.MonkeyPatch) -> None:
    """Emission of the array takes seconds, and does not depend on the program."""
    ports = "".join(f"  {port};\n" for port in ("output [31:0] m_axi_araddr", "input [63:0] m_axi_rdata"))
    verilog = {"pe_tile.v": "module pe_tile(); endmodule\n",
               "cgra_system.v": f"module cgra_system(m_axi_araddr, m_axi_rdata);\n{ports}endmodule\n"}
    monkeypatch.setattr("compiler.bind.cgra.design.emit_system", lambda spec: verilog)


@pytest.mark.usefixtures("quick_verilog")
def test_a_report_that_cannot_be_written(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    taken = tmp_path / "taken"
    taken.write_text("")
    for option in ("--report", "-o"):
        message = fails(capsys, "gaussian", *SMALL, *NONE, option, str(taken))
        assert re.fullmatch(rf"cannot write {taken}(/\S+)?: \S.*", message)
    assert taken.read_text() == ""


def test_without_a_simulation_it_compiles_and_writes(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    report, out = tmp_path / "report [b]", tmp_path / "out"
    assert main(("gaussian", *SMALL, *NONE, "--report", str(report), "-o", str(out))) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    rows = dict(re.findall(r"│ (\S.*?) +│ (\S.*?) +│", captured.out))
    design = read_design(out)
    assert rows["unstalled cycles predicted"] == str(design.metadata["predicted_cycles"])
    assert rows["PEs"] == "10"
    assert rows["lower bound"] == "64"
    waited = design.metadata["predicted_start_to_done"]
    assert rows["start to done predicted (exact)"] == str(waited)
    assert rows["terms of the bound"] == "operations 64, transfers 16, dependences 0"
    assert rows["ratio to the bound"] == f"{waited / 64:.4f} (predicted)"
    assert rows["main memory"] == "64 bits, latency 20, 16 bursts"
    assert "equal to the reference" not in rows
    assert captured.out.splitlines()[-2:] == [f"Verilog and design directory: {out}", f"report: {report}/report.html"]
    assert [path.name for path in report.iterdir()] == ["report.html"]
    assert "<title>gaussian on a 4x4 array</title>" in (report / "report.html").read_text()
    assert (out / "rtl" / "pe_tile.v").exists()
    registers = {"rtl/registers.h", "rtl/registers.md", "rtl/registers.rdl", "component.xml", "host/gaussian.c"}
    files = set(json.loads((out / "manifest.json").read_text())["files"])
    assert files == {str(path.relative_to(out)) for path in out.rglob("*") if path.is_file()} - {"manifest.json"}
    assert registers < files
    assert all((out / name).stat().st_size for name in registers)
    assert design.outputs[0].crc32 is not None


def test_an_option_that_a_refusal_names_is_taken_as_it_is_written(capsys: pytest.CaptureFixture[str], tmp_path: Path
                                                                   ) -> None:
    """``true`` is no literal of Python."""
    source = tmp_path / "f.c"
    source.write_text("void f(const float x[9], float y[9]) { for (int i = 0; i < 9; i++) y[i] = x[i] + 1.5f; }")
    command = [str(source), "--target", "vector", "--simulator", "none"]
    assert main(command) == 1
    refused = capsys.readouterr().err.strip()
    assert refused.endswith("give the option float32 (float32=True, --option float32=true)")
    assert main([*command, "--option", "float32=true"]) == 0


@pytest.mark.usefixtures("quick_verilog")
def test_names_are_printed_as_they_are(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Names of programs are free; nothing in them is taken for markup."""
    app = program(tmp_path / "odd.py", name="[/red] a:smile:")
    assert main((app, "--array", "4x4", *NONE, "-o", str(tmp_path / "[/b]"))) == 0
    captured = capsys.readouterr()
    assert "[/red] a:smile: on the array" in captured.out
    assert f"Verilog and design directory: {tmp_path}/[/b]\n" in captured.out
    assert read_design(tmp_path / "[/b]").name == "__red__a_smile_"


class Broken(SluiceError):
    """A simulation that ends with an error."""


def simulated(design: CgraDesign, outputs: dict[str, np.ndarray]) -> Run:
    return Run(outputs, design.predicted_cycles, 3, 900, "verilator", 1000, 0.5, 0.0)


@pytest.fixture
def reference_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Simulation by the interpreter: the command line does not know the difference."""
    monkeypatch.setattr(CgraDesign, "simulate", lambda self, inputs, simulator, **_: simulated(
        self, interpret(self.program, inputs)))


@pytest.mark.usefixtures("reference_run")
def test_a_simulation_is_compared_and_written(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    output, report = tmp_path / "new" / "out.png", tmp_path / "report"
    photograph = png(tmp_path / "in.png", (9, 11))
    assert main(("gaussian", *SMALL, "--input", photograph, "--output", str(output), "--report", str(report))) == 0
    captured = capsys.readouterr()
    rows = dict(re.findall(r"│ (\S.*?) +│ (\S.*?) +│", captured.out))
    assert rows["equal to the reference"] == rows["predicted = simulated"] == "yes"
    assert rows["of these unstalled"] == f"{rows['unstalled cycles predicted']} (and 3 stalled)"
    assert rows["simulation speed"] == "2,000 cycles/s (build 0 s)"
    assert f"output output: {output}" in captured.out
    pixels = np.asarray(Image.open(output))
    assert pixels.shape == (6, 6)
    assert (pixels == 7 * 253 >> 8).all()
    assert sorted(path.name for path in report.iterdir()) == ["comparison.png", "report.html"]


def test_a_wrong_result_is_an_error_status(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CgraDesign, "simulate", lambda self, inputs, simulator, **_: simulated(
        self, {name: data + 1 for name, data in interpret(self.program, inputs).items()}))
    assert main(("gaussian", *SMALL)) == 1
    rows = dict(re.findall(r"│ (\S.*?) +│ (\S.*?) +│", capsys.readouterr().out))
    assert rows["equal to the reference"] == "NO"


def test_a_run_that_fails_loses_nothing(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch,
                                        tmp_path: Path) -> None:
    output, report, out = tmp_path / "out.png", tmp_path / "report", tmp_path / "out"
    png(output)
    report.mkdir()
    out.mkdir()
    (report / "report.html").write_text("the last one")
    (out / "manifest.json").write_text("the last one")
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}

    def broken(*_: object, **__: object) -> Run:
        raise Broken("the run [has] ended")

    monkeypatch.setattr(CgraDesign, "simulate", broken)
    everything = ("--output", str(output), "--report", str(report), "-o", str(out))
    assert fails(capsys, "gaussian", *SMALL, *everything) == "the run [has] ended"
    assert fails(capsys, "cascade", "--array", "4x4", *everything) == (
        "needs 16 PE tiles, 2 memory tiles, 2 streams; the 4x4 array has 12, 4, 4; most, 8 of the 16 PE tiles, are for "
        "statement 'Conv1' (apps/cascade.py:24); use --array 8x4")
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


@pytest.mark.usefixtures("reference_run")
def test_options_reach_the_simulation(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    seen: list[tuple[str, dict[str, object]]] = []

    def simulate(self: CgraDesign, inputs: dict[str, np.ndarray], simulator: str, **options: object) -> Run:
        seen.append((simulator, options))
        return simulated(self, interpret(self.program, inputs))

    monkeypatch.setattr(CgraDesign, "simulate", simulate)
    assert main(("gaussian", *SMALL)) == 0
    assert main(("gaussian", *SMALL, "--simulator", "icarus", "--stall-seed", "5", "--waves")) == 0
    assert seen[0] == ("verilator", {})
    assert (seen[1][0], seen[1][1]["waves"], seen[1][1]["seed"]) == ("icarus", True, 5)
    assert "stall" in seen[1][1]


# Pictures.


def test_the_middle_of_a_picture_is_taken() -> None:
    picture = np.arange(10 * 12).reshape(10, 12)
    plain = images.image_to_array(picture, Array("a", (4, 6), Int(16, False), "input"))
    assert (plain == picture[3:7, 3:9]).all()
    tiled = images.image_to_array(picture, Array("a", (6, 3, 2), Int(16, False), "input"))
    middle = picture[2:8, 3:9]
    for k in range(6):
        top, left = 3 * (k // 3), 2 * (k % 3)
        assert (tiled[k] == middle[top: top + 3, left: left + 2]).all()
    assert (images.to_picture(tiled) == middle).all()


@pytest.mark.parametrize(("values", "mode"), [((0, 255), "L"), ((0, 256), "I;16"), ((-1, 3), "I;16")])
def test_pictures_keep_their_values(tmp_path: Path, values: tuple[int, int], mode: str) -> None:
    path = tmp_path / "p.png"
    images.save_image(path, np.array([values, values]))
    with Image.open(path) as picture:
        assert picture.mode == mode
    assert images.load_image(path).tolist() == [[v & 0xFFFF for v in values]] * 2


def test_formats_that_cannot_hold_the_values(tmp_path: Path) -> None:
    with pytest.raises(InputError) as error:
        images.save_image(tmp_path / "p.jpg", np.array([[0, 256]]))
    assert str(error.value) == f"cannot write grey values of 16 bits as JPEG image {tmp_path}/p.jpg; take a .png"


def test_the_sample_is_a_photograph() -> None:
    assert images.sample_image().shape == (320, 320)


@pytest.mark.parametrize(("arguments", "message"), [
    (("--random", "-1"), "--random -1: a seed is 0 or a positive number"),
    (("--seed", "-3"), "--seed -3: a seed is 0 or a positive number"),
    (("--stall-seed", "-9"), "--stall-seed -9: a seed is 0 or a positive number"),
])
def test_seeds_are_not_negative(capsys, arguments, message):
    assert fails(capsys, "gaussian", *SMALL, *arguments) == message


@pytest.mark.parametrize("option", ["-o", "--report"])
def test_a_folder_has_a_name(capsys, option):
    with pytest.raises(SystemExit) as caught:
        main(("gaussian", *SMALL, *NONE, option, ""))
    assert caught.value.code == 2
    assert "needs the name of a folder" in capsys.readouterr().err


def test_compiling_needs_no_inputs(capsys, tmp_path):
    """A filter of a signal has no photograph to fall back on."""
    assert main(("fir", "--target", "fpga", *NONE, "-o", str(tmp_path / "fir"))) == 0
    assert read_design(tmp_path / "fir").name == "fir"
    assert "start to done predicted (model)" in capsys.readouterr().out


@pytest.mark.parametrize(("option", "setting"), [("--waves", "waves"), ("--stall-seed=1", "seed")])
def test_a_target_whose_simulations_lack_a_setting(capsys, monkeypatch, option, setting):
    """`Design.simulate` promises a simulator alone."""
    monkeypatch.setattr(FpgaDesign, "simulate", lambda self, inputs, simulator="verilator": None)
    assert fails(capsys, "gaussian", "--target", "fpga", *SMALL[:4], option) == (
        f"{option.partition('=')[0]}: simulations of target fpga have no setting '{setting}'")


def test_an_interrupted_run_ends_in_one_line(capsys, monkeypatch):
    def interrupt(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("compiler.cli.main.compile_program", interrupt)
    assert main(("gaussian", *SMALL, *NONE)) == 130
    assert capsys.readouterr().err == "interrupted\n"
