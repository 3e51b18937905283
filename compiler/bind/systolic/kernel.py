"""Reduction kernels: programs that are one statement ``O[f(l)] op= body`` over a box of loops.

The form is found, not asked for: temporaries and scalar accumulators disappear, results may be copied out, accumulators
may start from a constant, from an array, or from what the output held. A kernel's loops count from 0.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod

import islpy as isl

from compiler.bind.systolic.errors import KernelError
from compiler.ir.expr import Cast, Const, Expr, Iterator, Lookup, Read, fold, postorder, with_children
from compiler.ir.program import Access, Array, Program, Statement
from compiler.ir.types import Int
from compiler.sched.dependences import Dependence, flow
from compiler.sched.space_time import (
    MODULAR,
    Analysis,
    Reduction,
    Subscript,
    accumulated,
    analyse,
    composed,
    neutral,
    subscripts,
    without_temporaries,
)

__all__ = ["Kernel", "Reference", "recognise"]


@dataclass(frozen=True)
class Reference:
    """A read of `array` (None: of the number `constant`) at `subscripts` over the kernel's loops."""

    array: str | None
    type: Int
    subscripts: tuple[Subscript, ...] = ()
    constant: int = 0

    def depends(self, position: int) -> bool:
        """Whether the element depends on loop number `position`."""
        return any(s.coefficients[position] for s in self.subscripts)


@dataclass(frozen=True)
class Kernel:
    """``output[target] combine= body(reads)`` for all values of `loops` below `extents`.

    `combine`: None for an assignment. `initial`: what accumulators start from (None: nothing to be added).
    `program`: what was compiled; `analysis`: its dependences without temporaries, `update` the statement in it.
    `rest`: what gives elements of the output that are not computed here, copies and constants (None: there are none).
    """

    program: Program
    analysis: Analysis
    update: str
    loops: tuple[str, ...]
    extents: tuple[int, ...]
    reads: tuple[Reference, ...]
    body: Expr
    combine: str | None
    output: str
    type: Int
    target: tuple[Subscript, ...]
    initial: Reference | None
    rest: Program | None = None

    @property
    def reduction_loops(self) -> tuple[str, ...]:
        """Loops that results do not depend on."""
        if self.combine is None:
            return ()
        return tuple(name for k, name in enumerate(self.loops) if not any(s.coefficients[k] for s in self.target))

    @property
    def references(self) -> tuple[Reference, ...]:
        """Operands of an array: the body's reads, then the initial values."""
        return (*self.reads, self.initial) if self.initial is not None else self.reads

    @property
    def instances(self) -> int:
        """Evaluations of the body."""
        return prod(self.extents)

    @property
    def neutral(self) -> int:
        """What changes no accumulator."""
        return 0 if self.combine is None else neutral(self.combine, self.type)

    def extent(self, loop: str) -> int:
        """Iterations of `loop`."""
        return self.extents[self.loops.index(loop)]


def recognise(program: Program) -> Kernel:
    """`program` as a kernel. Raises `KernelError`, and `SpaceTimeError` for dependences that are not uniform."""
    simple = without_temporaries(program)
    analysis = analyse(simple)
    update = _update(simple, analysis)
    box = update.box()
    if box is None:
        raise KernelError(f"{update}: its iterations are no box of constant bounds, which a reduction kernel needs")
    lows = tuple(low for low, _ in box.values())
    reduction = analysis.reductions.get(update.name)
    flows = [d for d in flow(simple) if d.sink != d.source]
    out, written, kind, added = _destination(simple, update, flows, reduction)
    initial = None if reduction is None else _initial(simple, update, reduction, flows, kind, lows)
    if added is not None:
        if initial is not None:
            raise KernelError(f"{update} starts from one value and '{added.array}' is added in the end; a reduction "
                              "kernel has one of them")
        initial = _reference(simple, update, added, lows)
    target = subscripts(update, Access(out.name, written))
    body, reads = _body(simple, update, reduction, kind, lows)
    kernel = Kernel(
        program, analysis, update.name, update.iterators, tuple(high - low + 1 for low, high in box.values()), reads,
        body, reduction and reduction.op, out.name, kind, _from_zero(target, lows),
        initial, _rest(analysis, update, out, written))
    _check_target(kernel, update)
    return kernel


