"""C expressions over loop iterators as exact isl functions and conditions.

Everything that is quasi-affine is taken: sums, products with constants, ``/``, ``%``, ``<<``, ``>>``, ``&`` with
constants (with C's rounding towards zero), ``?:`` and comparisons. C computes in types of limited range, modulo a power
of two. Sums, differences and products may wrap and wrap back; wherever the value itself matters (in comparisons,
quotients, wider types, and in the end) it is proven to be in its type, so that mathematical integers give the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import islpy as isl
from pycparser import c_ast

from compiler.frontend.c_scop.constants import NotConstant, literal
from compiler.frontend.c_scop.errors import ScopError
from compiler.frontend.c_scop.normalize.trees import Converted, used_names, variable_name
from compiler.frontend.c_scop.sizes import size_constant
from compiler.frontend.c_scop.source import Source
from compiler.frontend.c_scop.types import BYTE, INT, LONG, Bool, Number, number_type, promote, usual
from compiler.frontend.c_scop.variables import Scope, Variable
from compiler.ir.types import Int

__all__ = ["EVERY_INDEX", "AffineReader", "DataDependent", "IteratorValue", "NotAffine", "value_range", "wrapped"]

_ABSOLUTE = {"abs": INT, "labs": LONG, "llabs": LONG}
_COMPARE = {"<": "lt_set", "<=": "le_set", ">": "gt_set", ">=": "ge_set", "==": "eq_set", "!=": "ne_set"}


_WRITTEN_OUT = "write the loop over one of them out, so that it is a constant"
EVERY_INDEX = "loop over all indices and use the one that is equal: for (k = 0; k < N; k++) if (k == INDEX) ..."
"""How an index that depends on data is written."""


class NotAffine(Exception):
    """An expression that depends on more than loop iterators and constants, or not affinely on them: what it does, and
    how to write it."""

    def __init__(self, node: Any, reason: str) -> None:
        super().__init__(reason)
        self.node = node
        self.reason = reason


class DataDependent(NotAffine):
    """An expression that is known only when the program runs."""


@dataclass(frozen=True)
class IteratorValue:
    """What the C variable of a loop holds: `value`, a function of the first `depth` dimensions, and its type."""

    value: isl.PwAff
    type: Int
    depth: int


@dataclass
class AffineReader:
    """Reads expressions at one place: `space` has one dimension per loop around it.

    Where the `domain` is known, a value that leaves its type there wraps, as with gcc's ``-fwrapv``; elsewhere `check`
    finds it.
    """

    source: Source
    scope: Scope
    space: isl.Space
    iterators: Mapping[str, IteratorValue]
    locals: Mapping[Variable, IteratorValue] = field(default_factory=dict)
    unknown: Mapping[Variable, str] = field(default_factory=dict)
    checks: list[tuple[Any, isl.PwAff, Int]] = field(default_factory=list)
    domain: isl.Set | None = None

    def entry(self, name: str) -> IteratorValue | None:
        """What variable `name` holds if it is an iterator or a scalar whose value is affine here."""
        if name in self.iterators:
            return self.iterators[name]
        found = self.scope.find(name) if self.locals else None
        return self.locals.get(found) if isinstance(found, Variable) else None

    def function(self, node: Any) -> isl.PwAff:
        """`node` as a function of the iterators. Raises `NotAffine`."""
        value, type = self._read(node)
        return self._checked(node, value, type)

    def condition(self, node: Any) -> isl.Set:
        """Where `node` is not zero. Raises `NotAffine`."""
        match node:
            case c_ast.BinaryOp(op="&&"):
                return self.condition(node.left).intersect(self.condition(node.right))
            case c_ast.BinaryOp(op="||"):
                return self.condition(node.left).union(self.condition(node.right))
            case c_ast.UnaryOp(op="!"):
                return self.condition(node.expr).complement()
            case c_ast.BinaryOp() if node.op in _COMPARE:
                left, right, type = self._operands(node)
                return getattr(self._checked(node, left, type), _COMPARE[node.op])(self._checked(node, right, type))
        return self.function(node).ne_set(self._number(0))

    def check(self, domain: isl.Set) -> None:
        """Raise `ScopError` if something read so far leaves the range of its type within `domain`."""
        for node, value, type in self.checks:
            low, high = value_range(value, domain, type)
            if not (type.contains(low) and type.contains(high)):
                name = f"{'' if type.signed else 'unsigned '}{type.width}-bit"
                reason = f"an index expression reaches {low if low < type.minimum else high}, outside its {name} type"
                raise ScopError(self.source.place(node.coord), reason)
        self.checks.clear()

    def settled(self, node: Any, domain: isl.Set) -> isl.Set | None:
        """Where `node` is not zero, None if it is not affine or wraps somewhere in `domain`."""
        try:
            where = self.condition(node)
            self.check(domain)
        except (NotAffine, ScopError):
            return None
        finally:
            self.checks.clear()
        return where

    def _number(self, value: int) -> isl.PwAff:
        zero = isl.Aff.zero_on_domain(isl.LocalSpace.from_space(self.space))
        return isl.PwAff.from_aff(zero.set_constant_val(isl.Val(str(value))))

    def _read(self, node: Any) -> tuple[isl.PwAff, Int]:
        """A function that equals `node` modulo 2**width of the type of `node`, and this type."""
        match node:
            case c_ast.Constant():
                return self._literal(node)
            case c_ast.ID():
                return self._name(node)
            case c_ast.UnaryOp(op="sizeof"):
                return self._literal(size_constant(node, self.scope))
            case c_ast.UnaryOp():
                return self._unary(node)
            case c_ast.BinaryOp() if node.op in _COMPARE or node.op in ("&&", "||"):
                return self._indicator(self.condition(node)), INT
            case c_ast.BinaryOp():
                return self._binary(node)
            case c_ast.TernaryOp():
                return self._ternary(node)
            case c_ast.Cast() | Converted():
                type = self._assigned_type(node) if isinstance(node, Converted) else self._cast_type(node)
                if isinstance(type, Bool):
                    return self._indicator(self.condition(node.expr)), BYTE
                return self._converted(node, *self._read(node.expr), type), type
            case c_ast.ArrayRef():
                raise DataDependent(node, f"it depends on the contents of array '{_array_name(node)}'; {EVERY_INDEX}")
            case c_ast.FuncCall():
                return self._call(node)
        raise NotAffine(node, "it is no sum of iterators and constants, nor a quotient or a choice of such sums")

    def _call(self, node: c_ast.FuncCall) -> tuple[isl.PwAff, Int]:
        """``abs`` and ``labs``."""
        name = node.name.name if isinstance(node.name, c_ast.ID) else "a function"
        if name not in _ABSOLUTE or node.args is None or len(node.args.exprs) != 1:
            raise NotAffine(node, f"it calls {name}(); keep the result in a variable, and {EVERY_INDEX}")
        type = _ABSOLUTE[name]
        value, own = self._read(node.args.exprs[0])
        value = self._checked(node, self._converted(node, value, _whole(node, own), type), type)
        return self._indicator(value.ge_set(self._number(0))).cond(value, value.neg()), type

    def _literal(self, node: c_ast.Constant) -> tuple[isl.PwAff, Int]:
        try:
            value, type = literal(node)
        except NotConstant as error:
            raise NotAffine(node, error.reason) from None
        return self._number(value), type

    def _name(self, node: c_ast.ID) -> tuple[isl.PwAff, Int]:
        entry = self.entry(node.name)
        if entry is not None:
            missing = self.space.dim(isl.dim_type.set) - entry.depth
            value = entry.value.add_dims(isl.dim_type.in_, missing) if missing else entry.value
            return value, entry.type
        found = self.scope.find(node.name)
        if isinstance(found, int):
            return self._number(found), INT
        if isinstance(found, Variable) and found in self.unknown:
            raise DataDependent(node, self.unknown[found])
        if isinstance(found, Variable) and found.constant is not None:
            return self._number(found.constant), _whole(node, found.type)
        if isinstance(found, Variable) and found.storage == "parameter" and found.scalar:
            raise NotAffine(node, f"parameter '{node.name}' has no value; give {node.name}=VALUE")
        kind = DataDependent if isinstance(found, Variable) else NotAffine
        raise kind(node, f"'{node.name}' is neither a loop iterator nor a constant; make it const, or {EVERY_INDEX}")

    def _unary(self, node: c_ast.UnaryOp) -> tuple[isl.PwAff, Int]:
        if node.op == "!":
            return self._indicator(self.condition(node)), INT
        if node.op not in ("-", "+", "~"):
            raise NotAffine(node, f"operator '{node.op}' is not affine")
        value, own = self._read(node.expr)
        type = _whole(node, promote(own))
        value = self._converted(node, value, own, type)
        if node.op == "+":
            return value, type
        return (value.neg() if node.op == "-" else value.neg().sub(self._number(1))), type

    def _operands(self, node: Any) -> tuple[isl.PwAff, isl.PwAff, Int]:
        """Both operands of `node` after the usual conversions."""
        left, left_type = self._read(node.left)
        right, right_type = self._read(node.right)
        type = _whole(node, usual(left_type, right_type))
        return self._converted(node, left, left_type, type), self._converted(node, right, right_type, type), type

    def _binary(self, node: c_ast.BinaryOp) -> tuple[isl.PwAff, Int]:
        if node.op in ("<<", ">>"):
            return self._shift(node)
        left, right, type = self._operands(node)
        match node.op:
            case "+":
                return left.add(right), type
            case "-":
                return left.sub(right), type
            case "*":
                left, right = self._settled(left), self._settled(right)
                if not (left.is_cst() or right.is_cst()):
                    raise DataDependent(node, f"it is a product of {self._dependent(node)}; {_WRITTEN_OUT}")
                return left.mul(right), type
        if node.op in ("&", "|", "^") and left.is_cst():
            left, right = right, left
        return self._by_constant(node, left, self._constant(node, right, type), type), type

    def _settled(self, value: isl.PwAff) -> isl.PwAff:
        """`value`, as a number if it has one value in the domain."""
        if value.is_cst() or self.domain is None or self.domain.is_empty():
            return value
        inside = value.intersect_domain(self.domain)
        least = inside.min_val()
        return self._number(least.to_python()) if least.is_int() and least.eq(inside.max_val()) else value

    def _constant(self, node: c_ast.BinaryOp, right: isl.PwAff, type: Int) -> int:
        """The only value of the right operand. Raises `NotAffine` if it has several."""
        value = self._checked(node, right, type)
        if value.is_cst() and value.max_val().eq(value.min_val()):
            return value.max_val().to_python()
        does = {"/": "it divides by", "%": "it takes the remainder by", "<<": "it shifts by", ">>": "it shifts by"}
        what = self._dependent(node.right)
        if node.op in does:
            raise DataDependent(node, f"{does[node.op]} {what}, which is no constant; {_WRITTEN_OUT}")
        raise DataDependent(node, f"'{node.op}' has {what} on its right, which is no constant; {_WRITTEN_OUT}")

    def _dependent(self, node: Any) -> str:
        """What an expression depends on, as messages say it."""
        names = sorted(name for name in used_names(node) if self.entry(name) is not None)
        return " and ".join(f"'{name}'" for name in names) or "iterators"

    def _shift(self, node: c_ast.BinaryOp) -> tuple[isl.PwAff, Int]:
        left, own = self._read(node.left)
        right, right_type = self._read(node.right)
        amount = self._constant(node, right, right_type)
        type = _whole(node, promote(own))
        left = self._converted(node, left, own, type)
        if not 0 <= amount < type.width:
            raise NotAffine(node, f"it shifts by {amount}")
        if node.op == "<<":
            return left.scale_val(isl.Val(1 << amount)), type
        return self._checked(node, left, type).scale_down_val(isl.Val(1 << amount)).floor(), type

    def _by_constant(self, node: c_ast.BinaryOp, left: isl.PwAff, right: int, type: Int) -> isl.PwAff:
        match node.op:
            case "/" if right != 0:
                return self._checked(node, left, type).tdiv_q(self._number(right))
            case "%" if right != 0:
                return self._checked(node, left, type).tdiv_r(self._number(right))
            case "&":
                return self._masked(left, right)
            case "|":
                return left.add(self._number(right)).sub(self._masked(left, right))
            case "^":
                return left.add(self._number(right)).sub(self._masked(left, right).scale_val(isl.Val(2)))
        raise NotAffine(node, f"'{node.op}' by zero is undefined")

    def _masked(self, value: isl.PwAff, mask: int) -> isl.PwAff:
        """``value & mask``: a remainder of a quotient for every run of ones of the mask."""
        if mask < 0:
            return value.sub(self._masked(value, ~mask))
        total, low = self._number(0), 0
        while mask >> low:
            length = (~(mask >> low) & (mask >> low) + 1).bit_length() - 1
            if length:
                run = value.scale_down_val(isl.Val(1 << low)).floor().mod_val(isl.Val(1 << length))
                total = total.add(run.scale_val(isl.Val(1 << low)))
            low += length or 1
        return total

    def _ternary(self, node: c_ast.TernaryOp) -> tuple[isl.PwAff, Int]:
        where = self.condition(node.cond)
        yes, yes_type = self._read(node.iftrue)
        no, no_type = self._read(node.iffalse)
        type = _whole(node, usual(yes_type, no_type))
        yes, no = self._converted(node, yes, yes_type, type), self._converted(node, no, no_type, type)
        return self._indicator(where).cond(yes, no), type

    def _indicator(self, where: isl.Set) -> isl.PwAff:
        return where.indicator_function()

    def _assigned_type(self, node: Converted) -> Int:
        found = self.scope.find(node.target)
        return _whole(node, found.stored if isinstance(found, Variable) else INT)

    def _cast_type(self, node: c_ast.Cast) -> Int:
        if not isinstance(node.to_type.type, c_ast.TypeDecl):
            raise NotAffine(node, "it casts to a pointer")
        return _whole(node, number_type(node.to_type.type, self.scope.typedefs, self.source))

    def _converted(self, node: Any, value: isl.PwAff, type: Int, target: Int) -> isl.PwAff:
        """`value` of `type` as a value of `target`: a wider type needs the value itself."""
        return self._checked(node, value, type) if target.width > type.width else value

    def _checked(self, node: Any, value: isl.PwAff, type: Int) -> isl.PwAff:
        """`value` as it is in `type`, which `check` will prove it to be unless the domain is known."""
        if value.is_cst() and value.max_val().eq(value.min_val()):
            return self._number(type.wrap(value.max_val().to_python()))
        if self.domain is not None:
            return wrapped(value, self.domain, type)
        self.checks.append((node, value, type))
        return value


def _whole(node: Any, type: Number) -> Int:
    """`type` if it is an integer type. Raises `NotAffine`."""
    if not isinstance(type, Int):
        raise NotAffine(node, "it computes in floating point")
    return type


def _array_name(node: Any) -> str:
    return variable_name(node) or "it"


def value_range(value: isl.PwAff, domain: isl.Set, type: Int) -> tuple[int, int]:
    """Smallest and largest value on `domain`; one beyond `type` where there is none; 0, 0 on an empty domain."""
    values = isl.Map.from_pw_aff(value).intersect_domain(domain).range()
    if values.is_empty():
        return 0, 0
    low, high = values.dim_min_val(0), values.dim_max_val(0)
    return (low.to_python() if low.is_int() else type.minimum - 1,
            high.to_python() if high.is_int() else type.maximum + 1)


def wrapped(value: isl.PwAff, domain: isl.Set, type: Int) -> isl.PwAff:
    """`value` on `domain` converted to `type`, as an assignment does."""
    low, high = value_range(value, domain, type)
    if type.contains(low) and type.contains(high):
        return value
    offset = isl.Val(str(-type.minimum))
    return value.add_constant_val(offset).mod_val(isl.Val(str(1 << type.width))).add_constant_val(offset.neg())
