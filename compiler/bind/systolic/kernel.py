"""Reduction kernels: programs that are one statement ``O[f(l)] op= body`` over a box of loops.

The form is found, not asked for: temporaries and scalar accumulators disappear, results may be copied out, accumulators
may start from a constant, from an array, or from what the output held. A kernel's loops count from 0.
"""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import prod

import islpy as isl
import numpy as np

from compiler.analysis.dependences import Dependence, flow
from compiler.bind.systolic.domain import Bound, Boxed, boxed, check_iterations, results_part, used_part
from compiler.bind.systolic.ends import (
    Destination,
    find_destination,
    function_of,
    merged_reads,
    number_type,
    refuse_names,
)
from compiler.bind.systolic.errors import KernelError
from compiler.bind.systolic.float_sums import accumulation, check_order, check_start, refusal
from compiler.ir.evaluate import evaluate, storage
from compiler.ir.expr import (
    Cast,
    Const,
    Expr,
    Read,
    apply,
    converted,
    fold,
    is_floating,
    postorder,
    renumbered,
    with_children,
)
from compiler.ir.floating import to_words
from compiler.ir.program import Access, Program, Statement
from compiler.ir.ranges import type_range, value_range
from compiler.ir.types import Float, Int
from compiler.passes.normalize.loop_coalescing import without_tile_loops
from compiler.sched.space_time import (
    MODULAR,
    Analysis,
    Reduction,
    SpaceTimeError,
    Subscript,
    analyse,
    composed,
    hull,
    neutral,
    plain_accumulations,
    subscripts,
    without_temporaries,
)

__all__ = ["Kernel", "Reference", "recognise"]


_SMALL = 16


@dataclass(frozen=True)
class Reference:
    """A read of `array` (None: of the number `constant`, of a floating-point type its bits) at `subscripts` over the
    kernel's loops; elements outside `bounds` are never read, and zeros for the hardware."""

    array: str | None
    type: Int | Float
    subscripts: tuple[Subscript, ...] = ()
    constant: int = 0
    bounds: tuple[Bound, ...] = ()

    def depends(self, position: int) -> bool:
        """Whether the element depends on loop number `position`."""
        return any(s.coefficients[position] for s in self.subscripts)


