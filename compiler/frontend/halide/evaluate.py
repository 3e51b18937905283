"""Expressions of one stage as values of the intermediate representation.

Beside its typed expression a value has, where there is one, the quasi-affine function of the iterators that it is, and
a condition the set of iterations that fulfil it: coordinates, regions and domains are made of these. Funcs that are not
stored are evaluated in place.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import islpy as isl

from compiler.frontend.affine_functions import COMPARISONS, Space, chosen, constant_of, quotient, remainder
from compiler.frontend.c_scop import building
from compiler.frontend.halide import arithmetic
from compiler.frontend.halide.debugging import without_print
from compiler.frontend.halide.drafts import Element, Key
from compiler.frontend.halide.errors import PipelineError
from compiler.frontend.halide.intrinsics import TRANSPARENT, intrinsic
from compiler.frontend.halide.nodes import Func, Node
from compiler.frontend.halide.rounding import FLOAT_FUNCTIONS
from compiler.frontend.halide.types import INDEX, Number, number_type
from compiler.ir.expr import Const, Expr, Iterator, Read, children, postorder
from compiler.ir.ranges import Range, type_range, value_range
from compiler.ir.types import BIT, Float, Int

__all__ = ["Evaluator", "OwnFunc", "Surroundings", "Value"]


@dataclass(frozen=True)
class Value:
    """`index`: the function of the iterators that an integer is, exactly; `holds`: where a condition is fulfilled."""

    expr: Expr
    index: isl.PwAff | None = None
    holds: isl.Set | None = None


Environment = Mapping[str, Value]


class Surroundings(Protocol):
    """What expressions refer to beside the variables of their stage."""

    def inlined(self, name: str) -> Func | None:
        """The Func if its calls are evaluated in place, None if it is stored."""
        ...

    def known(self, node: Node) -> int | float | None:
        """The number that a parameter, or a variable of an input's size, has; None for a parameter that is read when
        the hardware runs. Raises `PipelineError`."""
        ...

    def table(self, node: Node, args: Sequence[Value], reader: Evaluator) -> Expr | None:
        """The element of a constant array, None if `node` calls something else."""
        ...

    def is_table(self, node: Node, args: Sequence[Value], reader: Evaluator) -> bool:
        """Whether a call of a Func that could be evaluated in place is better looked up in a table."""
        ...

    def gather(self, node: Node, args: Sequence[Value], reader: Evaluator) -> Expr:
        """The element of an array at a place that data decide. Raises `PipelineError`."""
        ...


class OwnFunc(Protocol):
    """The Func that a stage updates, where that needs a memory."""

    name: str

    def element(self, component: int, args: Sequence[Value], reader: Evaluator) -> Expr | None:
        """An element; None if it is read as that of any other Func."""
        ...


@dataclass
class Evaluator:
    """Evaluates expressions for the iterations `domain` of one stage, and collects the elements that they read.

    `loads`: accesses to memories that come before the stage's own statements, with what they give. `own`: the Func that
    is updated.
    """

    space: Space
    domain: isl.Set
    around: Surroundings
    reads: list[Element] = field(default_factory=list)
    loads: list[tuple[Element, Expr]] = field(default_factory=list)
    own: OwnFunc | None = None

    def __post_init__(self) -> None:
        self._numbers: dict[tuple, Read] = {}
        self._calls: dict[tuple, Value] = {}
        self._ranges: dict[int, tuple[Expr, Range]] = {}
        self._kept: list[object] = []

    def variables(self, names: Mapping[str, str]) -> dict[str, Value]:
        """The values of the stage's variables; `names` are the iterators'."""
        return {variable: Value(Iterator(name, INDEX), self.space.iterator(name)) for variable, name in names.items()}

    def restrict(self, condition: isl.Set) -> None:
        """Leave out iterations that do not fulfil a condition."""
        self.domain = self.domain.intersect(condition).coalesce()

    def value(self, root: Node, environment: Environment) -> Value:
        """The value of an expression, where its variables have the values of `environment`. Raises `PipelineError`."""
        return _Machine(self).run(root, environment)

    def read(self, key: Key, index: Sequence[isl.PwAff], type: Number) -> Expr:
        """The element of an array."""
        signature = (key, *map(str, index))
        if signature not in self._numbers:
            self._numbers[signature] = Read(len(self.reads), type)
            self.reads.append(Element(key, tuple(index)))
        return self._numbers[signature]

    def range(self, root: Expr) -> Range:
        """Between which numbers an expression is."""
        for node in postorder(root):
            if id(node) not in self._ranges:
                below = [self._ranges[id(child)][1] for child in children(node)]
                given = [type_range(node.type)] * (len(self.reads) + 1)
                self._ranges[id(node)] = node, value_range(node, below, given, self._bounds, _Tables())
        return self._ranges[id(root)][1]

    @property
    def _bounds(self) -> dict[str, Range]:
        return {name: (self.domain.dim_min_val(k).to_python(), self.domain.dim_max_val(k).to_python())
                for k, name in enumerate(self.space.iterators)}

    def fits(self, index: isl.PwAff, type: Number) -> isl.PwAff | None:
        """`index` if its numbers are all of `type`; overflow of 32 and 64 bits with sign has no meaning in Halide."""
        if not isinstance(type, Int) or type == BIT:
            return None
        if type.signed and type.width >= INDEX.width:
            return index
        values = isl.Map.from_pw_aff(index).intersect_domain(self.domain).range()
        low, high = values.dim_min_val(0), values.dim_max_val(0)
        return index if low.is_int() and high.is_int() and type.contains(low.to_python()) and \
            type.contains(high.to_python()) else None

    def condition(self, holds: isl.Set, expr: Expr) -> Value:
        """A condition, a constant where all iterations agree."""
        if self.domain.is_subset(holds):
            return Value(building.bit(True), holds=self.space.all(True))
        if self.domain.is_disjoint(holds):
            return Value(building.bit(False), holds=self.space.all(False))
        return Value(expr, holds=holds)


class _Tables(dict):
    """Nothing is known of tables here."""

    def __missing__(self, name: str) -> Range:
        return -(1 << 63), (1 << 64) - 1


class _Machine:
    """One evaluation with a stack of its own: (expression, environment) pairs that wait for others."""

    def __init__(self, evaluator: Evaluator) -> None:
        self._evaluator = evaluator
        self._results: dict[tuple[int, int], Value] = {}
        self._inner: dict[tuple[int, int], Environment] = {}

    def run(self, root: Node, environment: Environment) -> Value:
        """The value of `root`."""
        wanted_key = id(root), id(environment)
        stack: list[tuple[Node, Environment]] = [(root, environment)]
        while stack:
            node, environment = stack[-1]
            if (id(node), id(environment)) in self._results:
                stack.pop()
                continue
            wanted = self._wanted(node, environment)
            if not wanted:
                stack.pop()
            stack.extend(wanted)
        return self._results[wanted_key]

    def _wanted(self, node: Node, environment: Environment) -> list[tuple[Node, Environment]]:
        """What has to be evaluated before `node`; nothing once its result is there."""
        if node.op == "let":
            return self._let(node, environment)
        shown = without_print(node)
        if shown is not node:
            return self._inside(node, environment, shown, lambda: environment)
        missing = [(arg, environment) for arg in node.args if (id(arg), id(environment)) not in self._results]
        if missing:
            return missing
        args = [self._results[id(arg), id(environment)] for arg in node.args]
        func = self._evaluator.around.inlined(node.name) if node.op == "halide" else None
        if func is not None and not self._evaluator.around.is_table(node, args, self._evaluator):
            return self._call(func, node, args, environment)
        self._results[id(node), id(environment)] = _computed(node, args, environment, self._evaluator)
        return []

    def _let(self, node: Node, environment: Environment) -> list[tuple[Node, Environment]]:
        given, body = node.args
        if (id(given), id(environment)) not in self._results:
            return [(given, environment)]
        value = self._results[id(given), id(environment)]
        return self._inside(node, environment, body, lambda: {**environment, node.name: value})

    def _call(self, func: Func, node: Node, args: list[Value],
              environment: Environment) -> list[tuple[Node, Environment]]:
        """Evaluate the Func's definition for these arguments, unless that is done."""
        calls = self._evaluator._calls
        signature = (func.name, node.index, *(str(a.index) if a.index is not None else id(a.expr) for a in args))
        if signature in calls:
            self._results[id(node), id(environment)] = calls[signature]
            return []
        self._evaluator._kept.append(args)
        wanted = self._inside(node, environment, func.stages[0].values[node.index],
                              lambda: dict(zip(func.args, args, strict=True)))
        if not wanted:
            calls[signature] = self._results[id(node), id(environment)]
        return wanted

    def _inside(self, node: Node, environment: Environment, body: Node,
                enter: Callable[[], Environment]) -> list[tuple[Node, Environment]]:
        key = id(node), id(environment)
        if key not in self._inner:
            self._inner[key] = enter()
        inner = self._inner[key]
        if (id(body), id(inner)) not in self._results:
            return [(body, inner)]
        self._results[key] = self._results[id(body), id(inner)]
        return []


