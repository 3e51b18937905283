"""The command line of measurements: names, what is kept of earlier runs, errors in one line."""

import json

import pytest

from benchmarks.command import Measurement, reports_errors
from hw.errors import SluiceError

MEASUREMENT = Measurement("scales", "scales", "scale", ("major", "minor", "dorian"))


def parsed(monkeypatch, *arguments):
    monkeypatch.setattr("sys.argv", ["scales", *arguments])
    return MEASUREMENT.parse(MEASUREMENT.parser("Scales."))


def test_figures_of_others_are_kept_in_order(monkeypatch, tmp_path):
    output = tmp_path / "scales.json"
    ask = ("-o", str(output))
    MEASUREMENT.run(parsed(monkeypatch, "dorian", *ask), len, {"tuning": "equal"})
    MEASUREMENT.run(parsed(monkeypatch, "major", *ask), len, {"tuning": "equal"})
    written = json.loads(output.read_text())
    assert written.pop("python")
    assert written == {"tuning": "equal", "scales": {"major": 5, "dorian": 6}}
    assert list(written["scales"]) == ["major", "dorian"]
    MEASUREMENT.run(parsed(monkeypatch, *ask), str.upper, {})
    assert json.loads(output.read_text())["scales"] == {"major": "MAJOR", "minor": "MINOR", "dorian": "DORIAN"}


def test_areas_are_beside_other_figures(monkeypatch, tmp_path):
    output = tmp_path / "scales.json"
    for arguments in ((), ("minor", "--area"), ("major",), ("major", "--area")):
        monkeypatch.setattr("sys.argv", ["scales", *arguments, "-o", str(output)])
        MEASUREMENT.run_with_area("Scales.", len, str.upper)
    written = json.loads(output.read_text())
    assert written["scales"] == {"major": 5, "minor": 5, "dorian": 6}
    assert written["area"] == {"major": "MAJOR", "minor": "MINOR"}


def test_what_was_measured_before_an_error_is_written(monkeypatch, tmp_path, capsys):
    def measure(name: str) -> int:
        if name == "minor":
            raise SluiceError("minor is flat")
        return len(name)

    output = tmp_path / "scales.json"
    options = parsed(monkeypatch, "-o", str(output))
    assert reports_errors(MEASUREMENT.run)(options, measure, {}) == 1
    assert capsys.readouterr().err.splitlines()[-1] == "error: minor is flat"
    assert json.loads(output.read_text())["scales"] == {"major": 5}


def test_unknown_names(monkeypatch, capsys):
    with pytest.raises(SystemExit):
        parsed(monkeypatch, "lydian")
    assert capsys.readouterr().err.endswith("error: there is no scale lydian; there are: major, minor, dorian\n")
