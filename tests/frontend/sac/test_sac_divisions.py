"""Division by constants without dividers: exact for all numbers of a type, and where products are too wide, left."""

from __future__ import annotations

import numpy as np
import pytest

from compiler.bind.application_forms import choose_form
from compiler.frontend.sac import parse_sac
from compiler.frontend.sac.ddcf import interpret
from compiler.frontend.sac.passes import count_nodes
from compiler.frontend.sac.passes.divisions import reciprocal

_DIVISORS = [1, 2, 3, 5, 7, 9, 10, 16, 25, 100, 127]


@pytest.mark.parametrize("type_, low, high", [("uint8", 0, 256), ("int8", -128, 128), ("uint13", 0, 1 << 13),
                                              ("int12", -2048, 2048)])
@pytest.mark.parametrize("divisor", _DIVISORS)
def test_all_numbers(type_: str, low: int, high: int, divisor: int) -> None:
    signs = [divisor, -divisor] if low else [divisor]
    for number in signs:
        program = parse_sac(f"{type_}[:], {type_}[:] f ({type_} A[:]) return (for a in A return ("
                            f"array (a / ({type_}){number}), array (a % ({type_}){number})));")
        without = program.optimised(["inline", "cycle", "divisions", "cycle"])[0]
        counts = count_nodes(without.module)
        assert "DIV" not in counts and "MOD" not in counts
        numbers = np.arange(low, high)
        for module in (program.module, without.module):
            quotients, rests = interpret(module, "f", [numbers])
            np.testing.assert_array_equal(quotients, (np.trunc(numbers / number) - low) % (high - low) + low)
            np.testing.assert_array_equal(rests, np.fmod(numbers, number))


@pytest.mark.parametrize("divisor", [3, 7, 641, 1000])
def test_ends_of_wide_numbers(divisor: int) -> None:
    found = reciprocal(divisor, (1 << 16) - 1, signed=False)
    if found is not None:
        factor, shift = found
        numbers = np.arange(1 << 16)
        np.testing.assert_array_equal(numbers * factor >> shift, numbers // divisor)
    assert reciprocal(divisor, (1 << 32) - 1, signed=False) is None


def test_what_is_too_wide_stays_and_is_reported() -> None:
    program = parse_sac("uint32[:] f (uint32 A[:]) return (for a in A return (array (a / 7)));")
    without, done = program.optimised(["divisions"])
    assert count_nodes(without.module)["DIV"] == 1
    (note,) = [note for note in done.notes if note.name == "divisions"]
    assert "products with its reciprocal have more than 32 bits" in str(note)


@pytest.mark.parametrize("target", ["fpga", "vector"])
def test_a_box_blur_is_on_hardware(target: str) -> None:
    program = parse_sac("""uint8[:,:] main (uint8 Image[:,:]) {
        uint8 R[:,:] = for window W[3,3] in Image {
            uint12 s = array_sum ((uint12[:,:])W);
        } return (array (s / 9));
    } return (R);""")
    inputs = program.held({"Image": np.arange(80).reshape(8, 10) * 3})
    placed = choose_form(program.with_extents({"Image": (8, 10)}), inputs, target).placed
    assert len(placed.groups) == 1 and not placed.host