# Single nodes.


def _computed(node: Node, args: list[Value], environment: Environment, evaluator: Evaluator) -> Value:
    if node.op in _LEAVES:
        return _LEAVES[node.op](node, environment, evaluator)
    if node.op in _CALLS:
        return _CALLS[node.op](node, args, evaluator)
    if node.op in COMPARISONS:
        return _comparison(node.op, args, evaluator)
    if node.op in ("and", "or", "not"):
        return _logic(node.op, args, evaluator)
    if node.op == "select":
        return _select(args[0], args[1], args[2], evaluator)
    if node.op in ("cast", "reinterpret"):
        return _cast(node, args[0], evaluator)
    return _operator(node.op, args, evaluator)


def _number(node: Node, environment: Environment, evaluator: Evaluator) -> Value:
    if isinstance(node.value, str):
        raise PipelineError("it contains text, which has no value in hardware")
    return _constant(node.value, number_type(node.type), evaluator)


def _constant(value: float, type: Number, evaluator: Evaluator) -> Value:
    if type == BIT:
        return Value(building.bit(bool(value)), holds=evaluator.space.all(bool(value)))
    expr = arithmetic.constant(value, type)
    return Value(expr, evaluator.space.constant(expr.value) if isinstance(type, Int) else None)


def _variable(node: Node, environment: Environment, evaluator: Evaluator) -> Value:
    if node.name in environment:
        return environment[node.name]
    if not node.param:
        raise PipelineError(f"it uses the variable '{node.name}', which is none of this stage")
    type, value = number_type(node.type), evaluator.around.known(node)
    if value is None:
        return Value(evaluator.read((node.param, 0), [evaluator.space.constant(0)], type))
    return _constant(value, type, evaluator)


