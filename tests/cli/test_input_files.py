"""Inputs of a program from files: images and .npy arrays, one or several, and every way to get them wrong."""

from __future__ import annotations

import random
import re
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from compiler.bind.cgra.design import CgraDesign
from compiler.bind.design import InputError, Run
from compiler.cli.input_files import load_array, read_inputs
from compiler.cli.main import main
from compiler.cli.output_files import output_paths, write_outputs
from compiler.frontend.apps import load
from compiler.frontend.loop_nest import prog
from compiler.ir.interpret import interpret
from compiler.ir.program import Program
from compiler.ir.types import Int

BLEND = """
from compiler.frontend.loop_nest import prog
from compiler.ir.types import Int

def build():
    prg = prog("blend")
    prg.add_input("front", type=Int(8, False))
    prg.add_input("back", type=Int(8, False))
    prg.add_output("out", type=Int(8, False))
    op = prg.add_loop("y", 0, 4).add_loop("x", 0, 6).add_op("Blend")
    op.add_function(lambda a, b: (a >> 1) + (b >> 1))
    op.add_load("front", "x", "y")
    op.add_load("back", "x", "y")
    op.add_store("out", "x", "y")
    return prg.build()
"""
INPUTS = "front (4x6 uint8), back (4x6 uint8)"


@pytest.fixture
def blend(tmp_path: Path) -> str:
    """The file of a program with two images."""
    path = tmp_path / "blend.py"
    path.write_text(BLEND)
    return str(path)


def line() -> Program:
    """out[x] = in[x], 5 words: an input that is no image."""
    prg = prog("line")
    prg.add_input("in", type=Int(16, True))
    prg.add_output("out", type=Int(16, True))
    op = prg.add_loop("x", 0, 5).add_op("Copy")
    op.add_load("in", "x")
    op.add_store("out", "x")
    return prg.build()


def message(program: Program, *given: str) -> str:
    with pytest.raises(InputError) as error:
        read_inputs(program, given)
    assert "\n" not in str(error.value)
    return str(error.value)


def saved(path: Path, data: np.ndarray) -> str:
    np.save(path, data, allow_pickle=data.dtype == object)
    return str(path)


def test_images_and_arrays_by_name(blend: str, tmp_path: Path) -> None:
    picture = tmp_path / "a=b.png"
    Image.new("L", (10, 9), 200).save(picture)
    numbers = np.arange(24).reshape(4, 6)
    back = saved(tmp_path / "back.npy", numbers)
    found = read_inputs(load(blend), [f"back={back}", f"front={picture}"])
    assert (found["front"] == 200).all()
    assert found["front"].shape == (4, 6)
    np.testing.assert_array_equal(found["back"], numbers)


def test_the_only_image_needs_no_name(tmp_path: Path) -> None:
    program = load("gaussian", width=6, height=4)
    numbers = np.arange(24, dtype=np.uint16).reshape(4, 6)
    path = saved(tmp_path / "x.NPY.npy", numbers)
    for text in (path, f"input={path}"):
        np.testing.assert_array_equal(read_inputs(program, [text])["input"], numbers)
    assert read_inputs(program, [])["input"].shape == (4, 6)


def test_values_of_any_sign_and_integer_type(tmp_path: Path) -> None:
    for kind in (np.int8, np.int16, np.int64, ">i4"):
        path = saved(tmp_path / "in.npy", np.array([-5, 0, 1, 100, -128], dtype=kind))
        assert read_inputs(line(), [f"in={path}"])["in"].tolist() == [-5, 0, 1, 100, -128]


