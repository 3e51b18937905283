"""Phase-locked loops: dividers in range and the greatest output, refusals, and a board whose clock comes from one."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from board_copier import copier_design

from hw.boards import build
from hw.boards.pll import ECP5_PLL, PLLS, PllError, PllRange, find_setting
from hw.boards.pll_cells import CELLS

SMALL = PllRange("PLL", (1e6, 50e6), (2e6, 50e6), (40e6, 100e6), (1e6, 60e6), range(1, 5), range(1, 13),
                 range(1, 17))


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


CRYSTALS = (12e6, 27e6, 100e6)


@pytest.mark.parametrize("family", PLLS)
def test_every_family(family: str) -> None:
    """Dividers in range, and no setting of all there are is nearer."""
    loop = PLLS[family]
    r, f, o = (np.array(dividers, float) for dividers in (
        loop.reference_dividers, loop.feedback_dividers, loop.output_dividers))
    for reference, wanted in product(CRYSTALS, (20e6, 33.3e6, 61e6)):
        step = reference / r
        step = step[(step >= loop.comparison[0]) & (step <= loop.comparison[1])][:, None, None]
        fed = step * f[None, :, None]
        oscillator = fed if loop.from_oscillator else fed * o
        output = fed / o if loop.from_oscillator else fed + 0 * o
        good = (oscillator >= loop.oscillator[0]) & (oscillator <= loop.oscillator[1]) & (output <= wanted + 1e-3)
        good &= (output >= loop.output[0]) & (output <= loop.output[1])
        found = find_setting(loop, reference, wanted)
        assert found.output == pytest.approx(np.where(good, output, 0).max())
        assert found.reference_divider in loop.reference_dividers and found.feedback_divider in loop.feedback_dividers
        assert found.output_divider in loop.output_dividers and found.loop == loop.name in CELLS
        product_ = reference / found.reference_divider * found.feedback_divider
        assert found.oscillator == pytest.approx(product_ * (1 if loop.from_oscillator else found.output_divider))
        assert found.output == pytest.approx(found.oscillator / found.output_divider)


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
    (["--board", "mercury", "--mhz", "40"], "board mercury (xc3s200a-4vq100) has no phase-locked loop that --mhz can "
                                            "set; boards of these families have: ecp5, "),
    (["--board", "ulx3s-85f", "--mhz", "40", "--divide", "2"], "--mhz and --divide both set the clock: give one"),
    (["--board", "ulx3s-85f", "--mhz", "0"], "an EHXPLLL gives 10 to 400 MHz, not 0 MHz"),
])
def test_boards_that_cannot(options: list[str], message: str, monkeypatch: pytest.MonkeyPatch,
                            capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(build, "load_design", lambda *sizes: copier_design())
    assert build.main(options) == 1
    assert message in capsys.readouterr().err
