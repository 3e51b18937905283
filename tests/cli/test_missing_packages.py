"""A command in an environment without the packages that it needs says so in one line."""

import pytest

from hw.command import run_command


def test_a_package_that_is_not_installed(capsys: pytest.CaptureFixture[str]) -> None:
    def command() -> int:
        raise ModuleNotFoundError("No module named 'rich.console'", name="rich.console")

    assert run_command(command) == 1
    line = capsys.readouterr().err
    assert line.startswith("error: the Python package 'rich' is not installed for ") and line.count("\n") == 1
    assert "run `make` in the checkout" in line


def test_a_module_of_the_project_is_a_fault() -> None:
    def command() -> int:
        raise ModuleNotFoundError("No module named 'compiler.nothing'", name="compiler.nothing")

    with pytest.raises(ModuleNotFoundError):
        run_command(command)
