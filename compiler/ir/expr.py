"""Expressions: what a statement computes from the words it reads.

Immutable trees whose every node carries its exact type. Integers wrap at the width of the node; conversions are
explicit `Cast` nodes. Floating-point numbers round once per node (`compiler.ir.floating`). Operations are the entries
of `hw.ops`. All word operands of an operation (shift amounts too)
share one type, which is also the type of a word result; bit operands and bit results have type `BIT`.

Nodes may be shared, which makes the tree a graph; `postorder` and `fold` visit every node once, without recursion.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Iterator as Iterating
from dataclasses import dataclass
from typing import TypeVar, cast

from compiler.ir.floating import FLOAT_OPERATIONS
from compiler.ir.postorder import postorder_of
from compiler.ir.types import BIT, Float, Int, ProgramError, Type
from hw.ops import EVERY_OPERATION, FLOAT_FUNCTIONS, Kind, Operation, operation

__all__ = [
    "LUT3_TABLE",
    "NEGATED",
    "Apply",
    "Cast",
    "Const",
    "Expr",
    "Iterator",
    "Load",
    "Lookup",
    "Read",
    "Store",
    "apply",
    "children",
    "converted",
    "difference",
    "fold",
    "head",
    "is_floating",
    "iterators_needed",
    "memories_used",
    "mentions",
    "postorder",
    "pruned",
    "renumbered",
    "result_type",
    "select",
    "with_children",
]

LUT3_TABLE = Int(8, signed=False)
"""Type of the truth table that is the first argument of ``lut3``: bit p + 2q + 4r is the result for (p, q, r)."""

_SELECT = 0b11011000
"""Truth table of ``p ? q : r``."""

NEGATED = {"lt": "ge", "ge": "lt", "gt": "le", "le": "gt", "eq": "ne", "ne": "eq"}
"""Comparisons, and those that hold of integers where they do not."""


@dataclass(frozen=True)
class Const:
    """An integer of the program text; of a floating-point type, the bit pattern of the number."""

    value: int
    type: Type


@dataclass(frozen=True)
class Read:
    """The word that access number `index` of the statement's `reads` delivers."""

    index: int
    type: Type


@dataclass(frozen=True)
class Iterator:
    """The value of the statement's iterator `name`, wrapped to the type."""

    name: str
    type: Type


class _Inner:
    """A node with operands. Nodes are equal if the graphs below them are: comparing them, and their hash, take a step
    for each node, not for each way down, of which graphs with shared parts may have exponentially many."""

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return difference(cast("Expr", self), cast("Expr", other)) is None

    def __hash__(self) -> int:
        known = vars(self)
        if "_hash" not in known:
            for node in postorder(cast("Expr", self)):  # operands first: graphs are deep
                if isinstance(node, _Inner):
                    vars(node)["_hash"] = hash((head(node), *children(node)))
        return known["_hash"]


@dataclass(frozen=True, eq=False)
class Apply(_Inner):
    """Operation `op` of `hw.ops` on `args`; the first argument of ``lut3`` is the constant truth table."""

    op: str
    args: tuple[Expr, ...]
    type: Type


@dataclass(frozen=True, eq=False)
class Cast(_Inner):
    """The integer value of `arg` wrapped to the type: zero or sign extension, truncation, change of sign.

    To a floating-point type: the nearest number. From one to an integer: rounded towards zero
    (`compiler.ir.floating.to_integers`).
    """

    arg: Expr
    type: Type


@dataclass(frozen=True, eq=False)
class Lookup(_Inner):
    """Entry `index` (an unsigned or signed word, 0 is the first) of the program's table `table`."""

    table: str
    index: Expr
    type: Type


@dataclass(frozen=True, eq=False)
class Load(_Inner):
    """Word `index` (0 is the first) of the program's memory `memory`, once all of `after` are known.

    `after` are what memory SSA and handshaking hardware call tokens: values of the stores before, whose numbers do not
    matter, only that they are there.
    """

    memory: str
    index: Expr
    after: tuple[Expr, ...]
    type: Type


