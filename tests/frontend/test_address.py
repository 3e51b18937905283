"""Addresses of the loop-nest language."""

import islpy as isl
import pytest

from compiler.frontend.address import address_map
from compiler.ir.types import ProgramError

SPACE = isl.Set("{ S[t, y, x] }").get_space()
CONSTANTS = {"W": 64, "Z": 0}
LANGUAGE = "; one coordinate is made of loops, integers, elements of arrays as t[x], and + - * // %"


def mapped(*addresses: str) -> isl.Map:
    return address_map(SPACE, "a", list(addresses), CONSTANTS)


@pytest.mark.parametrize(
    ("address", "function"),
    [
        ("x", "x"),
        ("x + 1", "x + 1"),
        ("x+1 - y", "x + 1 - y"),
        ("-x + 3", "3 - x"),
        ("2*x + 3*y*2", "2x + 6y"),
        ("(x + y) * 4", "4x + 4y"),
        ("x // 2", "floor(x / 2)"),
        ("(y - 1) // 2 + x % 3", "floor((y - 1) / 2) + (x mod 3)"),
        ("x // 2 // 3", "floor(floor(x / 2) / 3)"),
        ("x + W*y", "x + 64y"),
        ("t*(W - 1) % W", "(63t) mod 64"),
        ("5", "5"),
        ("7 // 2 - -1", "4"),
        ("x - (y - t)", "x - y + t"),
        ("+x", "x"),
    ],
)
def test_quasi_affine_addresses(address: str, function: str) -> None:
    assert mapped(address) == isl.Map(f"{{ S[t, y, x] -> a[{function}] }}")


def test_addresses_keep_their_order_and_may_be_none() -> None:
    assert mapped("t", "x") == isl.Map("{ S[t, y, x] -> a[t, x] }")
    assert mapped() == isl.Map("{ S[t, y, x] -> a[] }")


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("x*y", "address 'x*y' is not affine: it multiplies two expressions that both depend on loops"),
        ("x*x", "address 'x*x' is not affine: it multiplies two expressions that both depend on loops"),
        ("x // y", "address 'x // y' is not affine: it divides by an expression that depends on loops"),
        ("x % t", "address 'x % t' is not affine: it takes the remainder by an expression that depends on loops"),
        ("x // -2", "address 'x // -2' divides by -2; only positive constants are possible"),
        ("x % Z", "address 'x % Z' takes the remainder by 0; only positive constants are possible"),
        ("x + z", "address 'x + z' names 'z', no loop around it and no constant; there are: t, y, x, W, Z"),
        ("x +", "address 'x +' cannot be read at its end" + LANGUAGE),
        ("", "address '' cannot be read at its end" + LANGUAGE),
        ("x y", "address 'x y' cannot be read at column 3" + LANGUAGE),
        ("x / 2", "address 'x / 2' cannot be read at column 3" + LANGUAGE),
        ("input[x]", "address 'input[x]' is not affine: it depends on the contents of array 'input'"),
    ],
)
def test_other_addresses_are_errors_with_the_reason(address: str, message: str) -> None:
    with pytest.raises(ProgramError) as error:
        mapped(address)
    assert str(error.value) == message
