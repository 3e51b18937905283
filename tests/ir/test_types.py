"""Number formats: ranges, wrapping, text."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from compiler.ir.types import BIT, Fixed, Float, Int, ProgramError, Type, parse_type

INTEGERS = st.builds(Int, st.integers(1, 64), st.booleans())


@given(INTEGERS, st.integers(-(2**70), 2**70))
def test_wrapping_keeps_the_value_modulo_the_range(type: Int, value: int) -> None:
    wrapped = type.wrap(value)
    assert type.contains(wrapped)
    assert (wrapped - value) % 2**type.width == 0
    assert type.wrap(np.array([value], object))[0] == wrapped


@given(INTEGERS)
def test_the_exchange_type_is_the_smallest_that_holds_the_range(type: Int) -> None:
    limits = np.iinfo(type.dtype)
    assert limits.min <= type.minimum and type.maximum <= limits.max
    assert type.dtype.itemsize == 1 or type.width > 8 * type.dtype.itemsize // 2


@pytest.mark.parametrize(
    ("type", "text"),
    [
        (Int(16, False), "uint16"),
        (Int(5), "int5"),
        (BIT, "bit"),
        (Int(1, True), "int1"),
        (Fixed(16, 8), "fixed16.8"),
        (Fixed(12, 0, False), "ufixed12.0"),
        (Float(8, 23), "float8.23"),
    ],
)
def test_text_form(type: Type, text: str) -> None:
    assert str(type) == text
    assert parse_type(text) == type


@pytest.mark.parametrize("text", ["int", "uint16.3", "fixed16", "float8", "double", "int16 ", ""])
def test_other_text_is_an_error(text: str) -> None:
    with pytest.raises(ProgramError) as error:
        parse_type(text)
    assert str(error.value) == f"'{text}' is not a type; examples: uint16, int8, bit, fixed16.8, float8.23"


@pytest.mark.parametrize("width", [0, 65])
def test_widths_are_limited(width: int) -> None:
    with pytest.raises(ProgramError) as error:
        Int(width)
    assert str(error.value) == f"integer width {width} is not in 1..64"