@dataclass(frozen=True, eq=False)
class Store(_Inner):
    """Write `value` to word `index` of memory `memory` if `enable`, a bit, is set, once all of `after` are known:
    values of the loads that must see the old word, and of the stores before. The result is `enable`, and what accesses
    that come later wait for."""

    memory: str
    index: Expr
    value: Expr
    enable: Expr
    after: tuple[Expr, ...]

    @property
    def type(self) -> Type:
        """The type of the result."""
        return BIT


Expr = Const | Read | Iterator | Apply | Cast | Lookup | Load | Store
_Result = TypeVar("_Result")


def children(expr: Expr) -> tuple[Expr, ...]:
    """Direct subexpressions, in order."""
    match expr:
        case Apply():
            return expr.args
        case Cast():
            return (expr.arg,)
        case Lookup():
            return (expr.index,)
        case Load():
            return (expr.index, *expr.after)
        case Store():
            return (expr.index, expr.value, expr.enable, *expr.after)
    return ()


def head(node: Expr) -> tuple[object, ...]:
    """What a node is, without its operands: equal for equal nodes."""
    match node:
        case Const(value, type_):
            return Const, value, type_
        case Read(index, type_):
            return Read, index, type_
        case Iterator(name, type_):
            return Iterator, name, type_
        case Apply(op, args, type_):
            return Apply, op, len(args), type_
        case Cast(_, type_):
            return Cast, type_
        case Lookup(table, _, type_):
            return Lookup, table, type_
        case Load(memory, _, after, type_):
            return Load, memory, len(after), type_
        case Store(memory, _, _, _, after):
            return Store, memory, len(after)


def difference(first: Expr, second: Expr) -> tuple[Expr, Expr] | None:
    """The first nodes with the same place in two graphs that differ in themselves; None if the graphs are equal."""
    stack, seen = [(first, second)], {(id(first), id(second))}
    while stack:
        one, other = stack.pop()
        if one is other:
            continue
        if head(one) != head(other):
            return one, other
        for pair in reversed([*zip(children(one), children(other), strict=True)]):
            if (key := (id(pair[0]), id(pair[1]))) not in seen:
                seen.add(key)
                stack.append(pair)
    return None


def is_floating(node: Expr) -> bool:
    """Whether `node` gives or takes floating-point numbers."""
    return any(isinstance(part.type, Float) for part in (node, *children(node)))


def iterators_needed(value: Expr) -> dict[int, frozenset[str] | None]:
    """For every node of an expression, by its `id`, the names of the iterators that it needs; None if it needs reads
    or memories, too."""
    needs: dict[int, frozenset[str] | None] = {}
    for node in postorder(value):
        below = [needs[id(child)] for child in children(node)]
        own = frozenset({node.name} if isinstance(node, Iterator) else ())
        data = isinstance(node, Read | Load | Store) or None in below
        needs[id(node)] = None if data else own.union(*filter(None, below))
    return needs


def with_children(node: Expr, args: list[Expr]) -> Expr:
    """`node` on other subexpressions; the same object if they are the same objects."""
    if all(new is old for new, old in zip(args, children(node), strict=True)):
        return node
    match node:
        case Apply():
            return Apply(node.op, tuple(args), node.type)
        case Cast():
            return Cast(args[0], node.type)
        case Lookup():
            return Lookup(node.table, args[0], node.type)
        case Load():
            return Load(node.memory, args[0], tuple(args[1:]), node.type)
        case Store():
            return Store(node.memory, args[0], args[1], args[2], tuple(args[3:]))
    return node


def postorder(expr: Expr) -> Iterating[Expr]:
    """Every node object of `expr` once, subexpressions before their users."""
    return postorder_of((expr,), children)


def fold(expr: Expr, step: Callable[[Expr, list[_Result]], _Result]) -> _Result:
    """Bottom-up evaluation: `step(node, results of its children)` for every node; the result of the root."""
    results: dict[int, _Result] = {}
    for node in postorder(expr):
        results[id(node)] = step(node, [results[id(child)] for child in children(node)])
    return results[id(expr)]