def _operator(op: str, args: list[Value], evaluator: Evaluator) -> Value:
    a, b = (arg.expr for arg in args)
    if op in ("div", "mod"):
        if op == "mod" and isinstance(a.type, Float):
            raise PipelineError("'%' of floating-point numbers has no hardware: cast to an integer type")
        expr = arithmetic.divided(op, a, b, evaluator.range)
    else:
        expr = arithmetic.BINARY[op](a, b)
    index = _affine(op, *(arg.index for arg in args))
    return _indexed(expr, index, evaluator)


def _indexed(expr: Expr, index: isl.PwAff | None, evaluator: Evaluator) -> Value:
    if isinstance(expr, Const) and isinstance(expr.type, Int) and expr.type != BIT:
        return Value(expr, evaluator.space.constant(expr.value))
    return Value(expr, None if index is None else evaluator.fits(index, expr.type))  # type: ignore[arg-type]


def _affine(op: str, a: isl.PwAff | None, b: isl.PwAff | None) -> isl.PwAff | None:
    if a is None or b is None:
        return None
    if op in _FREE:
        return _FREE[op](a, b)
    known = constant_of(b)
    if op == "mul":
        known, a = (known, a) if known is not None else (constant_of(a), b)
        return None if known is None else a.scale_val(isl.Val(known))
    if not known:
        return None
    return quotient(a, known) if op == "div" else remainder(a, known)


_FREE: dict[str, Callable[[isl.PwAff, isl.PwAff], isl.PwAff]] = {
    "add": isl.PwAff.add, "sub": isl.PwAff.sub, "min": isl.PwAff.min, "max": isl.PwAff.max,
}


def _comparison(op: str, args: list[Value], evaluator: Evaluator) -> Value:
    a, b = args
    expr = arithmetic.BINARY[op](a.expr, b.expr)
    if a.index is None or b.index is None:
        return Value(expr)
    return evaluator.condition(COMPARISONS[op](a.index, b.index), expr)


def _logic(op: str, args: list[Value], evaluator: Evaluator) -> Value:
    sets = [arg.holds for arg in args]
    if op == "not":
        expr = building.negation(args[0].expr)
        return Value(expr) if sets[0] is None else evaluator.condition(sets[0].complement(), expr)
    expr = arithmetic.BINARY[op](*(arg.expr for arg in args))
    if sets[0] is None or sets[1] is None:
        return Value(expr)
    return evaluator.condition(sets[0].intersect(sets[1]) if op == "and" else sets[0].union(sets[1]), expr)


