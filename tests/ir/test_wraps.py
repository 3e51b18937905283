"""Quotients of arithmetic that wraps leave sets that do not name the width."""

import islpy as isl
import pytest

from compiler.ir.relations import resolve_wraps


@pytest.mark.parametrize(("wrapped", "plain"), [
    ("0 <= i <= 7 and 4294967296*floor((-5 + i)/4294967296) <= -6 + i", "0 <= i <= 7 and i != 5"),
    ("0 <= i <= 9 and (i + 250) mod 256 < 4", "6 <= i <= 9"),
    ("0 <= i <= 9 and (i + 250) mod 256 + (i + 65534) mod 65536 < 9", "6 <= i <= 8"),
    ("0 <= i < 8 and i mod 8 >= 3", "3 <= i < 8"),
])
def test_wraps_are_cases(wrapped: str, plain: str) -> None:
    before, wanted = isl.Set(f"{{ S[i] : {wrapped} }}"), isl.Set(f"{{ S[i] : {plain} }}")
    after = resolve_wraps(before)
    assert after.is_equal(before) and after.is_equal(wanted)
    assert "floor" not in str(after) and "mod" not in str(after)


@pytest.mark.parametrize("text", ["0 <= i <= 99 and i mod 2 = 0", "0 <= i <= 9", "0 <= i <= 600 and i mod 256 < 3"])
def test_other_quotients_stay(text: str) -> None:
    before = isl.Set(f"{{ S[i] : {text} }}")
    assert resolve_wraps(before) is before