def _rest(analysis: Analysis, update: Statement, out: Array, target: isl.Map) -> Program | None:
    """What leaves values in elements of the output that the update does not reach."""
    program = analysis.program
    others = [a.name for a in program.outputs if a.name != out.name]
    if others:
        raise KernelError(f"program '{program.name}' has several outputs ('{out.name}', '{others[0]}'); a reduction "
                          "kernel has one")
    for dependence in analysis.dependences:
        if dependence.kind == "output" and dependence.source == update.name != dependence.sink:
            raise KernelError(f"{program.statement(dependence.sink)} overwrites results of {update}; a reduction "
                              "kernel writes every element last")
    reached = target.intersect_domain(update.domain).range()
    left = [s for s in program.statements if s.name != update.name and s.write.array == out.name
            and not s.write.map.intersect_domain(s.domain).range().is_subset(reached)]
    for statement in left:
        if any(program.array(access.array).role != "input" for access in statement.reads):
            raise KernelError(f"{statement} computes elements of '{out.name}' that {update} does not; besides the "
                              "update a reduction kernel has copies of inputs and constants")
    if not left:
        return None
    order = isl.UnionMap.empty(program.order.get_space().params())
    for statement in left:
        order = order.union(isl.UnionMap.from_map(program.order_of(statement.name)))
    return replace(program, statements=tuple(left), order=order)


def _update(program: Program, analysis: Analysis) -> Statement:
    """The statement that does the work. All others have to start it, or to copy its results."""
    reducing = [s for s in program.statements if s.name in analysis.reductions]
    if len(reducing) > 1:
        names = " and ".join(s.label() for s in reducing[:2])
        raise KernelError(f"program '{program.name}' accumulates in several statements ({names}); a reduction kernel "
                          "has one")
    if reducing:
        return reducing[0]
    deepest = max(program.statements, key=lambda s: len(s.iterators))
    if any(program.array(access.array).role != "input" for access in deepest.reads):
        raise KernelError(f"{deepest} reads what the program computes and is no reduction 'x = x op e' with an op out "
                          f"of {', '.join((*MODULAR, 'min', 'max'))}")
    return deepest


# The body.


def _body(program: Program, update: Statement, reduction: Reduction | None, kind: Int, lows: tuple[int, ...]
          ) -> tuple[Expr, tuple[Reference, ...]]:
    """The expression over references, each of which is there once."""
    value = update.value if reduction is None else reduction.body
    for node in postorder(value):
        if isinstance(node, Iterator | Lookup):
            what = f"loop counter '{node.name}'" if isinstance(node, Iterator) else f"table '{node.table}'"
            raise KernelError(f"{update} uses the value of {what}; a processing element computes from array elements "
                              "and constants, so put the values into an array")
    references: list[Reference] = []
    numbers: dict[int, int] = {}
    for node in postorder(value):
        if isinstance(node, Read) and node.index not in numbers:
            reference = _reference(program, update, update.reads[node.index], lows)
            if reference not in references:
                references.append(reference)
            numbers[node.index] = references.index(reference)
    value = fold(value, lambda node, parts: Read(numbers[node.index], node.type) if isinstance(node, Read)
                 else with_children(node, parts))
    return (value if value.type == kind else Cast(value, kind)), tuple(references)


def _reference(program: Program, statement: Statement, access: Access, lows: tuple[int, ...]) -> Reference:
    array = program.array(access.array)
    if array.role != "input":
        raise KernelError(f"{statement.label(access)} reads '{array.name}', which the program computes; a reduction "
                          "kernel reads inputs")
    return Reference(array.name, _integer(array), _from_zero(subscripts(statement, access), lows))


def _integer(array: Array) -> Int:
    if not isinstance(array.type, Int):
        raise KernelError(f"array '{array.name}' has elements of type {array.type}; this target computes with integers")
    return array.type


def _from_zero(found: tuple[Subscript, ...], lows: tuple[int, ...]) -> tuple[Subscript, ...]:
    """Subscripts over loops that count from 0."""
    return tuple(Subscript(s.coefficients, s.constant + sum(c * low for c, low in zip(s.coefficients, lows,
                 strict=True))) for s in found)


# Results.


