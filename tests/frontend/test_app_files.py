"""Loading application files."""

from pathlib import Path

import pytest

from compiler.frontend.apps import applications
from compiler.frontend.loop_nest import load
from compiler.ir.program import ProgramError

APP = """\
from compiler.frontend.loop_nest import prog

def build(size=4):
    prg = prog("mine")
    prg.add_input("input")
    prg.add_output("output")
    op = prg.add_loop("x", 0, size).add_op("Copy")
    op.add_load("input", "x")
    op.add_store("output", "x")
    return prg.build()
"""


def test_applications_load_by_name_and_by_path(tmp_path: Path) -> None:
    assert {"brighten_blur", "gaussian", "conv_3_3", "cascade", "upsample", "gaussian_tiled"} <= set(applications())
    assert load("gaussian", width=9) == load(Path("apps/gaussian.py").resolve(), width=9)
    (tmp_path / "mine.py").write_text(APP)
    assert load(tmp_path / "mine.py", size=7).array("output").shape == (7,)
    assert load(str(tmp_path / "mine.py")).statement("Copy").location.file == str(tmp_path / "mine.py")  # type: ignore[union-attr]


def test_an_unknown_application_is_an_error_with_the_names_there_are() -> None:
    with pytest.raises(ProgramError) as error:
        load("gauss")
    assert str(error.value) == f"there is no application 'gauss'; there are: {', '.join(applications())}"


def test_a_missing_file_is_an_error() -> None:
    with pytest.raises(ProgramError) as error:
        load("nowhere/mine.py")
    assert str(error.value) == "there is no application file nowhere/mine.py"


@pytest.mark.parametrize("name", ["kernel.cpp", "kernel", "folder/kernel.C"])
def test_files_of_other_endings_are_told_which_there_are(tmp_path, monkeypatch, name):
    (tmp_path / "folder").mkdir()
    (tmp_path / name).write_text("")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ProgramError) as error:
        load(name)
    assert str(error.value) == (f"application file {name} needs the ending .py, for Python, .c, for C, or .sc, for "
                                "SA-C: rename it")


@pytest.mark.parametrize(
    ("text", "parameters", "message"),
    [
        (APP, {"sizes": 3}, "application 'mine' has no parameter 'sizes'; it has: size"),
        (APP, {"size": 0}, "loop 'x' (FILE:7): bound 0 must be at least 1"),
        ("x = 1\n", {}, "application FILE defines no function 'build'"),
        ("import nowhere\n", {}, "application FILE cannot be imported: ModuleNotFoundError: No module named 'nowhere'"),
        ("def build(:\n", {}, "application FILE cannot be imported: SyntaxError: invalid syntax (mine.py, line 1)"),
        ("def build():\n    return 1 / 0\n", {}, "application FILE: build failed: ZeroDivisionError: division by zero"),
        ("def build():\n    return 1\n", {}, "application FILE: build returned int, not a Program or ArrayProgram"),
    ],
)
def test_bad_files_are_one_clear_error(tmp_path: Path, text: str, parameters: dict[str, int], message: str) -> None:
    path = tmp_path / "mine.py"
    path.write_text(text)
    with pytest.raises(ProgramError) as error:
        load(path, **parameters)
    assert str(error.value) == message.replace("FILE", str(path))
