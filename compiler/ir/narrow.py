"""Narrowing: the same values with less arithmetic.

C computes in at least 32 bits. Often fewer give the same result, for one of two reasons:

* **Demand.** If only the low bits of a sum, difference, product, left shift or bitwise operation are used, the low bits
  of its operands determine them.
* **Range.** If all operands of an operation provably fit a narrower type, and so does its result, it can be done there.
  Right shifts, comparisons, minima, maxima, absolute values and divisions by constants need this.

`narrow` rewrites the values of all statements, and the types of intermediate arrays, so that every operation has the
smallest width out of 16, 32 and 64 that its operands allow. Operations are not made narrower than 16 bits: words of
common targets have that many, and 8-bit results of wider operations only need a cast at the end. Every statement
stores exactly what it stored before (intermediate arrays: exactly, or the low bits if nobody uses more).

Floating-point numbers have one width. Statements with any of them stay as they are; what they store is not known to be
small, and they use all bits of what they read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from compiler.ir.affine_index import ValueRanges, iterator_ranges, value_ranges
from compiler.ir.constant_division import constant_divisor, quotient, remainder, without_divisions
from compiler.ir.expr import (
    Apply,
    Cast,
    Const,
    Expr,
    Iterator,
    Load,
    Lookup,
    Read,
    Store,
    children,
    fold,
    postorder,
    with_children,
)
from compiler.ir.expr import apply as checked_apply
from compiler.ir.program import Array, Program, Statement
from compiler.ir.ranges import Range, hull, type_range, value_range
from compiler.ir.sum_ranges import Rule, accumulated_range
from compiler.ir.types import BIT, Float, Int, Type
from hw.ops import DIVISIONS, OPERATIONS

__all__ = ["array_ranges", "narrow", "narrow_value", "table_ranges"]

_WIDTHS = (16, 32, 64)
_MODULAR = {"pass", "add", "sub", "mul", "mad", "and", "or", "xor", "shl", "select"}
_BY_VALUE = {"abs", "absd", *DIVISIONS}
"""Operations that need the values of their operands, and whose low bits are those of the result in a type as wide."""
_EXACT = {"shr", "min", "max", "abs", "absd", *DIVISIONS}
_COMPARE = {"eq", "ne", "lt", "le", "gt", "ge"}
_PASSES = 4
"""How often ranges of intermediate arrays are propagated; those that still grow are given up."""


def narrow(program: Program) -> Program:
    """`program` with the narrowest arithmetic that computes the same outputs.

    `program` must be verified. Types of inputs, outputs and tables, accesses, domains and order stay.
    """
    ranges = array_ranges(program)
    integers = [a for a in program.arrays if isinstance(a.type, Int)]
    program = _retyped(program, {a.name: _array_type(a, ranges[a.name]) for a in integers})
    program = _rewritten(program, ranges)
    demands = _demands(program)
    if demands:
        program = _rewritten(_retyped(program, demands), ranges)
    return program


def narrow_value(value: Expr, reads: list[Range], iterators: Mapping[str, Range],
                 tables: Mapping[str, Range]) -> Expr:
    """`value` rewritten. `reads`, `iterators` and `tables` are the ranges of what it refers to.

    An expression that nests deeper than Python's recursion limit allows stays as it is.
    """
    try:
        return _Narrower(value, reads, iterators, tables).result()
    except RecursionError:
        return value


# Expressions.


class _Narrower:
    """Rewrites one expression; both caches are keyed by node object, since trees may share nodes."""

    def __init__(self, value: Expr, reads: list[Range], iterators: Mapping[str, Range],
                 tables: Mapping[str, Range]) -> None:
        self._value = value
        self._ranges: dict[int, Range] = {}
        self._low: dict[tuple[int, Int], Expr] = {}
        self._exact: dict[int, Expr] = {}

        def step(node: Expr, arguments: list[Range]) -> Range:
            found = value_range(node, arguments, reads, iterators, tables)
            self._ranges[id(node)] = found
            return found

        fold(value, step)

    def result(self) -> Expr:
        """The whole expression in its own type."""
        type = self._value.type
        assert isinstance(type, Int)
        return self._exact_value(self._value) if type == BIT else self._stored(self._value, type)

    def _range(self, node: Expr) -> Range:
        return self._ranges[id(node)]

    def _stored(self, node: Expr, type: Int) -> Expr:
        """The low bits of `node` as `type`; narrow types are computed in 16 bits and cut."""
        if isinstance(node, Load) and node.type == type:
            return self._exact_value(node)
        while isinstance(node, Cast) and _own(node).width >= type.width and node.arg.type != BIT:
            node = node.arg
        if type.width >= _WIDTHS[0]:
            return self.low(node, type)
        return _cast(self.low(node, _smallest(type)) if node.type != BIT else self._exact_value(node), type)

    def low(self, node: Expr, type: Int) -> Expr:
        """An expression of `type`, one of the widths, that equals `node` modulo 2**width."""
        key = id(node), type
        if key not in self._low:
            self._low[key] = self._low_new(node, type)
        return self._low[key]

    def _low_new(self, node: Expr, type: Int) -> Expr:
        first, last = self._range(node)
        if first == last:
            return Const(type.wrap(first), type)
        assert isinstance(node.type, Int)
        if isinstance(node, Cast) and (node.type.width >= type.width or self._keeps(node)):
            return self._low_cast(node.arg, type)
        if type.width > node.type.width or not isinstance(node, Apply | Iterator):
            return _cast(self._exact_value(node), type)
        if isinstance(node, Iterator):
            return Iterator(node.name, type)
        return self._low_apply(node, type)

    def _keeps(self, node: Cast) -> bool:
        """Whether the conversion never changes the value."""
        assert isinstance(node.type, Int)
        return _fits(self._range(node.arg), node.type)

    def _low_cast(self, arg: Expr, type: Int) -> Expr:
        assert isinstance(arg.type, Int)
        return _cast(self._exact_value(arg), type) if arg.type == BIT else self.low(arg, type)

    def _low_apply(self, node: Apply, type: Int) -> Expr:
        if node.op in _BY_VALUE and constant_divisor(node) is None:
            return self._low_by_value(node, type)
        if node.op not in _MODULAR or (node.op == "shl" and not _is_amount(self._range(node.args[1]), type)):
            return _cast(self._exact_value(node), type)
        if node.op == "select":
            return self._select(node, type)
        return _simplified(node.op, [self.low(arg, type) for arg in node.args], type)

    def _low_by_value(self, node: Apply, type: Int) -> Expr:
        """Low bits of a distance, or of a division by what is no constant, in a type that holds all operands: a result
        that has too many bits for that, and that of a division by zero, has the same low bits there."""
        operands = hull(*map(self._range, node.args))
        for signed in (_own(node).signed, not _own(node).signed):
            narrow = Int(type.width, signed)
            if _fits(operands, narrow):
                return _cast(checked_apply(node.op, *[self.low(arg, narrow) for arg in node.args]), type)
        return _cast(self._exact_value(node), type)

    def _select(self, node: Apply, type: Int) -> Expr:
        condition = self._exact_value(node.args[0])
        if isinstance(condition, Const):
            return self.low(node.args[1 if condition.value else 2], type)
        return checked_apply("select", condition, self.low(node.args[1], type), self.low(node.args[2], type))

    def _exact_value(self, node: Expr) -> Expr:
        """An expression of any type that always has the value of `node`."""
        if id(node) not in self._exact:
            self._exact[id(node)] = self._exact_new(node)
        return self._exact[id(node)]

    def _exact_new(self, node: Expr) -> Expr:
        first, last = self._range(node)
        assert isinstance(node.type, Int)
        if node.type == BIT:
            return Const(first, BIT) if first == last else self._bit(node)
        match node:
            case Read():
                return node
            case Iterator() if node.type.width < _WIDTHS[0]:
                return node
            case Apply() if node.type.width < _WIDTHS[0]:
                return self._unchanged(node)
            case Lookup():
                return Lookup(node.table, self._exact_value(node.index), node.type)
            case Load():
                return Load(node.memory, self._exact_value(node.index), node.after, node.type)
            case Cast() if not self._keeps(node) and node.type.width < _WIDTHS[0]:
                return self._stored(node.arg, node.type)
            case Apply() if node.op not in _MODULAR:
                return self._exact_apply(node)
        type = _smallest(node.type, (first, last))
        if isinstance(node, Apply) and node.op == "shl" and not _is_amount(self._range(node.args[1]), type):
            return self._unchanged(node)
        return self.low(node, type)

    def _exact_apply(self, node: Apply) -> Expr:
        """An operation that needs the values of its operands: in a type that holds them and the result."""
        assert isinstance(node.type, Int)
        divisor = constant_divisor(node)
        if divisor is not None:
            return self._divided(node, divisor)
        if node.op not in _EXACT:
            return self._unchanged(node)
        chosen = self._chosen(node)
        if chosen is not None:
            return self._exact_value(chosen)
        values = node.args[:1] if node.op == "shr" else node.args
        type = _smallest(node.type, hull(self._range(node), *map(self._range, values)))
        if node.op == "shr" and not _is_amount(self._range(node.args[1]), type):
            type = node.type
        return _simplified(node.op, [self.low(arg, type) for arg in node.args], type)

    def _divided(self, node: Apply, divisor: int) -> Expr:
        """Division or remainder by a constant, in a type without sign if that will do."""
        low, high = self._range(node.args[0])
        signed, size = low < 0 or divisor < 0, abs(divisor)
        type = _smallest(replace(_own(node), signed=signed),
                         hull((low, high), self._range(node), (-size if signed else 0, size)))
        value, most = self.low(node.args[0], type), None if signed else high
        return quotient(value, divisor, most) if node.op == "div" else remainder(value, divisor, most)

    def _chosen(self, node: Apply) -> Expr | None:
        """The operand that a minimum or maximum always is, None if either can be or for other operations."""
        if node.op not in ("min", "max"):
            return None
        first, second = node.args if node.op == "max" else reversed(node.args)
        if self._range(first)[0] >= self._range(second)[1]:
            return node.args[0]
        return node.args[1] if self._range(second)[0] >= self._range(first)[1] else None

    def _unchanged(self, node: Apply) -> Expr:
        """The operation in its own type on rewritten operands."""
        args = [self._exact_value(a) if a.type == BIT else self.low(a, _own(a)) for a in node.args]
        return checked_apply(node.op, *args)

    def _bit(self, node: Expr) -> Expr:
        """A condition that is not decided."""
        match node:
            case Cast(arg, _):
                return _cast(self._stored(arg, _smallest(_own(arg))), BIT)
            case Apply() if node.op in _COMPARE:
                type = _smallest(_own(node.args[0]), hull(*map(self._range, node.args)))
                return checked_apply(node.op, *[self.low(arg, type) for arg in node.args])
            case Apply():
                return self._unchanged(node)
            case Lookup():
                return Lookup(node.table, self._exact_value(node.index), node.type)
            case Load():
                return Load(node.memory, self._exact_value(node.index), node.after, node.type)
            case Store():
                return self._store(node)
        return node

    def _store(self, node: Store) -> Store:
        value = self._stored(node.value, _own(node.value))
        return Store(node.memory, self._exact_value(node.index), value, self._exact_value(node.enable), node.after)


def _own(node: Expr) -> Int:
    assert isinstance(node.type, Int)
    return node.type


def _fits(range: Range, type: Int) -> bool:
    return type.contains(range[0]) and type.contains(range[1])


def _smallest(type: Int, range: Range | None = None) -> Int:
    """The narrowest type that contains `range` (or all of `type`); of the sign of `type` if that is possible."""
    low, high = range or type_range(type)
    for width in _WIDTHS:
        for signed in (type.signed, not type.signed):
            candidate = Int(width, signed)
            if width >= type.width and not type.width < _WIDTHS[0]:
                return type
            if _fits((low, high), candidate):
                return candidate
    return type


def _is_amount(range: Range, type: Int) -> bool:
    """Whether shift amounts in `range`, cut to `type`, shift as far as before or everything out."""
    return -(1 << type.width - 1) <= range[0] and range[1] < 1 << type.width


def _cast(node: Expr, type: Int) -> Expr:
    if node.type == type:
        return node
    return Const(type.wrap(node.value), type) if isinstance(node, Const) else Cast(node, type)


_NEUTRAL_RIGHT = {"add": 0, "sub": 0, "or": 0, "xor": 0, "shl": 0, "shr": 0, "mul": 1, "and": -1}


def _simplified(op: str, args: list[Expr], type: Int) -> Expr:
    """The operation, or one of its operands if the other changes nothing."""
    if op in _NEUTRAL_RIGHT:
        neutral = Const(type.wrap(_NEUTRAL_RIGHT[op]), type)
        if args[1] == neutral:
            return args[0]
        if args[0] == neutral and OPERATIONS[op].commutative:
            return args[1]
    return checked_apply(op, *args)


# Programs.


def _rewritten(program: Program, ranges: Mapping[str, Range]) -> Program:
    tables = table_ranges(program)

    def value(statement: Statement) -> Expr:
        if _has_floats(statement):
            return without_divisions(statement.value)
        reads = [_within(ranges[access.array], program.array(access.array)) for access in statement.reads]
        type = _own_array(program.array(statement.write.array))
        if statement.value.type != BIT:
            return narrow_value(_cast(statement.value, type), reads, iterator_ranges(statement), tables)
        return narrow_value(statement.value, reads, iterator_ranges(statement), tables)

    return replace(program, statements=tuple(replace(s, value=value(s)) for s in program.statements))


def _within(range: Range, array: Array) -> Range:
    """`range` if elements of `array` hold it, else all values of its type (only their low bits are right)."""
    return range if isinstance(array.type, Int) and _fits(range, array.type) else type_range(array.type)


def _has_floats(statement: Statement) -> bool:
    return any(isinstance(node.type, Float) for node in postorder(statement.value))


def _own_array(array: Array) -> Int:
    assert isinstance(array.type, Int)
    return array.type


_Known = Mapping[str, ValueRanges]
"""What is known of every statement's value from the start, by the statements' names."""


def table_ranges(program: Program) -> dict[str, Range]:
    """The least and the greatest entry of every table."""
    return {table.name: (min(table.values), max(table.values)) for table in program.tables}


def array_ranges(program: Program) -> dict[str, Range]:
    """The range of the elements of every array, by propagation through the statements; of sums by counting."""
    tables = table_ranges(program)
    known = {s.name: value_ranges(s.domain, s.iterators, s.value, tables) for s in program.statements}
    sums: dict[str, Range] = {}
    while True:
        ranges, changed = _propagated(program, known, sums, _initial(program, sums))
        growing = _growing(program, changed, ranges, known)
        rule_of = partial(_rule, ranges=ranges, known=known)
        found = {name: accumulated_range(program, name, growing, rule_of) for name in growing - set(sums)}
        bounds = {name: bound for name, bound in found.items() if bound is not None}
        if not bounds:
            break
        sums |= bounds
    rounded: set[str] = set()
    while changed:
        ranges |= {name: _widened(ranges[name], program.array(name).type, name in rounded) for name in changed}
        rounded |= changed
        ranges, changed = _propagated(program, known, sums, ranges)
    _recomputed(program, known, sums, ranges)
    return {a.name: ranges[a.name] or type_range(a.type) for a in program.arrays}


def _initial(program: Program, sums: Mapping[str, Range]) -> dict[str, Range | None]:
    """Ranges before anything is computed; those of `sums` stay."""
    return {a.name: sums.get(a.name) if a.role == "intermediate" else type_range(a.type) for a in program.arrays}


def _propagated(program: Program, known: _Known, sums: Mapping[str, Range],
                start: Mapping[str, Range | None]) -> tuple[dict[str, Range | None], set[str]]:
    """Ranges of arrays after a few rounds from `start` on, and which of them would change in another one; those of
    `sums` stay."""
    ranges = dict(start)
    changed: set[str] = set()
    for _ in range(_PASSES):
        changed = set()
        for statement in program.statements:
            name = statement.write.array
            if name in sums or program.array(name).role != "intermediate":
                continue
            rule = _rule(statement, ranges, known)
            if rule is not None:
                new, old = fold(statement.value, rule), ranges[name]
                merged = new if old is None else hull(old, new)
                if merged != old:
                    ranges[name] = merged
                    changed.add(name)
        if not changed:
            break
    return ranges, changed


def _growing(program: Program, changed: set[str], ranges: Mapping[str, Range | None], known: _Known) -> set[str]:
    """Intermediates whose ranges have not settled, and all whose ranges depend on how far those grow."""
    found = set(changed)
    while True:
        wide = {**ranges, **{name: type_range(program.array(name).type) for name in found}}
        more = {s.write.array for s in program.statements if any(r.array in found for r in s.reads)
                and s.write.array not in found and not _keeps_range(s, ranges[s.write.array], wide, known)}
        if not more:
            return {name for name in found if program.array(name).role == "intermediate"}
        found |= more


def _keeps_range(statement: Statement, range: Range | None, wide: Mapping[str, Range | None], known: _Known) -> bool:
    """Whether a statement that reads words of the ranges `wide` writes words of a `range` that is known."""
    rule = _rule(statement, wide, known)
    return rule is not None and range is not None and hull(range, fold(statement.value, rule)) == range


def _widened(range: Range | None, type: Type, again: bool) -> Range:
    """A wider range for what grows from round to round: to the next powers of two, which masks and clamps often keep
    to, and where that was too little, `again`, all of the type."""
    whole = type_range(type)
    if again or range is None:
        return whole
    low = -(1 << (-range[0] - 1).bit_length()) if range[0] < 0 else 0
    high = (1 << range[1].bit_length()) - 1 if range[1] > 0 else 0
    return max(whole[0], low), min(whole[1], high)


def _recomputed(program: Program, known: _Known, sums: Mapping[str, Range], ranges: dict[str, Range | None]) -> None:
    """Narrow `ranges`, of which some were widened: what is computed from ranges that hold for all values holds for
    them, too, and a mask or a clamp on the way gives a smaller one (Cousot 1977)."""
    free = [a.name for a in program.arrays if a.role == "intermediate" and a.name not in sums]
    writers = {name: [s for s in program.statements if s.write.array == name] for name in free}
    for _ in range(_PASSES):
        before = dict(ranges)
        for name, statements in writers.items():
            rules = [(s, _rule(s, ranges, known)) for s in statements]
            found = [fold(s.value, rule) for s, rule in rules if rule is not None]
            if found:
                ranges[name] = hull(*found)
        if ranges == before:
            break


def _rule(statement: Statement, ranges: Mapping[str, Range | None], known: _Known) -> Rule | None:
    """The ranges of what `statement` computes, node by node; None if it reads something that nothing has written so
    far."""
    found = [ranges[access.array] for access in statement.reads]
    reads = [range for range in found if range is not None]
    if len(reads) < len(found):
        return None
    return partial(known[statement.name].of_node, reads=reads)


def _array_type(array: Array, range: Range) -> Int:
    """The type of an array whose elements are in `range`."""
    type = _own_array(array)
    return _smallest(type, range) if array.role == "intermediate" and type.width > _WIDTHS[0] else type


def _retyped(program: Program, types: Mapping[str, Int]) -> Program:
    """`program` with other types of intermediate arrays. Reads become conversions to the type they had."""

    def array(old: Array) -> Array:
        return replace(old, type=types.get(old.name, old.type))

    def statement(old: Statement) -> Statement:
        def step(node: Expr, args: list[Expr]) -> Expr:
            if isinstance(node, Read):
                type = types.get(old.reads[node.index].array)
                return node if type is None else _cast(Read(node.index, type), _own(node))
            return with_children(node, args)

        value = fold(old.value, step)
        type = types.get(old.write.array)
        return replace(old, value=value if type is None else _cast(value, type))

    return replace(program, arrays=tuple(map(array, program.arrays)),
                   statements=tuple(map(statement, program.statements)))


def _demands(program: Program) -> dict[str, Int]:
    """Wide intermediates of which every reader uses the low 16 bits only, directly or into each other."""
    wide = {a.name: a for a in program.arrays
            if a.role == "intermediate" and isinstance(a.type, Int) and a.type.width > _WIDTHS[0]}
    readers: dict[str, list[Statement]] = {}
    sources: dict[str, set[str]] = {}
    for statement in program.statements:
        read = {access.array for access in statement.reads}
        for name in read:
            readers.setdefault(name, []).append(statement)
        sources.setdefault(statement.write.array, set()).update(read)
    pending = list(wide)
    while pending:
        name = pending.pop()
        if name in wide and not all(_uses_low(s, name, wide) for s in readers.get(name, ())):
            del wide[name]
            pending += sources.get(name, ())
    return {name: Int(_WIDTHS[0], _own_array(array).signed) for name, array in wide.items()}


def _uses_low(statement: Statement, name: str, wide: Mapping[str, Array]) -> bool:
    """Whether `statement` uses no more than 16 bits of array `name`, if arrays `wide` are stored with 16 bits."""
    indices = {n for n, access in enumerate(statement.reads) if access.array == name}
    if not indices or _has_floats(statement):
        return not indices
    width = _WIDTHS[0] if statement.write.array in wide else _own(statement.value).width
    pending, seen = [(statement.value, width)], set()
    while pending:
        node, demand = pending.pop()
        if isinstance(node, Read) and node.index in indices and demand > _WIDTHS[0]:
            return False
        if (id(node), demand) not in seen:
            seen.add((id(node), demand))
            pending.extend(_child_demands(node, demand))
    return True


def _child_demands(node: Expr, demand: int) -> list[tuple[Expr, int]]:
    """How many low bits of each child the low `demand` bits of `node` need."""
    match node:
        case Cast(arg, type):
            assert isinstance(type, Int)
            return [(arg, min(demand, type.width))]
        case Apply() if node.op == "shl":
            return [(node.args[0], demand), (node.args[1], _own(node.args[1]).width)]
        case Apply() if node.op in _MODULAR:
            return [(arg, 1 if arg.type == BIT else min(demand, _own(arg).width)) for arg in node.args]
    return [(child, _own(child).width) for child in children(node)]
