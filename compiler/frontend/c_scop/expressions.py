"""C expressions to typed expression trees, with C's promotions and conversions made explicit.

Arithmetic is done in the type that C prescribes, at least 32 bits; `compiler.ir.narrow` reduces it afterwards where
that changes nothing. Shift amounts outside 0..width-1 are undefined in C: constant ones are an error, others shift
everything out. Division and remainder round towards zero; those by constants become multiplications and shifts when
arithmetic is narrowed.

Comparisons of a float with a constant of type double that is a float are those of floats; sums, products, quotients and
roots of floats in double that are converted to float at once are rounded only once (as in ``x * 0.5``), since the
result is the same.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import islpy as isl
from pycparser import c_ast

from compiler.frontend.affine_functions import pieces_of
from compiler.frontend.c_scop import building
from compiler.frontend.c_scop.affine import AffineReader, DataDependent, NotAffine, value_range
from compiler.frontend.c_scop.branches import Selection
from compiler.frontend.c_scop.constants import NotConstant, literal_constant
from compiler.frontend.c_scop.data_addresses import (
    Condition,
    DataAddress,
    DataArrays,
    Hoisted,
    fits,
    guarded,
    known_range,
    row_major_index,
    scalar,
    tree_text,
    words,
)
from compiler.frontend.c_scop.errors import ScopError
from compiler.frontend.c_scop.library import LIBRARY, call_library
from compiler.frontend.c_scop.normalize.trees import Converted, accessed
from compiler.frontend.c_scop.numbers import arithmetic_type
from compiler.frontend.c_scop.sizes import size_constant
from compiler.frontend.c_scop.types import BAD_STRUCTURE, INT, Number, number_type, promote, usual
from compiler.frontend.c_scop.typing_rules import type_of
from compiler.frontend.c_scop.variables import Variable
from compiler.ir import expr
from compiler.ir.constant_division import check_divisor
from compiler.ir.expr import Const, Expr, Lookup
from compiler.ir.floating import encode_exact
from compiler.ir.types import FLOAT32, FLOAT64, Float, Int

__all__ = ["Element", "Lowering", "Split"]

_ARITHMETIC = {"+": "add", "-": "sub", "*": "mul", "&": "and", "|": "or", "^": "xor"}
_SHIFTS = {"<<": "shl", ">>": "shr"}
_COMPARE = {"<": "lt", "<=": "le", ">": "gt", ">=": "ge", "==": "eq", "!=": "ne"}
_REFUSED: dict[type, str] = {
    c_ast.Assignment: "an assignment inside an expression is made a statement of its own only if it takes place in any "
                      "case and nothing else in the expression has its variable; write that statement",
    c_ast.StructRef: BAD_STRUCTURE,
    c_ast.InitList: "an array can be initialised only where it is declared const",
    c_ast.CompoundLiteral: "compound literals are not supported",
}
_UNARY_REFUSED = {
    "*": "pointers are not supported; use subscripts", "&": "pointers are not supported; use subscripts",
    "_Alignof": "_Alignof is not supported",
}


class Split(Exception):
    """A condition on iterators that holds for a part of the statement's domain only: `where`."""

    def __init__(self, where: isl.Set) -> None:
        super().__init__()
        self.where = where


@dataclass(frozen=True)
class Element:
    """An access to `variable`; `map` goes from iterations (an anonymous set) to subscripts."""

    variable: Variable
    map: isl.Map
    place: Any


