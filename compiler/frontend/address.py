"""Addresses of the loop-nest language: text like ``"x + 1"`` or ``"y // 2"`` to quasi-affine functions.

Allowed are sums and differences, products with a constant, and floor division and remainder by a positive constant.
Everything else is refused with the reason.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files

import islpy as isl
import lark

from compiler.ir.types import ProgramError

__all__ = ["address_map", "affine_map", "parse_address"]


_LANGUAGE = "one coordinate is made of loops, integers, elements of arrays as t[x], and + - * // %"


@cache
def _parser() -> lark.Lark:
    grammar = files("compiler.frontend").joinpath("address.lark").read_text()
    return lark.Lark(grammar, parser="lalr")


def address_map(space: isl.Space, array: str, addresses: list[str], constants: Mapping[str, int]) -> isl.Map:
    """The access map {space -> array[addresses]}; names in `addresses` are dimensions of `space` or constants.

    Raises `ProgramError` with the offending address and the reason.
    """
    return affine_map(space, array, [(text, parse_address(text)) for text in addresses], constants)


def affine_map(space: isl.Space, array: str, addresses: Sequence[tuple[str, lark.Tree]],
               constants: Mapping[str, int]) -> isl.Map:
    """The same for addresses that are parsed; the text of each is what messages quote."""
    functions = [_affine(space, text, tree, constants) for text, tree in addresses]
    element = isl.Space.set_alloc(space.get_ctx(), 0, len(functions)).set_tuple_name(isl.dim_type.set, array)
    result = isl.MultiAff.zero(space.map_from_domain_and_range(element))
    for position, function in enumerate(functions):
        result = result.set_aff(position, function)
    return isl.Map.from_multi_aff(result)


def parse_address(text: str) -> lark.Tree:
    """The tree of an address. Raises `ProgramError`."""
    try:
        return _parser().parse(text)
    except lark.UnexpectedInput as error:
        place = "at its end" if _at_end(error) else f"at column {error.column}"
        raise ProgramError(f"address '{text}' cannot be read {place}; {_LANGUAGE}") from None


def _affine(space: isl.Space, text: str, tree: lark.Tree, constants: Mapping[str, int]) -> isl.Aff:
    try:
        return _Affine(space, constants).transform(tree)
    except lark.exceptions.VisitError as error:
        if isinstance(error.orig_exc, ProgramError):
            raise ProgramError(f"address '{text}' {error.orig_exc}") from None
        raise


def _at_end(error: lark.UnexpectedInput) -> bool:
    return isinstance(error, lark.UnexpectedToken) and error.token.type == "$END"


@lark.v_args(inline=True)
class _Affine(lark.Transformer):
    """Builds an isl function bottom up; errors complete the sentence "address '...' ..."."""

    def __init__(self, space: isl.Space, constants: Mapping[str, int]) -> None:
        super().__init__()
        self._space = isl.LocalSpace.from_space(space)
        self._names = [str(space.get_dim_name(isl.dim_type.set, i)) for i in range(space.dim(isl.dim_type.set))]
        self._constants = constants

    def number(self, token: lark.Token) -> isl.Aff:
        return isl.Aff.zero_on_domain(self._space) + int(token)

    def name(self, token: lark.Token) -> isl.Aff:
        if token in self._names:
            return isl.Aff.var_on_domain(self._space, isl.dim_type.set, self._names.index(token))
        if token in self._constants:
            return isl.Aff.zero_on_domain(self._space) + self._constants[token]
        known = ", ".join([*self._names, *self._constants]) or "none"
        raise ProgramError(f"names '{token}', no loop around it and no constant; there are: {known}")

    def element(self, token: lark.Token, *indices: isl.Aff) -> isl.Aff:
        raise ProgramError(f"is not affine: it depends on the contents of array '{token}'")

    def add(self, a: isl.Aff, b: isl.Aff) -> isl.Aff:
        return a + b

    def subtract(self, a: isl.Aff, b: isl.Aff) -> isl.Aff:
        return a - b

    def negate(self, a: isl.Aff) -> isl.Aff:
        return a.neg()

    def multiply(self, a: isl.Aff, b: isl.Aff) -> isl.Aff:
        if not (a.is_cst() or b.is_cst()):
            raise ProgramError("is not affine: it multiplies two expressions that both depend on loops")
        return a.mul(b)

    def floor_divide(self, a: isl.Aff, b: isl.Aff) -> isl.Aff:
        return a.scale_down_val(self._divisor(b, "divides")).floor()

    def modulo(self, a: isl.Aff, b: isl.Aff) -> isl.Aff:
        return a.mod_val(self._divisor(b, "takes the remainder"))

    def _divisor(self, b: isl.Aff, verb: str) -> isl.Val:
        if not b.is_cst():
            raise ProgramError(f"is not affine: it {verb} by an expression that depends on loops")
        value = b.get_constant_val()
        if not value.is_pos():
            raise ProgramError(f"{verb} by {value}; only positive constants are possible")
        return value
