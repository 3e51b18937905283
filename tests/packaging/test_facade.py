"""The names of the package `sluice`, and its command."""

from __future__ import annotations

import ast
import inspect
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

import sluice
from compiler.frontend.apps import SHIPPED, load, shipped
from compiler.frontend.c_scop import load_c
from sluice.cli import main

ROOT = Path(__file__).parents[2]


def declared() -> dict[str, str]:
    """Names that type checkers see in the facade, and the modules that those come from."""
    tree = ast.parse(Path(sluice.__file__).read_text())
    block = next(node for node in tree.body if isinstance(node, ast.If))
    imports = [node for node in block.body if isinstance(node, ast.ImportFrom)]
    return {alias.name: node.module or "" for node in imports for alias in node.names}


def test_public_names_are_those_that_type_checkers_see():
    assert set(declared()) == set(sluice.__all__)
    for name, module in declared().items():
        source = import_module(module)
        expected = getattr(source, name) if hasattr(source, name) else import_module(f"{module}.{name}")
        assert getattr(sluice, name) is expected, name


def test_names_of_the_hardware_library_exist():
    for name in sluice.hardware.__all__:
        package = getattr(sluice.hardware, name)
        assert package.__all__
        for public in package.__all__:
            value = getattr(package, public)
            if inspect.isclass(value) or inspect.isfunction(value):
                assert value.__doc__, f"{name}.{public}"


def test_unknown_names_are_attribute_errors():
    with pytest.raises(AttributeError, match="module 'sluice' has no attribute 'compiled'"):
        sluice.compiled  # noqa: B018
    assert "compile" in dir(sluice)


def test_version_is_that_of_the_distribution():
    assert sluice.__version__ == tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]


def test_every_application_that_is_shipped_has_a_name():
    files = [path for path in (ROOT / "apps").glob("**/*") if path.suffix in (".py", ".c")]
    assert sorted(shipped().values()) == sorted(files)
    assert (ROOT / "apps").resolve() == SHIPPED
    assert load("systolic/mm") == load_c(ROOT / "apps" / "systolic" / "mm.c")


def test_list_names_what_the_commands_take(capsys):
    assert main(["list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in lines] == ["applications", "targets", "boards", "designs"]
    assert {"gaussian", "systolic/mm", "vector/fir"} <= set(lines[0].split(": ")[1].split(", "))


@pytest.mark.parametrize("command", ["compile", "build", "tune", "list"])
def test_help_of_a_command_names_it(command, capsys):
    with pytest.raises(SystemExit) as exit_:
        main([command, "--help"])
    assert exit_.value.code == 0
    assert f"usage: sluice {command} " in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [[], ["compiled"], [""], ["list", "boards"]])
def test_wrong_commands_end_with_status_2(arguments, capsys):
    with pytest.raises(SystemExit) as exit_:
        main(arguments)
    assert exit_.value.code == 2
    assert "usage: sluice" in capsys.readouterr().err


def test_commands_run(capsys):
    assert main(["compile", "fir", "--target", "fpga", "--simulator", "none"]) == 0
    assert main(["build", "--list"]) == 0
    assert main(["tune", "nothing"]) == 1
    assert "there is no application 'nothing'" in capsys.readouterr().err
