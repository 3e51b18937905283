"""What the command line shows of passes."""

import pytest

from compiler.cli.main import main
from compiler.passes.registry import PASSES

BLUR = ("gaussian", "--set", "width=8", "--set", "height=8", "--simulator", "none")


def test_passes_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(["--list-passes"])
    lines = capsys.readouterr().out.splitlines()
    assert end.value.code == 0 and [line.split()[0] for line in lines] == list(PASSES)
    assert "normalize-loops              Iterators become the loops: in the order of execution, counting up" in lines


@pytest.mark.parametrize("target", ["cgra", "fpga"])
def test_the_program_after_a_pass_is_printed(target: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*BLUR, "--target", target, "--print-after", "pad-domains", "--time-passes"]) == 0
    printed = capsys.readouterr().out
    assert "// after pad-domains\nprogram" in printed
    assert "partition-arrays" in printed and "seconds" in printed


def test_all_passes_that_change_the_program_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*BLUR, "--print-after", "all"]) == 0
    printed = capsys.readouterr().out
    assert "// after expand-arrays\nprogram" in printed and "// after legalize-arrays" not in printed


@pytest.mark.parametrize(("arguments", "message"), [
    (("--print-after", "nothing"), "error: there is no pass 'nothing'; there are: directives"),
    (("--passes", "normalize-loops,"), "error: 'normalize-loops,' is no list of passes"),
    (("--target", "systolic", "--passes", "normalize-loops"), "error: target systolic has no option 'passes'"),
])
def test_wrong_passes_are_refused(arguments: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*BLUR, *arguments]) == 1
    assert "".join(capsys.readouterr()).startswith(message)