@dataclass(frozen=True)
class Kernel:
    """``output[target] combine= body(reads)`` for all values of `loops` below `extents`.

    `combine`: None for an assignment. `initial`: what accumulators start from (None: nothing to be added); `start`: the
    accumulator's first value as an expression of that element, `finish`: what is stored as one of the accumulator's
    last value, each read 0 in its expression (None: they are the same), and of `extras`, elements that do not depend on
    reduction loops, reads 1, 2 and so on. `type`: of accumulators.
    `program`: what was compiled; `analysis`: its dependences without temporaries, `update` the statement in it.
    `rest`: what gives elements of the output that are not computed here, copies and constants (None: there are none).
    `iterations`: those of `update` in the program, if they are no box; the others change nothing. `bounds`: of loops
    that results depend on, where there are results; what an array computes outside them is none. `reassociated`: sums
    of floating-point numbers may be made in another order.
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
    type: Int | Float
    target: tuple[Subscript, ...]
    initial: Reference | None
    start: Expr | None = None
    finish: Expr | None = None
    rest: Program | None = None
    iterations: isl.Set | None = field(default=None, compare=False)
    bounds: tuple[Bound, ...] = ()
    extras: tuple[Reference, ...] = ()
    reassociated: bool = False

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
    def rounds(self) -> bool:
        """Whether sums are of floating-point numbers, and results depend on the order of their terms."""
        return self.combine is not None and isinstance(self.type, Float)

    @property
    def ordered(self) -> bool:
        """Whether the order of terms has to be that of the reduction loops."""
        return self.rounds and not self.reassociated

    @property
    def floating(self) -> bool:
        """Whether there are floating-point numbers."""
        kinds = [self.type, *(reference.type for reference in (*self.references, *self.extras))]
        return any(isinstance(kind, Float) for kind in kinds) or any(map(is_floating, postorder(self.body)))

    @property
    def neutral(self) -> int:
        """What changes no accumulator."""
        return 0 if self.combine is None else neutral(self.combine, self.type)

    def without_effect(self, zeros: Collection[int]) -> bool:
        """Whether the body changes no accumulator where the reads with these numbers are zeros."""
        reads = [(0, 0) if k in zeros else type_range(reference.type) for k, reference in enumerate(self.reads)]
        found = fold(self.body, lambda node, parts: value_range(node, parts, reads, {}, {}))
        return found == (self.neutral, self.neutral)

    @cached_property
    def idle(self) -> int | None:
        """An element from which accumulators start at what changes nothing; None if there is none among all numbers of
        16 bits, or the simplest ones of wider types."""
        if self.start is None or self.initial is None or not isinstance(self.initial.type, Int):
            return self.neutral
        kind = self.initial.type
        values = range(kind.minimum, kind.maximum + 1) if kind.width <= _SMALL else \
            (0, self.neutral, 1, -1, kind.minimum, kind.maximum)
        numbers = np.array([value for value in values if kind.contains(value)], storage(kind))
        starts = np.flatnonzero(evaluate(self.start, lambda _: numbers, {}, {}) == self.neutral)
        return int(numbers[starts[0]]) if len(starts) else None

    def extent(self, loop: str) -> int:
        """Iterations of `loop`."""
        return self.extents[self.loops.index(loop)]


def recognise(program: Program, *, reassociate: bool = False) -> Kernel:
    """`program` as a kernel, whose sums of floating-point numbers keep their order unless told to `reassociate`. Raises
    `KernelError`, and `SpaceTimeError` for dependences that are not uniform."""
    kernel = _recognise_in_boxes(program)
    if reassociate:
        return replace(kernel, reassociated=kernel.rounds)
    if kernel.rounds:
        check_order(kernel.analysis.program, kernel.analysis.program.statement(kernel.update))
    return kernel


def _recognise_in_boxes(program: Program) -> Kernel:
    floating = any(isinstance(array.type, Float) for array in program.arrays)
    whole = program if floating else without_tile_loops(program)  # which may change the order of terms
    plain = plain_accumulations(without_temporaries(whole))
    try:
        return _recognise(program, boxed(plain))
    except KernelError:
        wide = boxed(plain, wide=True)
        if not wide.iterations:
            raise
        with suppress(KernelError, SpaceTimeError):
            return _recognise(program, wide)
        raise


def _recognise(program: Program, whole: Boxed) -> Kernel:
    """`program`, which is `whole` now, as a kernel."""
    simple = whole.program
    analysis = analyse(simple, accumulation)
    update = _update(simple, analysis)
    iterations = whole.iterations.get(update.name, None if update.box() is not None else update.domain)
    box = hull(update)
    if update.iterators != analysis.loops:
        raise KernelError(f"{update} is inside loops {', '.join(update.iterators)}, another statement inside "
                          f"{', '.join(analysis.loops)}; the update of a reduction kernel is the deepest statement")
    lows = tuple(low for low, _ in box.values())
    reduction = analysis.reductions.get(update.name)
    flows = [d for d in flow(simple) if d.sink != d.source]
    end = find_destination(simple, update, flows, reduction)
    begin = _Beginning(None) if reduction is None else _beginning(simple, update, reduction, flows, end.type, lows)
    if end.added is not None and (begin.reference is not None or begin.late is not None):
        end = find_destination(simple, update, flows, reduction, adding=False)
    if end.added is not None:
        begin = _Beginning(_reference(simple, update, end.added, lows), end.start)
    finish, extras = _finish(simple, update, reduction, begin, end, lows)
    target = subscripts(update, Access(end.array.name, end.target))
    body, reads = _body(simple, update, reduction, end.type, lows, iterations)
    kernel = Kernel(
        program, analysis, update.name, update.iterators, tuple(high - low + 1 for low, high in box.values()), reads,
        body, reduction and reduction.op, end.array.name, end.type, _from_zero(target, lows),
        begin.reference, begin.start, finish, _rest(analysis, update, end), iterations, extras=extras)
    _check_target(kernel, update)
    free = [name for name in kernel.loops if name not in kernel.reduction_loops]
    kernel = replace(kernel, bounds=results_part(update, free))
    check_iterations(update, iterations, free,
                     [(r.subscripts, program.array(r.array or "").shape, r.bounds)
                      for k, r in enumerate(kernel.reads) if kernel.without_effect({k})], wide=whole.wide)
    return kernel


def _rest(analysis: Analysis, update: Statement, end: Destination) -> Program | None:
    """What leaves values in elements of the output that the update does not reach."""
    program, out = analysis.program, end.array
    others = [a.name for a in program.outputs if a.name != out.name]
    if others:
        raise KernelError(f"program '{program.name}' has several outputs ('{out.name}', '{others[0]}'); a reduction "
                          "kernel has one: legal is a program for each")
    for dependence in analysis.dependences:
        if dependence.kind == "output" and dependence.source == end.last != dependence.sink:
            raise KernelError(f"{program.statement(dependence.sink)} overwrites results of {update}; a reduction "
                              "kernel writes every element last")
    reached = end.target.intersect_domain(update.domain).range()
    left = [s for s in program.statements if s.name not in (update.name, end.last) and s.write.array == out.name
            and not s.write.map.intersect_domain(s.domain).range().is_subset(reached)]
    for statement in left:
        if not _copies(program, statement):
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
        repeated = [s for s in reducing if not s.write.map.intersect_domain(s.domain).is_injective()]
        reducing = repeated or reducing
    if len(reducing) > 1:
        names = " and ".join(s.label() for s in reducing[:2])
        raise KernelError(f"program '{program.name}' accumulates in several statements ({names}); a reduction kernel "
                          "has one: legal is a program for each")
    if reducing:
        return reducing[0]
    deepest = max(program.statements, key=lambda s: (len(s.iterators), not _copies(program, s)))
    if refusal(program, deepest):
        raise KernelError(refusal(program, deepest))
    if any(program.array(access.array).role != "input" for access in deepest.reads):
        raise KernelError(f"{deepest} reads what the program computes and is no reduction 'x = x op e' with an op out "
                          f"of {', '.join((*MODULAR, 'min', 'max'))}")
    return deepest


def _copies(program: Program, statement: Statement) -> bool:
    """Whether the statement does nothing but store an element of an input, or a constant."""
    value = statement.value
    while isinstance(value, Cast):
        value = value.arg
    return isinstance(value, Read | Const) and all(program.array(a.array).role == "input" for a in statement.reads)


# The body.


def _body(program: Program, update: Statement, reduction: Reduction | None, kind: Int | Float, lows: tuple[int, ...],
          iterations: isl.Set | None) -> tuple[Expr, tuple[Reference, ...]]:
    """The expression over references, each of which is there once."""
    value = update.value if reduction is None else reduction.body
    refuse_names(update, value, "a processing element computes from array elements and constants, so put the values "
                                "into an array")
    references: list[Reference] = []
    numbers: dict[int, int] = {}
    for node in postorder(value):
        if isinstance(node, Read) and node.index not in numbers:
            access = update.reads[node.index]
            bounds = used_part(access, iterations, program.array(access.array).shape)
            reference = replace(_reference(program, update, access, lows), bounds=bounds)
            if reference not in references:
                references.append(reference)
            numbers[node.index] = references.index(reference)
    return converted(renumbered(value, numbers.__getitem__), kind), tuple(references)


def _reference(program: Program, statement: Statement, access: Access, lows: tuple[int, ...]) -> Reference:
    array = program.array(access.array)
    if array.role != "input":
        raise KernelError(f"{statement.label(access)} reads '{array.name}', which the program computes; a reduction "
                          "kernel reads inputs")
    return Reference(array.name, number_type(array), _from_zero(subscripts(statement, access), lows))


def _from_zero(found: tuple[Subscript, ...], lows: tuple[int, ...]) -> tuple[Subscript, ...]:
    """Subscripts over loops that count from 0."""
    return tuple(Subscript(s.coefficients, s.constant + sum(c * low for c, low in zip(s.coefficients, lows,
                 strict=True))) for s in found)


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


@dataclass(frozen=True)
class _Beginning:
    """The element that accumulators start from, and `Kernel.start`. `late`: what they start from instead is a function
    of these elements, which is combined with the result in the end."""

    reference: Reference | None
    start: Expr | None = None
    late: tuple[Expr, tuple[Access, ...]] | None = None


def _beginning(program: Program, update: Statement, reduction: Reduction, flows: list[Dependence], kind: Int | Float,
               lows: tuple[int, ...]) -> _Beginning:
    """No reference if it is what changes nothing."""
    sources = [d for d in flows if d.sink == update.name and d.read == reduction.read]
    if len(sources) != 1:
        raise KernelError(f"{update} starts from values of {len(sources)} statements; a reduction kernel starts from "
                          "one constant or one array")
    start = merged_reads(program.statement(sources[0].source))
    value, reads = converted(start.value, kind), list(start.reads)
    if not reads:
        number = _folded(start, value)
        return _Beginning(None if number == _start(reduction.op, kind) else Reference(None, kind, (), number))
    accesses = []
    for access in reads:
        mapping = composed(update.reads[reduction.read].map, start.write.map.reverse(), access.map,
                           domain=update.domain)
        if not mapping.is_single_valued() or not update.domain.is_subset(mapping.domain()):
            raise KernelError(f"{start} does not start every result of {update}")
        accesses.append(Access(access.array, mapping))
    if len(reads) > 1 and isinstance(kind, Float):
        raise KernelError(f"{start} starts sums of floating-point numbers from several elements, which would have to "
                          "be added first; legal is to start from one element, or from a constant and add the rest in "
                          f"{update}")
    if len(reads) > 1:
        refuse_names(start, value, "before its sums a reduction kernel computes from elements and constants")
        return _Beginning(None, late=(value, tuple(accesses)))
    reference = _reference(program, update, accesses[0], lows)
    if isinstance(kind, Float):
        check_start(update, reduction.body, start)
    return _Beginning(reference, function_of(start, value, reference.type, kind))


def _finish(program: Program, update: Statement, reduction: Reduction | None, begin: _Beginning, end: Destination,
            lows: tuple[int, ...]) -> tuple[Expr | None, tuple[Reference, ...]]:
    """`Kernel.finish` and `Kernel.extras`."""
    value, accesses = end.finish, list(end.extras)
    if begin.late is not None and reduction is not None:
        start, reads = begin.late
        first = renumbered(start, lambda number: number + 1 + len(accesses))
        total = apply(reduction.op, first, Read(0, end.type))
        stored = converted(Read(0, end.type), number_type(end.array)) if value is None else value
        value = fold(stored, lambda node, parts: total if isinstance(node, Read) and node.index == 0
                     else with_children(node, parts))
        accesses += reads
    if value is None or not accesses:
        return value, ()
    references = [_reference(program, update, access, lows) for access in accesses]
    extras = tuple(dict.fromkeys(references))
    return renumbered(value, lambda number: 1 + extras.index(references[number - 1]) if number else 0), extras


def _start(op: str, kind: Int | Float) -> int:
    """What accumulators start from where nothing is said: for sums of floating-point numbers positive zero, as programs
    write it."""
    return 0 if isinstance(kind, Float) and op == "add" else neutral(op, kind)


def _folded(start: Statement, value: Expr) -> int:
    """A constant after its conversions; of a floating-point number its bits."""
    try:
        return int(to_words(value.type, evaluate(value, lambda _: np.zeros(1), {}, {}))[0])
    except KeyError:
        raise KernelError(f"{start} starts sums from its loop counters; a reduction kernel starts from a constant or "
                          "from a function of one element of an input") from None
