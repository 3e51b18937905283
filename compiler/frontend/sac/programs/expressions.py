"""Nodes of dataflow graphs as expressions of the `Program`'s language, with exact widths.

A token of `width` bits is a word of that width, or a bit where the width is 1; its sign is the type's and changes
nothing but how the bits are read. Operations of the graph say by themselves whether they see a sign.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce

from compiler.frontend.kernel import Typed, apply, cast, constant, maximum, minimum, select
from compiler.frontend.sac.dfg.graph import DfgNode
from compiler.frontend.sac.dfg.kinds import reduce_values, signed
from compiler.frontend.sac.programs.networks import median, square_root
from compiler.frontend.sac.programs.obstacles import NoProgram
from compiler.ir.expr import Cast, Const
from compiler.ir.types import BIT, Int

__all__ = ["as_bits", "as_number", "compute", "joined", "token", "token_type", "widened"]


def token_type(width: int, has_sign: bool = False) -> Int:
    """The type of tokens of `width` bits: a bit for one without sign."""
    return Int(width, has_sign)


def token(value: int, width: int) -> Typed:
    """The token of `width` bits that is always `value`, not negative."""
    return constant(token_type(width), value)


def widened(value: Typed, width: int, has_sign: bool) -> Typed:
    """The token in `width` bits; sign or zero extension as `has_sign` says."""
    if isinstance(value.expr, Const):
        held = _width(value)
        number = value.expr.value % (1 << held)
        return as_number(number if not has_sign else signed(number, held), Int(width, has_sign))
    return cast(Int(width, has_sign), cast(Int(_width(value), has_sign), value))


def as_number(value: int, type_: Int) -> Typed:
    """A constant, wrapped to `type_`."""
    return constant(type_, type_.wrap(value))


def as_bits(value: Typed, width: int) -> Typed:
    """The low `width` bits of a value, which has as many, as a token; a word that was extended and is cut again is the
    word that it was."""
    wanted = Int(width, signed=False)
    inner = value.expr
    while isinstance(inner, Cast) and isinstance(inner.type, Int) and inner.type.width >= width:
        inner = inner.arg
    same = isinstance(inner.type, Int) and inner.type.width >= width
    return cast(wanted, Typed(inner if same else value.expr))


def _width(value: Typed) -> int:
    assert isinstance(value.type, Int)
    return value.type.width


def _word(value: Typed, width: int, has_sign: bool) -> Typed:
    """The token as a word, which has at least 2 bits."""
    return widened(value, max(2, width), has_sign)


Rule = Callable[[DfgNode, Sequence[Typed], int, bool], Typed]
"""A node, its operands, the width of the output and whether numbers have signs: the value, whose low bits count."""


def compute(node: DfgNode, operands: Sequence[Typed]) -> Typed:
    """The output of a node without state. Raises `NoProgram` for what has no expression."""
    kind, width = node.kind, node.widths[0]
    if kind.endswith("_MANY"):
        return _many(node, operands, width)
    rule = _RULES.get(kind) or _RULES.get(kind[1:])
    if rule is None:
        raise NoProgram(kind, node.place, "there is no operation for it",
                        "keep the loop on the host by the pragma no_dfg")
    found = rule(node, operands, width, kind[0] == "I")
    assert isinstance(found.type, Int)
    return found if found.type.width == width else cast(Int(width, found.type.signed), found)


def _modular(op: str) -> Rule:
    """Operations whose low bits are those of operands with as many: after extension by each operand's sign."""
    return lambda node, operands, width, has_sign: apply(op, *(_word(o, width, has_sign) for o in operands))


def _comparison(op: str, keeps_sign: bool = True) -> Rule:
    def rule(node: DfgNode, operands: Sequence[Typed], width: int, has_sign: bool) -> Typed:
        most = max(2, *map(_width, operands))
        return apply(op, *(widened(o, most, has_sign and keeps_sign) for o in operands))
    return rule


def _bitwise(join: Callable[[Typed, Typed], Typed]) -> Rule:
    def rule(node: DfgNode, operands: Sequence[Typed], width: int, has_sign: bool) -> Typed:
        return join(*(widened(o, width, False) for o in operands))
    return rule


def _left_shift(node: DfgNode, operands: Sequence[Typed], width: int, has_sign: bool) -> Typed:
    value, amount = operands
    most = max(2, width, _amount_width(amount))
    return as_bits(apply("shl", widened(value, most, False), widened(amount, most, False)), width)