@dataclass
class Lowering:
    """Lowers the expressions of one statement for the iterations in `domain`; `names` are the IR's iterator names.

    `hoisted`: loads before the statement, by what they load where; `conditions` under which C evaluates an operand.
    """

    reader: AffineReader
    domain: isl.Set
    names: tuple[str, ...]
    unwritten: frozenset[Variable] = frozenset()
    reads: list[Element] = field(default_factory=list)
    data: DataArrays = field(default_factory=DataArrays)
    hoisted: dict[tuple[str, ...], Hoisted] = field(default_factory=dict)
    conditions: tuple[Condition, ...] = ()

    def value(self, node: Any) -> Expr:
        """The value of `node`; its type is the one it has in C. Raises `ScopError` and `Split`."""
        match node:
            case c_ast.Constant():
                return self._literal(node)
            case c_ast.ID():
                return self._name(node)
            case c_ast.ArrayRef():
                return self._element(node)
            case c_ast.UnaryOp(op="sizeof"):
                return self._literal(size_constant(node, self.reader.scope))
            case c_ast.UnaryOp():
                return self._unary(node)
            case c_ast.BinaryOp():
                return self._binary(node)
            case c_ast.TernaryOp():
                return self._ternary(node)
            case c_ast.ExprList():
                return self._last(node)
            case c_ast.Cast():
                return self.converted(node.expr, self._cast_type(node))
            case Converted():
                found = self.reader.scope.find(node.target)
                return self.converted(node.expr, found.stored if isinstance(found, Variable) else INT)
            case c_ast.FuncCall():
                name = node.name.name if isinstance(node.name, c_ast.ID) else "a function"
                if name in LIBRARY:
                    return self._library(node, name)
                raise self._error(node, f"calls {name}(); functions cannot be called in a scop")
        raise self._error(node, _REFUSED.get(type(node), f"{type(node).__name__} is not supported"))

    def converted(self, node: Any, type: Number) -> Expr:
        """The value of `node` as if assigned to a variable of `type`."""
        return building.cast(self.value(node), type)

    def values(self, node: Any) -> tuple[int, int, Int] | None:
        """Least and greatest value of `node`, and its type, whatever is in arrays; None if it is no integer, or nothing
        that is known as a whole."""
        try:
            value = self.value(node)
        except (ScopError, Split):
            return None
        if not isinstance(type := arithmetic_type(value), Int):
            return None
        types = [element.variable.type for element in self.reads]
        return *known_range(value, types, self.names, self.domain, self.reader.scope), type

    def element(self, node: Any) -> Element:
        """The variable and subscripts of an lvalue. Raises `ScopError`."""
        name, subscripts = self._subscripts(node)
        variable = self._variable(name)
        if len(subscripts) != len(variable.shape):
            raise self._error(node, _count_message(variable, len(subscripts)))
        try:
            functions = [self.reader.function(subscript) for subscript in subscripts]
        except NotAffine as error:
            if isinstance(error, DataDependent) and not variable.scalar:
                raise DataAddress(variable.array) from None
            reason = f"subscript of '{variable.name}' is not affine: {error.reason}"
            raise self._error(error.node, reason) from None
        self.reader.check(self.domain)
        return Element(variable, self._map(functions or [self._zero()]), self.reader.source.place(node.coord))

    def _error(self, node: Any, reason: str) -> ScopError:
        return ScopError(self.reader.source.place(node.coord), reason)

    def _zero(self) -> isl.PwAff:
        space = isl.LocalSpace.from_space(self.domain.get_space())
        return isl.PwAff.from_aff(isl.Aff.zero_on_domain(space))

    def scalar_map(self) -> isl.Map:
        """The access of a scalar."""
        return self._map([self._zero()])

    @staticmethod
    def _map(functions: list[isl.PwAff]) -> isl.Map:
        result = isl.Map.from_pw_aff(functions[0])
        for function in functions[1:]:
            result = result.flat_range_product(isl.Map.from_pw_aff(function))
        return result

    def _subscripts(self, node: Any) -> tuple[c_ast.ID, list[Any]]:
        node, subscripts = accessed(node)
        if isinstance(node, c_ast.ID):
            return node, subscripts
        if isinstance(node, c_ast.UnaryOp) and node.op in _UNARY_REFUSED:
            raise self._error(node, _UNARY_REFUSED[node.op])
        raise self._error(node, _REFUSED.get(type(node), "only variables and elements of arrays can be used here"))

    def _variable(self, node: c_ast.ID) -> Variable:
        if node.name in self.reader.iterators:
            raise self._error(node, f"'{node.name}' is the iterator of a loop and cannot be changed in it; "
                                    "step it in the head of the loop, or change a copy of it")
        found = self.reader.scope.find(node.name)
        if isinstance(found, Variable):
            return found
        reason = "is not declared" if found is None else "is a constant"
        raise self._error(node, f"'{node.name}' {reason}")

    def _last(self, node: c_ast.ExprList) -> Expr:
        """The value of a comma operator, whose other operands have no effect."""
        for part in node.exprs[:-1]:
            reads = len(self.reads)
            self.value(part)
            del self.reads[reads:]
        return self.value(node.exprs[-1])

    # Leaves.

    def _literal(self, node: c_ast.Constant) -> Expr:
        try:
            return Const(*literal_constant(node))
        except NotConstant as error:
            raise self._error(node, error.reason) from None

    def _name(self, node: c_ast.ID) -> Expr:
        if node.name in self.reader.iterators:
            return self._iterator(node)
        found = self.reader.scope.find(node.name)
        if isinstance(found, int):
            return Const(found, INT)
        variable = self._variable(node)
        if variable.constant is not None:
            return Const(variable.constant, variable.type)
        if variable in self.unwritten:
            if variable not in self.reader.locals:
                reason = self.reader.unknown.get(variable, f"'{node.name}' has no value that is known here")
                raise self._error(node, f"{reason}; count in a variable of its own")
            return self._iterator(node)
        return self._read(self.element(node))

    def _iterator(self, node: c_ast.ID) -> Expr:
        """The value of a loop's variable, which is affine in the iterators of the statement."""
        entry = self.reader.entry(node.name)
        assert entry is not None
        type = entry.type
        value = self.reader.function(node)
        pieces = pieces_of(value.gist(self.domain))
        if len(pieces) > 1:
            raise Split(pieces[0][0])
        function = pieces[0][1]
        if function.dim(isl.dim_type.div):  # an equation of the domain may have brought the quotient in
            pieces = pieces_of(value)
            function = pieces[0][1] if len(pieces) == 1 else function
        whole = Int(max(32, type.width), type.signed)
        return building.cast(building.affine(function, self.names, whole, self.domain), type)

    def _element(self, node: c_ast.ArrayRef) -> Expr:
        name, subscripts = self._subscripts(node)
        variable = self._variable(name)
        if variable.fixed and len(subscripts) == len(variable.shape):
            return self._constant_element(node, variable, subscripts)
        if variable.array in self.data.names:
            return self._load(node)
        return self._read(self.element(node))

    def address(self, node: Any) -> tuple[str, Variable, Expr]:
        """Memory, array and word of an element; 0 where C does not evaluate it. Raises `ScopError` and `Split`."""
        name, subscripts = self._subscripts(node)
        variable = self._variable(name)
        if len(subscripts) != len(variable.shape):
            raise self._error(node, _count_message(variable, len(subscripts)))
        place = self.reader.source.place(node.coord)
        memory = self.data.memory(variable, self.reader.scope, place)
        parts = [self.value(subscript) for subscript in subscripts]
        for subscript, part in zip(subscripts, parts, strict=True):
            if isinstance(arithmetic_type(part), Float):
                raise self._error(subscript, f"subscript of '{variable.name}' is a floating-point number")
        index = row_major_index([building.cast(part, INT) for part in parts], variable)
        types = [element.variable.type for element in self.reads]
        if not self.conditions or fits(index, types, self.names, self.domain, self.reader.scope, words(variable)):
            return memory, variable, index
        return memory, variable, guarded(index, self.evaluated_conditions())

    def elements(self, node: Any) -> isl.Map | None:
        """The elements that an lvalue is, None if that depends on data."""
        try:
            functions = [self.reader.function(subscript) for subscript in self._subscripts(node)[1]]
            self.reader.check(self.domain)
        except (NotAffine, ScopError):
            return None
        return self._map(functions)

    def evaluated_conditions(self) -> list[Expr]:
        """Whether each of `conditions` holds; C evaluates one where those before it hold. Raises `Split`."""
        return [self.under(self.conditions[:k])._condition(condition) for k, condition in enumerate(self.conditions)]

    def _condition(self, condition: Condition) -> Expr:
        value = self.truth(condition.node)
        return value if condition.holds else building.negation(value)

    def under(self, conditions: tuple[Condition, ...]) -> Lowering:
        """The same statement, where C evaluates what follows under `conditions`."""
        return replace(self, conditions=conditions)

    def _load(self, node: c_ast.ArrayRef) -> Expr:
        """The scalar that a load before the statement sets."""
        texts = (f"{'' if c.holds else '!'}{tree_text(c.node)}" for c in self.conditions)
        key = (tree_text(node), *texts)
        if key not in self.hoisted:
            inside = replace(self, reads=[])
            memory, variable, index = inside.address(node)
            place = self.reader.source.place(node.coord)
            value = expr.Load(memory, index, (), variable.type)
            result = scalar(self.reader.scope, f"{variable.array}_load", variable.type, place)
            self.hoisted[key] = Hoisted(result, value, tuple(inside.reads))
        return self._read(Element(self.hoisted[key].variable, self.scalar_map(), self.hoisted[key].variable.place))

    def _constant_element(self, node: c_ast.ArrayRef, variable: Variable, subscripts: list[Any]) -> Expr:
        """An element of a constant array: known, or a table lookup."""
        assert variable.values is not None
        index: Expr = Const(0, INT)
        for size, subscript in zip(variable.shape, subscripts, strict=True):
            known = self._known_index(node, variable, subscript, size or 1)
            if known is None and isinstance(arithmetic_type(self.value(subscript)), Float):
                raise self._error(subscript, f"subscript of '{variable.name}' is a floating-point number")
            scaled = building.apply("mul", index, Const(size or 1, INT))
            place = self.converted(subscript, INT) if known is None else Const(known, INT)
            index = building.apply("add", scaled, place)
        if isinstance(index, Const):
            return Const(variable.values[index.value], variable.type)
        return Lookup(variable.array, index, variable.type)

    def _known_index(self, node: Any, variable: Variable, subscript: Any, size: int) -> int | None:
        """The value of a subscript of a constant array that has only one, else None. Raises `ScopError` if an affine
        one leaves the array."""
        try:
            function = self.reader.function(subscript)
        except NotAffine:
            return None
        low, high = value_range(function, self.domain, INT)
        if low < 0 or high >= size:
            outside = low if low < 0 else high
            raise self._error(node, f"subscript of '{variable.name}' reaches {outside}, outside 0..{size - 1}")
        return low if low == high else None

    def _read(self, element: Element) -> Expr:
        if element.variable.scalar and element.variable.pointer:
            raise ScopError(element.place, f"'{element.variable.name}' is a pointer")
        for number, known in enumerate(self.reads):
            if known.variable is element.variable and known.map.is_equal(element.map):
                return expr.Read(number, element.variable.type)
        self.reads.append(element)
        return expr.Read(len(self.reads) - 1, element.variable.type)

    def _library(self, node: c_ast.FuncCall, name: str) -> Expr:
        """A call of a function of the standard library."""
        given, types = node.args.exprs if node.args else [], LIBRARY[name]
        if len(given) != len(types):
            raise self._error(node, f"{name}() has {len(types)} parameters, not {len(given)}")
        return call_library(name, [self.converted(part, type) for part, type in zip(given, types, strict=True)])

    # Operators.

    def _cast_type(self, node: c_ast.Cast) -> Number:
        if not isinstance(node.to_type.type, c_ast.TypeDecl):
            raise self._error(node, "pointers are not supported; use subscripts")
        return number_type(node.to_type.type, self.reader.scope.typedefs, self.reader.source)

    def _unary(self, node: c_ast.UnaryOp) -> Expr:
        if node.op == "!":
            return building.as_int(building.negation(self.truth(node.expr)))
        if node.op in ("-", "+", "~"):
            operand = self._promoted(node.expr)
            if node.op == "+":
                return operand
            if isinstance(operand.type, Float):
                return building.apply("neg", self._whole(node, operand) if node.op == "~" else operand)
            if node.op == "-":
                return building.apply("sub", Const(0, operand.type), operand)
            return building.apply("xor", operand, Const(building.integer(operand).wrap(-1), operand.type))
        refused = (f"'{node.op.removeprefix('p')}' inside an expression is made a statement of its own only if it "
                   "takes place in any case and nothing else in the expression has its variable; write that statement")
        raise self._error(node, _UNARY_REFUSED.get(node.op, refused))

    def _promoted(self, node: Any) -> Expr:
        value = self.value(node)
        return building.cast(value, promote(arithmetic_type(value)))

    def _whole(self, node: Any, operand: Expr) -> Expr:
        """`operand` if it is an integer. Raises `ScopError`."""
        if isinstance(operand.type, Float):
            raise self._error(node, f"'{node.op}' takes integers, not floating-point numbers")
        return operand

    def _binary(self, node: c_ast.BinaryOp) -> Expr:
        if node.op in ("&&", "||"):
            return building.as_int(self.truth(node))
        if node.op in _SHIFTS:
            return self._shift(node)
        operands = self.value(node.left), self.value(node.right)
        if node.op in _COMPARE:
            left, right = self._balanced(node, *_as_floats(*operands))
            return building.as_int(building.apply(_COMPARE[node.op], left, right))
        left, right = self._balanced(node, *operands)
        if node.op not in ("+", "-", "*", "/"):
            self._whole(node, left)
        if node.op in _ARITHMETIC:
            return building.apply(_ARITHMETIC[node.op], left, right)
        return self._divided(node, left, right)

    def _balanced(self, node: Any, left: Expr, right: Expr) -> tuple[Expr, Expr]:
        """Both operands of `node` in their common type."""
        type = usual(arithmetic_type(left), arithmetic_type(right))
        return building.cast(left, type), building.cast(right, type)

    def _shift(self, node: c_ast.BinaryOp) -> Expr:
        value, amount = (self._whole(node, self._promoted(part)) for part in (node.left, node.right))
        type = building.integer(value)
        width = type.width
        if isinstance(amount, Const) and not 0 <= amount.value < width:
            raise self._error(node, f"shift by {amount.value}: amounts outside 0..{width - 1} are undefined")
        return building.apply(_SHIFTS[node.op], value, building.cast(amount, type))

    def _divided(self, node: c_ast.BinaryOp, left: Expr, right: Expr) -> Expr:
        if isinstance(right, Const) and isinstance(right.type, Float):
            inverse = building.apply("div", Const(encode_exact(right.type, Fraction(1)), right.type), right)
            power = isinstance(inverse, Const) and building.is_power_of_two(inverse)
            return building.apply("mul", left, inverse) if power else building.apply("div", left, right)
        if isinstance(right, Const) and isinstance(right.type, Int) and right.value == right.type.minimum < 0:
            return _divided_by_lowest(node.op, left, right)
        refused = check_divisor(building.integer(left), right.value) if isinstance(right, Const) else None
        if refused:
            raise self._error(node, f"'{node.op}' by {right.value}: {refused}")
        return building.apply("div" if node.op == "/" else "rem", left, right)

    def _ternary(self, node: c_ast.TernaryOp) -> Expr:
        where = self.truth(node.cond)
        if isinstance(node, Selection):
            return self._selection(node, where)
        if isinstance(where, Const):
            return self._promoted_as(node, node.iftrue if where.value else node.iffalse)
        yes, no = self._balanced(node, *self._branches(node))
        return building.select(where, yes, no)

    def _selection(self, node: Selection, where: Expr) -> Expr:
        """A value of the type of what it is assigned to."""
        type = self.element(node.target).variable.stored
        if isinstance(where, Const):
            return self.converted(node.iftrue if where.value else node.iffalse, type)
        yes, no = self._branches(node)
        assert isinstance(yes.type, Int | Float) and isinstance(no.type, Int | Float)
        common = usual(yes.type, no.type)
        if _holds(common, yes.type) and _holds(common, no.type):
            return building.select(where, building.cast(yes, common), building.cast(no, common))
        return building.select(where, building.cast(yes, type), building.cast(no, type))

    def _branches(self, node: c_ast.TernaryOp) -> tuple[Expr, Expr]:
        """Both values of a selection, of which C evaluates one."""
        yes, no = (self.under((*self.conditions, Condition(node.cond, holds))) for holds in (True, False))
        return yes.value(node.iftrue), no.value(node.iffalse)

    def _promoted_as(self, node: c_ast.TernaryOp, chosen: Any) -> Expr:
        """The chosen branch, in the type that both branches have in common."""
        other = node.iffalse if chosen is node.iftrue else node.iftrue
        value = self.value(chosen)
        type = type_of(other, self.reader.scope, self.reader.iterators)
        return self._balanced(node, value, Const(0, type))[0]

    def truth(self, node: Any) -> Expr:
        """`node` as a condition: one bit. A condition on iterators is true or false on `domain`, or splits it."""
        known = self._decided(node)
        if known is not None:
            return building.bit(known)
        match node:
            case c_ast.BinaryOp() if node.op in ("&&", "||"):
                left = self.truth(node.left)
                if isinstance(left, Const) and left.value == (node.op == "||"):
                    return left
                right = self.under((*self.conditions, Condition(node.left, node.op == "&&")))
                return building.logic(node.op, left, right.truth(node.right))
            case c_ast.UnaryOp(op="!"):
                return building.negation(self.truth(node.expr))
        return building.truth(self.value(node))

    def _decided(self, node: Any) -> bool | None:
        """The constant truth of `node` if it is exactly affine, None if it is not. Raises `Split`."""
        where = self.reader.settled(node, self.domain)
        if where is None:
            return None
        if self.domain.is_subset(where):
            return True
        if self.domain.is_disjoint(where):
            return False
        raise Split(where)