def renumbered(expr: Expr, number: Callable[[int], int]) -> Expr:
    """Read k becomes read ``number(k)``."""
    def step(node: Expr, parts: list[Expr]) -> Expr:
        return Read(number(node.index), node.type) if isinstance(node, Read) else with_children(node, parts)

    return fold(expr, step)


def pruned(expr: Expr, reads: Sequence[_Result] | Mapping[int, _Result]) -> tuple[Expr, tuple[_Result, ...]]:
    """`expr` with only those of its `reads`, by number, that it uses, renumbered in their order."""
    used = sorted({node.index for node in postorder(expr) if isinstance(node, Read)})
    return renumbered(expr, used.index), tuple(reads[k] for k in used)


def mentions(expr: Expr, index: int) -> int:
    """How often the tree has read `index`."""
    return fold(expr, lambda node, counts: sum(counts) + (isinstance(node, Read) and node.index == index))


def memories_used(expr: Expr) -> frozenset[str]:
    """Names of the memories that `expr` loads from or stores to."""
    return frozenset(node.memory for node in postorder(expr) if isinstance(node, Load | Store))


def converted(expr: Expr, type: Type) -> Expr:
    """`expr` in another type, or itself if it has that type."""
    return expr if expr.type == type else Cast(expr, type)


def apply(op: str, *args: Expr) -> Apply:
    """The application of operation `op`, its type inferred. Raises `ProgramError` if the arguments do not fit."""
    return Apply(op, args, result_type(op, [arg.type for arg in args]))


def select(condition: Expr, yes: Expr, no: Expr) -> Apply:
    """One of two words, or of two bits, as a bit says."""
    if yes.type == BIT:
        return apply("lut3", Const(_SELECT, LUT3_TABLE), condition, yes, no)
    return apply("select", condition, yes, no)


def result_type(op: str, types: Sequence[Type]) -> Type:
    """Type of operation `op` on arguments of `types`.

    Raises `ProgramError` on an unknown name, wrong arity, mixed types and types that lack the operation.
    """
    known = (*EVERY_OPERATION, *FLOAT_FUNCTIONS)
    if op not in known:
        raise ProgramError(f"there is no operation '{op}'; there are: {', '.join(sorted(known))}")
    entry = operation(op)
    types = _without_table(entry, types)
    if len(types) != entry.arity:
        raise ProgramError(f"operation '{op}' takes {entry.arity} operands, not {len(types)}")
    words = [_operand(entry, kind, type) for kind, type in zip(entry.operands, types, strict=True)]
    word_types = list(dict.fromkeys(type for type in words if type is not None))
    if len(word_types) > 1:
        raise ProgramError(f"operation '{op}' mixes {word_types[0]} and {word_types[1]}; cast one of them")
    return BIT if entry.result is Kind.BIT else word_types[0]


def _without_table(entry: Operation, types: Sequence[Type]) -> Sequence[Type]:
    if entry.name != "lut3":
        return types
    if not types or types[0] != LUT3_TABLE:
        raise ProgramError("operation 'lut3' takes a truth table of type uint8 as its first argument")
    return types[1:]


def _operand(entry: Operation, kind: Kind, type: Type) -> Type | None:
    """`type` of a word operand, None for a bit operand. Raises `ProgramError` if `type` is not of `kind`."""
    if isinstance(type, Float):
        if entry.name not in FLOAT_OPERATIONS or not type.computable:
            raise ProgramError(f"operation '{entry.name}' on {type}: floating-point numbers of up to float11.52 have "
                               f"{', '.join(FLOAT_OPERATIONS)}")
    elif not isinstance(type, Int):
        raise ProgramError(f"operation '{entry.name}' on {type}: there is no fixed-point arithmetic")
    elif entry.name in FLOAT_FUNCTIONS:
        raise ProgramError(f"operation '{entry.name}' on {type}: only floating-point numbers have it; cast to one")
    if (type == BIT) != (kind is Kind.BIT):
        raise ProgramError(f"operation '{entry.name}' takes a {kind.value} and is given a value of type {type}")
    return type if kind is Kind.WORD else None