def _right_shift(node: DfgNode, operands: Sequence[Typed], width: int, has_sign: bool) -> Typed:
    value, amount = operands
    most = max(2, _width(value), _amount_width(amount) + has_sign)
    return apply("shr", widened(value, most, has_sign), cast(Int(most, has_sign), widened(amount, most, False)))


def _amount_width(amount: Typed) -> int:
    """Bits in which the amount of a shift keeps its value: of a constant as many as it needs."""
    return amount.expr.value.bit_length() if isinstance(amount.expr, Const) else _width(amount)


def _selector(node: DfgNode, operands: Sequence[Typed], width: int, has_sign: bool) -> Typed:
    """Key, pairs of a case and its value, the value of all others."""
    key, *cases, found = operands
    for case, value in reversed(list(zip(cases[::2], cases[1::2], strict=True))):
        found = select(_equal(key, case), as_bits(value, width), as_bits(found, width))
    return found


def _equal(key: Typed, case: Typed) -> Typed:
    if key.type == BIT and isinstance(case.expr, Const):
        return key if case.expr.value else ~key
    most = max(2, _width(key))
    return widened(key, most, False) == widened(case, most, False)


def _root(node: DfgNode, operands: Sequence[Typed], width: int, has_sign: bool) -> Typed:
    return square_root(operands[0], _width(operands[0]))


def _extend(node: DfgNode, operands: Sequence[Typed], width: int, has_sign: bool) -> Typed:
    return widened(operands[0], width, node.kind == "CHANGE_WIDTH_SE")


_RULES: dict[str, Rule] = {
    "ADD": _modular("add"), "SUB": _modular("sub"), "MUL": _modular("mul"),
    "LT": _comparison("lt"), "LE": _comparison("le"), "GT": _comparison("gt"), "GE": _comparison("ge"),
    "EQ": _comparison("eq", False), "NEQ": _comparison("ne", False),
    "BIT_AND": _bitwise(lambda a, b: a & b), "BIT_OR": _bitwise(lambda a, b: a | b),
    "BIT_XOR": _bitwise(lambda a, b: a ^ b),
    "BIT_NOT": lambda node, operands, width, has_sign: ~operands[0],
    "LEFT_SHIFT": _left_shift, "RIGHT_SHIFT": _right_shift, "CHANGE_WIDTH": _extend, "CHANGE_WIDTH_SE": _extend,
    "SELECTOR": _selector, "SQRT": _root,
}


def _many(node: DfgNode, operands: Sequence[Typed], width: int) -> Typed:
    """A reduction of values, each with a mask."""
    name = node.kind.removesuffix("_MANY")
    pairs = [(v, m) for v, m in zip(operands[::2], operands[1::2], strict=True)
             if not isinstance(m.expr, Const) or m.expr.value]
    if name.endswith("MEDIAN"):
        return _median(node, pairs)
    parts = [masked(name, value, mask, width) for value, mask in pairs]
    return reduce(lambda a, b: joined(name, a, b, width), parts) if parts else neutral(name, width)


def _median(node: DfgNode, pairs: Sequence[tuple[Typed, Typed]]) -> Typed:
    if not pairs or not all(isinstance(mask.expr, Const) for _, mask in pairs):
        raise NoProgram(node.kind, node.place, "a median of values that are masked while the loop runs needs them "
                        "sorted with their masks", "take a median of all values")
    return median([_word(value, _width(value), node.kind[0] == "I") for value, _ in pairs])


def neutral(name: str, width: int) -> Typed:
    """What a reduction of no values is."""
    return as_number(reduce_values(name, [], width), Int(width, name[0] == "I"))


def masked(name: str, value: Typed, mask: Typed, width: int) -> Typed:
    """A value where its mask is true, else what changes nothing."""
    value = widened(value, width, name[0] == "I")
    if isinstance(mask.expr, Const):
        return value if mask.expr.value else neutral(name, width)
    return select(mask, value, neutral(name, width))


_JOINS: dict[str, Callable[[Typed, Typed], Typed]] = {
    "SUM": lambda a, b: a + b, "MIN": minimum, "MAX": maximum, "AND": lambda a, b: a & b, "OR": lambda a, b: a | b}


def joined(name: str, left: Typed, right: Typed, width: int) -> Typed:
    """Two values of a reduction (``USUM``, ``IMAX``, ``AND``…) as one of `width` bits."""
    if name in ("AND", "OR"):
        return _JOINS[name](widened(left, width, False), widened(right, width, False))
    has_sign = name[0] == "I"
    found = _JOINS[name[1:]](_word(left, width, has_sign), _word(right, width, has_sign))
    return cast(Int(width, has_sign), found)
