"""The model of the thesis' board gives the times that the thesis prints."""

from __future__ import annotations

import numpy as np
import pytest

from compiler.bind.window import WILDFORCE, Start, WindowApplication, link_board, place_on_windows
from compiler.frontend.sac import parse_sac

_IMAGE = 4 * 198 * 75
_MIDDLE = 4 * 197 * 75
_RESULT = 4 * 196 * 74


def stripes(count: int, rows: int, run_ms: float) -> list[Start]:
    """Starts for stripes of the fused loop: `rows` of the picture down, two less up."""
    return [Start("stripe", 4 * 75 * rows, 4 * 74 * (rows - 2), run_ms)] * count


@pytest.mark.parametrize(("starts", "printed_ms"), [
    ([Start("upper", _IMAGE, _MIDDLE, 14.25), Start("lower", _MIDDLE, _RESULT, 14.36)], 31.5),
    ([Start("fused", _IMAGE, _RESULT, 8.56)], 10.0),
    (stripes(196, 3, 0.102), 40.77), (stripes(98, 4, 0.125), 22.83), (stripes(65, 5, 0.130), 15.99)])
def test_printed_times(starts, printed_ms):
    """Section 7.4.3, with runs as long as printed: within 3 %, configurations left out, as there."""
    assert WILDFORCE.elapsed(starts).computing_ms == pytest.approx(printed_ms, rel=0.03)


def test_printed_transfers():
    pair = WILDFORCE.elapsed([Start("upper", _IMAGE, _MIDDLE, 0), Start("lower", _MIDDLE, _RESULT, 0)])
    fused = WILDFORCE.elapsed([Start("fused", _IMAGE, _RESULT, 0)])
    assert pair.transfer_ms == pytest.approx(2.86, rel=0.03) and fused.transfer_ms == pytest.approx(1.43, rel=0.03)
    assert pair.configuration_ms - fused.configuration_ms == 106


def test_the_same_starts_over_a_serial_line():
    """Ten bits for a byte, and an answer's time for each transfer; a model, as the other one."""
    fused = [Start("fused", _IMAGE, _RESULT, 0)]
    slow, fast = (link_board(baud).elapsed(fused) for baud in (1_000_000, 12_000_000))
    assert slow.transfer_ms == pytest.approx((_IMAGE + _RESULT) / 100, rel=0.01)
    assert fast.transfer_ms == pytest.approx(slow.transfer_ms / 12) and fast.configuration_ms == slow.configuration_ms


def test_a_loaded_configuration_is_not_loaded_again():
    names = ["a", "a", "b", "b", "a"]
    assert WILDFORCE.elapsed([Start(name, 0, 0, 0.0) for name in names]).configurations == 3
    assert WILDFORCE.elapsed([]).total_ms == 0


def test_bytes_of_an_application():
    """Arrays go down and results up in whole words; arguments are written one by one."""
    program = parse_sac("uint8[:,:] main (uint8 A[:,:]) return (\n"
                        "for window W[1,3] in A return (array (array_max (W))));")
    placed: WindowApplication = place_on_windows(program.with_extents({"A": (9, 21)}).optimised()[0])
    placed.simulate([np.zeros((9, 21), dtype=np.int64)], "icarus")
    (start,) = placed.starts(10.0)
    assert (start.bytes_down, start.bytes_up) == (4 * 9 * 6, 4 * 9 * 5)
    assert start.run_ms == placed.runs[0][1].cycles / 10_000
