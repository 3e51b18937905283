"""Phase-locked loops: dividers in range and the greatest output, refusals, and a board whose clock comes from one."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path

import pytest
from board_copier import copier_design

from hw.boards import build
from hw.boards.pll import ECP5_PLL, PllError, PllRange, find_setting

SMALL = PllRange("PLL", (1e6, 50e6), (2e6, 50e6), (40e6, 100e6), (1e6, 60e6), 4, 12, 16)


@pytest.mark.parametrize("reference", [12e6, 25e6, 48e6, 100e6])
@pytest.mark.parametrize("wanted", [12.5e6, 40e6, 62.5e6, 77.7e6, 100e6, 133e6])
def test_settings_of_ecp5(reference: float, wanted: float) -> None:
    found = find_setting(ECP5_PLL, reference, wanted)
    assert 0.9 * wanted < found.output <= wanted
    assert found.output == pytest.approx(reference / found.reference_divider * found.feedback_divider)
    assert found.oscillator == pytest.approx(found.output * found.output_divider)
    assert 400e6 <= found.oscillator <= 800e6
    assert reference / found.reference_divider >= 3.125e6


@pytest.mark.parametrize(("wanted", "setting"), [(50e6, (1, 2, 8)), (37.5e6, (2, 3, 11)), (40e6, (5, 8, 10))])
def test_known_settings(wanted: float, setting: tuple[int, int, int]) -> None:
    """Of a ULX3S."""
    found = find_setting(ECP5_PLL, 25e6, wanted)
    assert (found.reference_divider, found.feedback_divider, found.output_divider) == setting


CLOCKS = [*product((3e6, 10e6, 47e6), (2.5e6, 7e6, 20e6, 33e6, 55e6))]


@pytest.mark.parametrize(("reference", "wanted"), CLOCKS)
def test_nothing_is_nearer(reference: float, wanted: float) -> None:
    """Against all settings of a small loop."""
    outputs = [reference / r * f for r, f, o in product(range(1, 5), range(1, 13), range(1, 17))
               if reference / r >= 2e6 and 40e6 <= reference / r * f * o <= 100e6 and reference / r * f <= wanted]
    if outputs:
        assert find_setting(SMALL, reference, wanted).output == pytest.approx(max(outputs))
    else:
        with pytest.raises(PllError, match="an PLL gives no clock up to"):
            find_setting(SMALL, reference, wanted)


@pytest.mark.parametrize(("reference", "wanted", "message"), [
    (5e6, 50e6, "a clock of 5 MHz is outside of the 8 to 400 MHz that an EHXPLLL takes"),
    (25e6, 500e6, "an EHXPLLL gives 10 to 400 MHz, not 500 MHz"),
    (11e6, 10.5e6, "an EHXPLLL gives no clock up to 10.5 MHz from 11 MHz"),
])
def test_clocks_that_there_cannot_be(reference: float, wanted: float, message: str) -> None:
    with pytest.raises(PllError, match=message):
        find_setting(ECP5_PLL, reference, wanted)


def test_a_board_at_another_clock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
                                  ) -> None:
    """The loop in its top, the constraint of its output, and the clock in the manifest."""
    monkeypatch.setattr(build, "load_design", lambda *sizes: copier_design())
    assert build.main(["--board", "ulx3s-85f", "--mhz", "40", "-o", str(tmp_path)]) == 0
    assert "core clock 40 MHz" in capsys.readouterr().out
    assert json.loads((tmp_path / "manifest.json").read_text())["clock_hz"] == 40e6
    text = (tmp_path / "top.v").read_text()
    _, instance = text.split("EHXPLLL #(")
    for parameter in ("CLKI_DIV(32'd5)", "CLKFB_DIV(32'd8)", "CLKOP_DIV(32'd10)"):
        assert parameter in instance
    assert "40000000" in (tmp_path / "top.lpf").read_text()


@pytest.mark.parametrize(("options", "message"), [
    (["--board", "de3", "--mhz", "40"], "board de3 (EP3SL150F1152C2) has no phase-locked loop that --mhz can set; ECP5 "
                                        "boards have"),
    (["--board", "ulx3s-85f", "--mhz", "40", "--divide", "2"], "--mhz and --divide both set the clock: give one"),
    (["--board", "ulx3s-85f", "--mhz", "0"], "an EHXPLLL gives 10 to 400 MHz, not 0 MHz"),
])
def test_boards_that_cannot(options: list[str], message: str, monkeypatch: pytest.MonkeyPatch,
                            capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(build, "load_design", lambda *sizes: copier_design())
    assert build.main(options) == 1
    assert message in capsys.readouterr().err
