"""The machine of the thesis on the command line, and how deep it is stripmined."""

import pytest

from compiler.bind.window.stripes import DEPTHS, choose_stripes
from compiler.cli.main import main
from compiler.frontend.apps import sac_applications
from compiler.frontend.sac import load_sac, parse_sac

FILTER = "uint8[:,:] main (uint8 A[18,21]) return (for window W[1,3] in A return (array (array_max (W))));"


def test_the_command(capsys, tmp_path):
    (tmp_path / "p.sc").write_text(FILTER)
    assert main([str(tmp_path / "p.sc"), "--target", "window", "--random", "1", "--simulator", "icarus", "--explain",
                 "--option", "memories=2"]) == 0
    text = " ".join(capsys.readouterr().out.replace("│", " ").split())
    assert "equal to the interpreter yes" in text and "p on window machines with 2 memories" in text
    assert "taken" in text and "1 configurations 106.0 ms" in text


@pytest.mark.parametrize(("more", "reason"), [
    (["--lanes", "4"], "--lanes is no option of target window"),
    (["--option", "depth=4"], "--option depth: target window has the option memories (1 or 2)"),
    (["--option", "memories=3"], "--option memories=3: a window machine has 1 memory, or 2 with one for results")])
def test_options_that_it_does_not_have(capsys, tmp_path, more, reason):
    (tmp_path / "p.sc").write_text(FILTER)
    assert main([str(tmp_path / "p.sc"), "--target", "window", "--random", "1", *more]) != 0
    assert reason in " ".join(capsys.readouterr().err.split())


def test_stripes_are_as_deep_as_saves_cycles():
    """The first depth behind the taken one saves less than two percent; the words of the problem bound both."""
    program = parse_sac(FILTER).with_extents({"A": (18, 21)})
    found = choose_stripes(program)
    cycles = dict(found.tried)
    assert found.depth in DEPTHS and list(cycles.values())[-1] > 0.98 * cycles[found.depth]
    assert cycles[found.depth] < cycles[1]


def test_pragmas_force():
    strips = load_sac(sac_applications()["sac/max_window"]).with_extents({"Image": (25, 40)})
    assert choose_stripes(strips).depth is None