def _select(condition: Value, yes: Value, no: Value, evaluator: Evaluator) -> Value:
    if isinstance(condition.expr, Const):
        return yes if condition.expr.value else no
    expr = arithmetic.chosen(condition.expr, yes.expr, no.expr)
    if condition.holds is None:
        return Value(expr)
    if yes.index is not None and no.index is not None:
        return _indexed(expr, chosen(condition.holds, yes.index, no.index), evaluator)
    if yes.holds is not None and no.holds is not None:
        there, elsewhere = yes.holds.intersect(condition.holds), no.holds.subtract(condition.holds)
        return evaluator.condition(there.union(elsewhere), expr)
    return Value(expr)


def _cast(node: Node, arg: Value, evaluator: Evaluator) -> Value:
    type, source = number_type(node.type), arg.expr.type
    if node.op == "reinterpret" and type != source and any(isinstance(t, Float) for t in (type, source)):
        raise PipelineError(f"the bits of {source} cannot be taken as {type}")
    if type == BIT and source != BIT and arg.index is not None:
        odd = remainder(arg.index, 2).eq_set(evaluator.space.constant(1))
        return evaluator.condition(odd, arithmetic.converted(arg.expr, type))
    expr = arithmetic.converted(arg.expr, type)
    if arg.holds is not None and isinstance(type, Int) and type != BIT:
        ones = chosen(arg.holds, evaluator.space.constant(1), evaluator.space.constant(0))
        return _indexed(expr, ones, evaluator)
    return Value(expr, holds=arg.holds) if type == BIT else _indexed(expr, arg.index, evaluator)


def _intrinsic(node: Node, args: list[Value], evaluator: Evaluator) -> Value:
    if node.name in TRANSPARENT:
        return args[0]
    type = number_type(node.type)
    expr = intrinsic(node.name, [arg.expr for arg in args], type)
    return _indexed(expr, _affine_intrinsic(node.name, args), evaluator) if type != BIT else Value(expr)


def _affine_intrinsic(name: str, args: list[Value]) -> isl.PwAff | None:
    index = args[0].index if args else None
    if index is None:
        return None
    if name == "abs":
        return index.max(index.neg())
    amount = constant_of(args[1].index) if len(args) > 1 else None
    if amount is None or not 0 <= amount < INDEX.maximum:
        return None
    if name == "shift_left" and amount < INDEX.width:
        return index.scale_val(isl.Val(1 << amount))
    if name == "shift_right" and amount < INDEX.width:
        return quotient(index, 1 << amount)
    return remainder(index, amount + 1) if name == "bitwise_and" and amount & (amount + 1) == 0 else None


def _extern(node: Node, args: list[Value], evaluator: Evaluator) -> Value:
    if node.name in FLOAT_FUNCTIONS:
        return Value(FLOAT_FUNCTIONS[node.name](args[0].expr))
    raise PipelineError(f"there is no hardware for the function '{node.name}'; call it in a Func of its own that uses "
                        "no input: Halide evaluates that one")


def _access(node: Node, args: list[Value], evaluator: Evaluator) -> Value:
    """A call of a stored Func, or an element of an input."""
    if node.op == "halide" and evaluator.own is not None and node.name == evaluator.own.name:
        own = evaluator.own.element(node.index, args, evaluator)
        if own is not None:
            return Value(own)
    table = evaluator.around.table(node, args, evaluator)
    if table is not None:
        return _indexed(table, None, evaluator) if table.type != BIT else Value(table)
    if any(arg.index is None for arg in args):
        return Value(evaluator.around.gather(node, args, evaluator))
    key = (node.name, node.index if node.op == "halide" else 0)
    index = [arg.index for arg in args]
    return Value(evaluator.read(key, index, number_type(node.type)))  # type: ignore[arg-type]


_LEAVES: dict[str, Callable[[Node, Environment, Evaluator], Value]] = {
    "int": _number, "uint": _number, "float": _number, "string": _number, "variable": _variable,
}
_CALLS: dict[str, Callable[[Node, list[Value], Evaluator], Value]] = {
    "halide": _access, "image": _access, "intrinsic": _intrinsic, "extern": _extern,
}