def test_names(blend: str, tmp_path: Path) -> None:
    program = load(blend)
    assert message(program) == (
        f"program blend needs more inputs: {INPUTS}; add --input front=FILE --input back=FILE, or --random SEED")
    path = saved(tmp_path / "x.npy", np.zeros((4, 6), int))
    assert message(program, f"back={path}") == (
        "program blend needs more inputs: front (4x6 uint8); add --input front=FILE, or --random SEED")
    assert message(program, path) == f"which input is {path}? Write NAME=FILE; program blend has: {INPUTS}"
    assert message(program, f"middle={path}") == f"program blend has no input 'middle'; it has: {INPUTS}"
    assert message(program, f"back={path}", "back=y.npy") == f"input back is given twice: {path} and y.npy"
    assert message(program, "back=") == "input back needs the name of a file: back=FILE"
    assert message(line()) == "program line needs more inputs: in (5 int16); add --input in=FILE, or --random SEED"
    assert message(line(), "x.png") == "which input is x.png? Write NAME=FILE; program line has: in (5 int16)"


def test_data_that_do_not_fit(tmp_path: Path) -> None:
    path = tmp_path / "in.npy"
    given = f"in={path}"
    assert message(line(), given) == f"there is no file {path}"
    assert message(line(), "in=x.png") == (
        "input in has 1 dimensions and cannot be an image such as x.png; give a .npy file")
    saved(path, np.zeros(4, int))
    assert message(line(), given) == "input in has shape (4,), the program needs (5,)"
    saved(path, np.zeros(5))
    assert message(line(), given) == "input in holds float64, the program needs integers (int16)"
    saved(path, np.array([0, 0, 1 << 15, 0, 0]))
    assert message(line(), given) == "input in holds 32768 at (2,), outside the range of int16"


def test_files_that_are_no_arrays(tmp_path: Path) -> None:
    path = tmp_path / "in.npy"
    found = []
    for content in (b"", b"text", b"\x93NUMPY", b"\x93NUMPY\x01\x00\xff\xffx", b"PK\x03\x04"):
        path.write_bytes(content)
        found.append(message(line(), f"in={path}"))
    saved(path, np.array([1, "a", None, {}, 3], dtype=object))
    found.append(message(line(), f"in={path}"))
    path.unlink()
    path.mkdir()
    found.append(message(line(), f"in={path}"))
    assert found[-1].endswith("Is a directory")
    for text in found:
        assert re.match(rf"{re.escape(str(path))} cannot be read as a \.npy array: \S", text)


def test_no_damage_to_an_array_file_is_more_than_one_line(tmp_path: Path) -> None:
    """Headers are read from the file: whatever they claim, no objects are made and no memory is taken."""
    path = tmp_path / "in.npy"
    good = Path(saved(path, np.arange(5))).read_bytes()
    chosen = random.Random(1)
    for _ in range(400):
        damaged = bytearray(good)
        for _ in range(chosen.randint(1, 3)):
            damaged[chosen.randrange(len(good))] = chosen.randrange(256)
        path.write_bytes(bytes(damaged[: chosen.choice([len(good), chosen.randrange(len(good))])]))
        try:
            load_array(path)
        except InputError as error:
            assert "\n" not in str(error)
    claim = good.replace(b"(5,)", b"(99999999999999,)").ljust(len(good) + 14)
    path.write_bytes(claim)
    assert "cannot be read as a .npy array" in message(line(), f"in={path}")


def test_the_command_line_runs_a_program_of_two_images(blend: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                                       capsys: pytest.CaptureFixture[str]) -> None:
    seen: list[dict[str, np.ndarray]] = []

    def simulate(self: CgraDesign, inputs: dict[str, np.ndarray], simulator: str, **_: object) -> Run:
        seen.append(inputs)
        return Run(interpret(self.program, inputs), self.predicted_cycles, 0, 9, simulator, 9, 0.5, 0.0)

    monkeypatch.setattr(CgraDesign, "simulate", simulate)
    front = saved(tmp_path / "front.npy", np.full((4, 6), 100))
    back = saved(tmp_path / "back.npy", np.full((4, 6), 50))
    output, report = tmp_path / "out.png", tmp_path / "report"
    assert main((blend, "--array", "4x4", "--input", f"front={front}", "--input", f"back={back}",
                 "--output", str(output), "--report", str(report))) == 0
    assert {name: set(data.ravel().tolist()) for name, data in seen[0].items()} == {"front": {100}, "back": {50}}
    assert (np.asarray(Image.open(output)) == 75).all()
    assert (report / "comparison.png").stat().st_size
    assert main((blend, "--array", "4x4")) == 1
    assert capsys.readouterr().err == (
        f"error: program blend needs more inputs: {INPUTS}; add --input front=FILE --input back=FILE, "
        "or --random SEED\n")