def _divided_by_lowest(op: str, left: Expr, lowest: Const) -> Expr:
    """``left / lowest`` or ``left % lowest``: only the lowest number itself is divided once, all others never."""
    equal = building.apply("eq", left, lowest)
    if op == "/":
        return building.cast(equal, building.integer(left))
    return building.select(equal, Const(0, left.type), left)


def _as_floats(left: Expr, right: Expr) -> tuple[Expr, Expr]:
    """A comparison of a float with a constant of type double that is a float: both as floats."""
    operands = []
    for operand, other in ((left, right), (right, left)):
        if isinstance(operand, Const) and operand.type == FLOAT64 and other.type == FLOAT32:
            single = building.cast(operand, FLOAT32)
            operand = single if building.cast(single, FLOAT64) == operand else operand
        operands.append(operand)
    return operands[0], operands[1]


def _count_message(variable: Variable, count: int) -> str:
    if variable.scalar:
        return f"'{variable.name}' is a scalar and has no subscripts"
    missing = "" if count else "; arrays cannot be used as a whole"
    return f"'{variable.name}' has {len(variable.shape)} dimensions and is used with {count} subscripts{missing}"


def _holds(common: Number, type: Number) -> bool:
    """Whether every value of an integer type is one of `common`, too."""
    return isinstance(common, Int) and isinstance(type, Int) and common.contains(type.minimum) and \
        common.contains(type.maximum)
