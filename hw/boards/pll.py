"""Dividers of phase-locked loops: which clock comes nearest to the one that is wanted, from below.

A loop divides its reference, multiplies it up to an oscillator within its range, and divides that for its output.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hw.errors import SluiceError

__all__ = ["ECP5_PLL", "PLLS", "PllError", "PllRange", "PllSetting", "find_setting"]
_ROUNDING = 1e-9
"""Of quotients of frequencies."""


class PllError(SluiceError):
    """A clock that no setting of a loop gives."""


@dataclass(frozen=True)
class PllRange:
    """What a kind of loop can do. `reference`, `comparison`, `oscillator`, `output`: least and greatest frequency in Hz
    of its input, at its phase detector, of its oscillator, and of its output. What `reference_dividers`,
    `feedback_dividers` and `output_dividers` may be. Feedback is the output, or (`from_oscillator`) the oscillator."""

    name: str
    reference: tuple[float, float]
    comparison: tuple[float, float]
    oscillator: tuple[float, float]
    output: tuple[float, float]
    reference_dividers: Sequence[int]
    feedback_dividers: Sequence[int]
    output_dividers: Sequence[int]
    from_oscillator: bool = False


ECP5_PLL = PllRange("EHXPLLL", (8e6, 400e6), (3.125e6, 400e6), (400e6, 800e6), (10e6, 400e6),
                    range(1, 129), range(1, 81), range(1, 129))
_MACHXO_PLL = PllRange("EHXPLLJ", (7e6, 400e6), (7e6, 400e6), (200e6, 800e6), (1.5625e6, 400e6),
                       range(1, 41), range(1, 41), range(1, 129))
_GOWIN_DIVIDERS = (2, 4, 8, *range(16, 129, 16))
_ALTERA = (range(1, 513), range(1, 513), range(1, 513), True)
PLLS: Mapping[str, PllRange] = {
    "ecp5": ECP5_PLL,
    "machxo2": _MACHXO_PLL,
    "machxo3": _MACHXO_PLL,
    "ice40": PllRange("SB_PLL40_CORE", (10e6, 133e6), (10e6, 133e6), (533e6, 1066e6), (16e6, 275e6),
                      range(1, 17), range(1, 129), (2, 4, 8, 16, 32, 64), True),
    "gowin": PllRange("rPLL", (3e6, 400e6), (3e6, 400e6), (500e6, 1200e6), (3.90625e6, 450e6),
                      range(1, 65), range(1, 65), _GOWIN_DIVIDERS),
    "xilinx7": PllRange("MMCME2_BASE", (10e6, 800e6), (10e6, 450e6), (600e6, 1200e6), (4.69e6, 464e6),
                        range(1, 107), range(2, 65), range(1, 129), True),
    "cyclone5": PllRange("altera_pll", (5e6, 500e6), (5e6, 325e6), (600e6, 1300e6), (1e6, 400e6), *_ALTERA),
    "cyclone4": PllRange("altpll", (5e6, 325e6), (5e6, 325e6), (600e6, 1300e6), (1e6, 400e6), *_ALTERA),
    "cyclone3": PllRange("altpll", (5e6, 325e6), (5e6, 325e6), (600e6, 1300e6), (1e6, 400e6), *_ALTERA),
    "max10": PllRange("altpll", (5e6, 325e6), (5e6, 325e6), (600e6, 1300e6), (1e6, 400e6), *_ALTERA),
    "stratix3": PllRange("altpll", (5e6, 700e6), (5e6, 325e6), (600e6, 1300e6), (1e6, 500e6), *_ALTERA),
}
"""By family: limits that all its devices and speed grades keep, from the families' data sheets."""


@dataclass(frozen=True)
class PllSetting:
    """Dividers, the frequencies in Hz that they give, of the output and of the oscillator, and the loop they are of."""

    reference_divider: int
    feedback_divider: int
    output_divider: int
    output: float
    oscillator: float
    loop: str


def find_setting(loop: PllRange, reference: float, wanted: float) -> PllSetting:
    """The setting with the greatest output up to `wanted` Hz; among equals that with the highest frequency at the phase
    detector, then the lowest oscillator. Raises `PllError`."""
    if not _within(reference, loop.reference):
        raise PllError(f"a clock of {_mhz(reference)} is outside of the {_span(loop.reference)} that an {loop.name} "
                       "takes")
    if not _within(wanted, loop.output):
        raise PllError(f"an {loop.name} gives {_span(loop.output)}, not {_mhz(wanted)}")
    found = [setting for divider in loop.reference_dividers if _within(reference / divider, loop.comparison)
             for setting in _settings(loop, reference, divider, wanted)]
    if not found:
        raise PllError(f"an {loop.name} gives no clock up to {_mhz(wanted)} from {_mhz(reference)}")
    return max(found, key=lambda s: (round(s.output), -s.reference_divider, -s.oscillator))


def _settings(loop: PllRange, reference: float, divider: int, wanted: float) -> list[PllSetting]:
    """Those with this divider of the reference, and the greatest outputs that are possible with it."""
    find = _from_oscillator if loop.from_oscillator else _from_output
    found = [setting for setting in find(loop, reference, divider, wanted) if _within(setting.output, loop.output)]
    most = max((setting.output for setting in found), default=0.0)
    return [setting for setting in found if setting.output >= most * (1 - _ROUNDING)]


def _from_output(loop: PllRange, reference: float, divider: int, wanted: float) -> list[PllSetting]:
    most = int(wanted * (1 + _ROUNDING) * divider / reference)
    feedback = max((times for times in loop.feedback_dividers if times <= most), default=0)
    output = reference * feedback / divider
    return [PllSetting(divider, feedback, after, output, output * after, loop.name)
            for after in loop.output_dividers if _within(output * after, loop.oscillator)]


def _from_oscillator(loop: PllRange, reference: float, divider: int, wanted: float) -> list[PllSetting]:
    found = []
    for feedback in loop.feedback_dividers:
        oscillator = reference * feedback / divider
        if _within(oscillator, loop.oscillator):
            enough = (after for after in loop.output_dividers if oscillator <= wanted * (1 + _ROUNDING) * after)
            after = min(enough, default=0)
            if after:
                found.append(PllSetting(divider, feedback, after, oscillator / after, oscillator, loop.name))
    return found


def _within(value: float, limits: tuple[float, float]) -> bool:
    return limits[0] <= value <= limits[1]


def _mhz(hz: float) -> str:
    return f"{hz / 1e6:g} MHz"


def _span(limits: tuple[float, float]) -> str:
    return f"{limits[0] / 1e6:g} to {_mhz(limits[1])}"