def test_random_inputs_take_the_place_of_files(blend: str, tmp_path: Path) -> None:
    program = load(blend)
    back = saved(tmp_path / "back.npy", np.full((4, 6), 9))
    found = read_inputs(program, [f"back={back}"], seed=3)
    assert set(found["back"].ravel().tolist()) == {9}
    np.testing.assert_array_equal(found["front"], read_inputs(program, [], seed=3)["front"])
    assert (found["front"] != read_inputs(program, [], seed=4)["front"]).any()


PLANES = """
from compiler.frontend.loop_nest import prog
from compiler.ir.types import Int

def build():
    prg = prog("swap")
    prg.add_input("picture", shape=(4, 6, 3), type=Int(8, False))
    prg.add_output("red", type=Int(8, False))
    prg.add_output("copy", type=Int(8, False))
    y = prg.add_loop("y", 0, 4)
    x = y.add_loop("x", 0, 6)
    op = x.add_op("Red")
    op.add_load("picture", "0", "x", "y")
    op.add_store("red", "x", "y")
    op = x.add_loop("c", 0, 3).add_op("Copy")
    op.add_load("picture", "c", "x", "y")
    op.add_store("copy", "c", "x", "y")
    return prg.build()
"""


def test_colour_images_in_and_several_outputs_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An input of shape (height, width, 3) takes a colour image; every output goes to its own file."""
    app = tmp_path / "planes.py"
    app.write_text(PLANES)
    pixels = np.random.default_rng(0).integers(0, 256, (4, 6, 3)).astype(np.uint8)
    Image.fromarray(pixels).save(tmp_path / "in.png")
    program = load(str(app))
    inputs = read_inputs(program, [str(tmp_path / "in.png")])
    np.testing.assert_array_equal(inputs["picture"], pixels)
    paths = output_paths(program, [f"copy={tmp_path / 'copy.png'}", str(tmp_path / "red.npy")])
    write_outputs(paths, interpret(program, inputs))
    np.testing.assert_array_equal(np.asarray(Image.open(tmp_path / "copy.png")), pixels)
    np.testing.assert_array_equal(load_array(tmp_path / "red.npy"), pixels[:, :, 0])
    with pytest.raises(InputError, match=r"channels of a colour image have 8 bits, and the output has values from 0"):
        write_outputs({"copy": tmp_path / "x.png"}, {"copy": np.full((4, 6, 3), 256) * (np.arange(3) > 0)})
    assert read_inputs(load(str(app)), [])["picture"].shape == (4, 6, 3)


@pytest.mark.parametrize(("given", "wanted"), [
    (["none=x.png"], "program planes has no output 'none'; it has: red, copy"),
    (["x.png", "red=y.png"], "output red is given twice: x.png and y.png"),
    (["copy="], "output copy needs the name of a file: copy=FILE"),
    (["copy=x.xyz"], "cannot write an image as x.xyz: its suffix is none of an image format; take a .png"),
])
def test_wrong_outputs(tmp_path: Path, given: list[str], wanted: str) -> None:
    app = tmp_path / "planes.py"
    app.write_text(PLANES.replace("swap", "planes"))
    with pytest.raises(InputError) as error:
        output_paths(load(str(app)), given)
    assert str(error.value) == wanted
