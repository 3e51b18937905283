"""Dividers of phase-locked loops: which clock comes nearest to the one that is wanted, from below.

A loop divides its reference, multiplies it up to an oscillator within its range, and divides that for its output.
"""

from __future__ import annotations

from dataclasses import dataclass

from hw.errors import SluiceError

__all__ = ["ECP5_PLL", "PllError", "PllRange", "PllSetting", "find_setting"]
_ROUNDING = 1e-9
"""Of quotients of frequencies."""


class PllError(SluiceError):
    """A clock that no setting of a loop gives."""


@dataclass(frozen=True)
class PllRange:
    """What a kind of loop can do. `reference`, `comparison`, `oscillator`, `output`: least and greatest frequency in Hz
    of its input, at its phase detector, of its oscillator, and of its output. `reference_dividers`,
    `feedback_dividers`, `output_dividers`: from 1 to this one."""

    name: str
    reference: tuple[float, float]
    comparison: tuple[float, float]
    oscillator: tuple[float, float]
    output: tuple[float, float]
    reference_dividers: int
    feedback_dividers: int
    output_dividers: int


ECP5_PLL = PllRange("EHXPLLL", (8e6, 400e6), (3.125e6, 400e6), (400e6, 800e6), (10e6, 400e6), 128, 80, 128)
"""Of ECP5, with feedback from the output: its oscillator is the output times the output's divider."""


@dataclass(frozen=True)
class PllSetting:
    """Dividers, and the frequencies in Hz that they give: of the output, and of the oscillator."""

    reference_divider: int
    feedback_divider: int
    output_divider: int
    output: float
    oscillator: float


def find_setting(loop: PllRange, reference: float, wanted: float) -> PllSetting:
    """The setting with the greatest output up to `wanted` Hz; among equals that with the highest frequency at the phase
    detector, then the lowest oscillator. Raises `PllError`."""
    if not _within(reference, loop.reference):
        raise PllError(f"a clock of {_mhz(reference)} is outside of the {_span(loop.reference)} that an {loop.name} "
                       "takes")
    if not _within(wanted, loop.output):
        raise PllError(f"an {loop.name} gives {_span(loop.output)}, not {_mhz(wanted)}")
    found = [setting for divider in range(1, loop.reference_dividers + 1)
             if _within(reference / divider, loop.comparison)
             for setting in _settings(loop, reference, divider, wanted)]
    if not found:
        raise PllError(f"an {loop.name} gives no clock up to {_mhz(wanted)} from {_mhz(reference)}")
    return max(found, key=lambda s: (round(s.output), -s.reference_divider, -s.oscillator))


def _settings(loop: PllRange, reference: float, divider: int, wanted: float) -> list[PllSetting]:
    """Those with this divider of the reference, and the greatest output that is possible with it."""
    step = reference / divider
    feedback = min(int(wanted * (1 + _ROUNDING) / step), loop.feedback_dividers)
    output = reference * feedback / divider
    if not _within(output, loop.output):
        return []
    return [PllSetting(divider, feedback, after, output, output * after)
            for after in range(1, loop.output_dividers + 1) if _within(output * after, loop.oscillator)]


def _within(value: float, limits: tuple[float, float]) -> bool:
    return limits[0] <= value <= limits[1]


def _mhz(hz: float) -> str:
    return f"{hz / 1e6:g} MHz"


def _span(limits: tuple[float, float]) -> str:
    return f"{limits[0] / 1e6:g} to {_mhz(limits[1])}"
