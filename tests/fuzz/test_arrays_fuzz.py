"""The random search over programs of parallel arrays: what it checks, and that it counts."""

from __future__ import annotations

import pytest

from tests.fuzz import arrays


@pytest.mark.parametrize("target", ["interpreter", "fpga", "dataflow", "machine"])
def test_programs_are_checked(target: str) -> None:
    for seed in range(3):
        kind, reason = arrays._outcome(seed, target, False, 60)
        assert kind == "right", reason


def test_the_command_counts(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(*_: object) -> None:
        raise AssertionError("differs")
    monkeypatch.setattr(arrays, "check_target", wrong)
    assert arrays.main(["--count", "2", "--target", "fpga", "--rtl", "0"]) == 1
    assert "2 programs, 2 failures" in capsys.readouterr().out
