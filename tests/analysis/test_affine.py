"""Helpers over isl's quasi-affine functions."""

from __future__ import annotations

from fractions import Fraction

import islpy as isl
import pytest

from compiler.analysis.affine import affine_form, dimension_names, extremes, linear_function, slopes


def function(text: str) -> isl.PwAff:
    return isl.PwAff(text)


@pytest.mark.parametrize(("text", "form"), [
    ("{ S[x, y] -> [3x - y + 7] : 0 <= x < 9 and 0 <= y < 4 }", ((3, -1), 7)),
    ("{ S[] -> [5] }", ((), 5)),
    ("{ S[x] -> [x] : x <= 3; S[x] -> [2x - x] : 4 <= x < 8 }", ((1,), 0)),
    ("{ S[x] -> [0] : x = 0; S[x] -> [2x] : 1 <= x < 8 }", ((2,), 0)),
    ("{ S[x] -> [floor(x/2) + floor((x+1)/2)] : 0 <= x < 8 }", ((1,), 0)),
    ("{ S[x] -> [2*floor(x/2)] : 0 <= x < 8 }", None),
    ("{ S[x] -> [4*floor(x/2) + 1 - x] : 0 <= x < 8 }", None),
    ("{ S[x] -> [floor(x/3)] : 0 <= x < 8 }", None),
    ("{ S[x] -> [x] : 0 <= x < 4; S[x] -> [3 - x] : 4 <= x < 8 }", None),
])
def test_affine_form(text: str, form: tuple[tuple[int, ...], int] | None) -> None:
    assert affine_form(function(text)) == form


def test_slopes_count_floors_as_fractions() -> None:
    assert slopes(isl.Aff("{ S[x, y] -> [floor((x + 2*floor(y/3))/4) - y] }")) == [Fraction(1, 4), Fraction(-5, 6)]


def test_linear_functions_and_their_extremes() -> None:
    domain = isl.Set("{ S[t, y, x] : 0 <= t < 2 and 1 <= y < 5 and -3 <= x < 9 }")
    assert dimension_names(domain.get_space()) == ("t", "y", "x")
    assert extremes(domain, linear_function(domain, {"y": 10, "x": -1}, 4)) == (14 - 8, 44 + 3)


@pytest.mark.parametrize(("domain", "text", "ends"), [
    ("{ S[x] : 0 <= x <= 10 and x mod 2 = 0 }", "{ S[x] -> [(x)/2] }", (0, 5)),
    ("{ S[x, y] : 1 <= x <= 7 and y = 3x }", "{ S[x, y] -> [(y)/3 - x + 2] }", (2, 2)),
    ("{ S[x] : 0 <= x <= 7 }", "{ S[x] -> [x - 4*floor(x/2)] }", (-6, 1)),
])
def test_extremes_of_rational_coefficients(domain: str, text: str, ends: tuple[int, int]) -> None:
    assert extremes(isl.Set(domain), isl.Aff(text)) == ends