def _destination(program: Program, update: Statement, flows: list[Dependence], reduction: Reduction | None
                 ) -> tuple[Array, isl.Map, Int, Access | None]:
    """The output, where the update's result goes in it, the type of accumulators, and what is added on the way."""
    array = program.array(update.write.array)
    users = [d for d in flows if d.source == update.name]
    if array.role == "output":
        if users:
            raise KernelError(f"{program.statement(users[0].sink)} reads results of {update}; a reduction kernel only "
                              "copies them out")
        return array, update.write.map, _integer(array), None
    if len(users) != 1:
        raise KernelError(f"results of {update} go to {len(users)} places; a reduction kernel has one output")
    copy = program.statement(users[0].sink)
    out = program.array(copy.write.array)
    kind, added = _copied(program, copy, users[0], reduction)
    reading = copy.reads[users[0].read].map
    target = composed(update.write.map, reading.reverse(), copy.write.map, domain=update.domain)
    if out.role != "output" or not target.is_single_valued() or not update.domain.is_subset(target.domain()):
        raise KernelError(f"{copy} does not copy every result of {update} to one place of an output")
    if added is None:
        return out, target, kind, None
    elements = composed(update.write.map, reading.reverse(), added.map, domain=update.domain)
    return out, target, kind, replace(added, map=elements)


def _copied(program: Program, copy: Statement, use: Dependence, reduction: Reduction | None
            ) -> tuple[Int, Access | None]:
    """The type of accumulators whose results `copy` stores: that of the output where only low bits matter, else what
    the program accumulates in, which then has to reach the output unchanged. An element of an input that the copy
    combines with the result, by the reduction's operation, may as well be what the accumulator starts from."""
    out, held = _integer(program.array(copy.write.array)), _integer(program.array(use.array))
    node, conversions = copy.value, [out]
    while isinstance(node, Cast) and isinstance(node.type, Int):
        conversions.append(node.type)
        node = node.arg
    modular = reduction is None or reduction.op in MODULAR
    if isinstance(node, Read) and node.index == use.read:
        if modular and min(held.width, *(c.width for c in conversions)) >= out.width:
            return out, None
        if all(c.contains(held.minimum) and c.contains(held.maximum) for c in conversions[1:]):
            return held, None
    if reduction is not None and modular and held.width >= out.width:
        added = accumulated(copy.value, use.read, reduction.op, out)
        if isinstance(added, Read) and added.type == out:
            access = copy.reads[added.index]
            if program.array(access.array).role == "input":
                return out, access
    raise KernelError(f"{copy} computes with the results; a reduction kernel copies them as they are")


def _check_target(kernel: Kernel, update: Statement) -> None:
    """No two iterations that are not one reduction may write one element."""
    free = [k for k, name in enumerate(kernel.loops) if name not in kernel.reduction_loops]
    writes = update.write.map.intersect_domain(update.domain)
    names = ", ".join(update.iterators[k] for k in free)
    part = isl.Map(f"{{ {update.name}[{', '.join(update.iterators)}] -> [{names}] }}").intersect_domain(update.domain)
    if not part.reverse().apply_range(writes).is_injective():
        raise KernelError(f"{update} writes elements of '{kernel.output}' from several iterations without "
                          "accumulating, or along loops together; legal is one element for every iteration of the "
                          "other loops")


# What accumulators start from.


def _initial(program: Program, update: Statement, reduction: Reduction, flows: list[Dependence], kind: Int,
             lows: tuple[int, ...]) -> Reference | None:
    """None if it is what changes nothing."""
    sources = [d for d in flows if d.sink == update.name and d.read == reduction.read]
    if len(sources) != 1:
        raise KernelError(f"{update} starts from values of {len(sources)} statements; a reduction kernel starts from "
                          "one constant or one array")
    start = program.statement(sources[0].source)
    node = start.value
    while isinstance(node, Cast):
        node = node.arg
    if isinstance(node, Const):
        value = kind.wrap(_folded(start.value))
        return None if value == neutral(reduction.op, kind) else Reference(None, kind, (), value)
    exact = isinstance(node, Read) and _exact_copy(program, start, kind)
    if not exact or not isinstance(node, Read):
        raise KernelError(f"{start} computes what {update} starts from; a reduction kernel starts from a constant or "
                          "from elements of an input of the accumulator's type")
    mapping = composed(update.reads[reduction.read].map, start.write.map.reverse(), start.reads[node.index].map,
                       domain=update.domain)
    if not mapping.is_single_valued() or not update.domain.is_subset(mapping.domain()):
        raise KernelError(f"{start} does not start every result of {update}")
    return _reference(program, update, Access(start.reads[node.index].array, mapping), lows)


def _exact_copy(program: Program, start: Statement, kind: Int) -> bool:
    """Whether the element that is read has the accumulator's type."""
    return len(start.reads) == 1 and program.array(start.reads[0].array).type == kind


def _folded(value: Expr) -> int:
    """A constant after its conversions."""
    def step(node: Expr, parts: list[int]) -> int:
        if isinstance(node, Const):
            return node.value
        assert isinstance(node.type, Int)
        return int(node.type.wrap(parts[0]))

    return fold(value, step)
