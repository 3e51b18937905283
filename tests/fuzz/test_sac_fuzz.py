"""The random search over SA-C programs: what it checks, and that it counts."""

import pytest

from tests.fuzz import sac


@pytest.mark.parametrize("seed", range(4))
def test_programs_are_checked(seed):
    """Programs of seeds that have a result: gcc, interpreter and the programs of the loops agree."""
    kind, reason = sac._outcome(seed, "interpreter", False, 60)
    assert kind in ("right", "refused", "no result"), reason


def test_the_command_counts(capsys, tmp_path, monkeypatch):
    def wrong(*_):
        raise AssertionError("differs")
    monkeypatch.setattr(sac, "check_target", wrong)
    assert sac.main(["--count", "2", "--target", "interpreter", "--folder", str(tmp_path)]) == 1
    assert "2 programs, 2 failures" in capsys.readouterr().out and len(list(tmp_path.glob("test_sac_*.py"))) == 2
