"""The order in which an array adds up floating-point numbers, as a program.

Every reduction loop is cut as the array cuts it: tiles, positions, steps, lanes. The terms of a step are added lane by
lane, neighbours first; then from west to east, the first step's from what the sum starts from on; then from north to
south; and the sums of steps one after the other, in the order of tiles and steps. Where steps take several partial sums
in turns, the first one starts from what the sum starts from, the others from negative zero; they are added in the end,
neighbours first. Terms beyond the bound of a loop are negative zero, which changes no sum.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Literal

import islpy as isl

from compiler.bind.systolic.plan import Plan, keeps_order
from compiler.ir.expr import Apply, Const, Expr, Read, converted, fold, with_children
from compiler.ir.names import fresh_name
from compiler.ir.program import Access, Array, Program, Statement
from compiler.ir.types import Float, Type
from compiler.ir.verify import verify
from compiler.sched.space_time import Subscript, neutral

__all__ = ["stated_program"]


@dataclass(frozen=True)
class _Digit:
    """A part of reduction loop number `loop`: `count` values, each of `weight` iterations."""

    loop: int
    kind: Literal["tile", "step", "part", "row", "column", "lane"]
    count: int
    weight: int

    @property
    def text(self) -> str:
        """Its iterator."""
        return f"{self.kind}{self.loop}"


def stated_program(plan: Plan) -> Program | None:
    """A program with the inputs and outputs of that of `plan`, and its results if sums are made as the array does; None
    if that is the order of the plan's program."""
    if not plan.kernel.reassociated or keeps_order(plan):
        return None
    return _Order(plan).program()


class _Order:
    def __init__(self, plan: Plan) -> None:
        self._plan, self._kernel = plan, plan.kernel
        kernel = plan.kernel
        assert isinstance(kernel.type, Float)
        self._type: Float = kernel.type
        self._free = [k for k, name in enumerate(kernel.loops) if name not in kernel.reduction_loops]
        self._digits = _digits(plan)
        taken = set(kernel.program.names)
        self._names: dict[str, str] = {}
        for name in ("sums", "terms", "steps", "others", "start", "padding", "term", "lanes", "first", "add", "store"):
            self._names[name] = fresh_name(name, taken)
            taken.add(self._names[name])

    def program(self) -> Program:
        """See `stated_program`."""
        kernel, source = self._kernel, self._kernel.program
        arrays = [*(a for a in source.arrays if a.role != "intermediate"), self._array("sums", self._of("part")),
                  self._array("terms", self._digits)]
        statements = [*self._starts(), *self._padding(), self._term()]
        times = {s.name: number for number, s in enumerate(statements, 1)}
        terms = "terms"
        if self._of("lane"):
            arrays.append(self._array("steps", self._without("lane")))
            statements.append(self._lanes())
            times[statements[-1].name] = len(times) + 1
            terms = "steps"
        sums = self._sums(terms)
        times |= dict.fromkeys([s.name for s in sums], len(times) + 1)
        statements += [*sums, self._store()]
        times[statements[-1].name] = max(times.values()) + 1
        rest = kernel.rest
        arrays += [a for a in (rest.arrays if rest else ()) if a.role == "intermediate"]
        found = Program(source.name, tuple(arrays), source.tables, (*(rest.statements if rest else ()), *statements),
                        _order(rest, statements, times))
        verify(found)
        return found

    # Parts.

    def _of(self, kind: str) -> list[_Digit]:
        return [digit for digit in self._digits if digit.kind == kind]

    def _without(self, *kinds: str) -> list[_Digit]:
        return [digit for digit in self._digits if digit.kind not in kinds]

    def _array(self, name: str, digits: Iterable[_Digit]) -> Array:
        shape = (*(self._kernel.extents[k] for k in self._free), *(digit.count for digit in digits))
        return Array(self._names[name], shape, self._type, "intermediate")

    def _statement(self, name: str, digits: Sequence[_Digit], reads: Sequence[_Place], write: _Place, value: Expr,
                   where: Sequence[str] = ()) -> Statement:
        """For every result and all values of `digits`, `where` holds."""
        kernel, own = self._kernel, self._names[name]
        free = {f"loop{k}": kernel.extents[k] for k in self._free}
        ranges = free | {digit.text: digit.count for digit in digits}
        bounds = [*(f"0 <= {iterator} < {count}" for iterator, count in ranges.items()), *where]
        head = f"{own}[{', '.join(ranges)}]"
        domain = isl.Set(f"{{ {head} : {' and '.join(bounds) or 'true'} }}")

        def access(place: _Place) -> Access:
            return Access(place.array, isl.Map(f"{{ {head} -> {place.array}[{', '.join(place.subscripts)}] }}"))

        location = kernel.analysis.program.statement(kernel.update).location
        return Statement(own, tuple(ranges), domain, tuple(map(access, reads)), access(write), value, location)

    def _element(self, name: str, digits: Iterable[_Digit] = (), given: Mapping[str, int] | None = None) -> _Place:
        """The element of an array of sums or terms; of the kinds of digits that are `given` with that number."""
        given = given or {}
        return _Place(self._names[name], (*(f"loop{k}" for k in self._free),
                                          *(str(given.get(digit.kind, digit.text)) for digit in digits)))

    def _loop(self, number: int) -> str:
        """Iteration of a loop of the kernel, from 0."""
        if number in self._free:
            return f"loop{number}"
        return " + ".join(f"{d.weight} {d.text}" for d in self._digits if d.loop == number) or "0"

    def _referred(self, array: str, subscripts: Iterable[Subscript]) -> _Place:
        found = []
        for subscript in subscripts:
            parts = [f"{c} * ({self._loop(k)})" for k, c in enumerate(subscript.coefficients) if c]
            found.append(" + ".join([str(subscript.constant), *parts]))
        return _Place(array, tuple(found))

    # Statements.

    def _starts(self) -> list[Statement]:
        first = self._start()
        if not self._of("part"):
            return [first]
        parts = self._of("part")
        (part,) = parts
        return [first, self._statement("others", parts, (), self._element("sums", parts), self._nothing,
                                       [f"{part.text} > 0"])]

    def _start(self) -> Statement:
        initial, start = self._kernel.initial, self._kernel.start
        reads: list[_Place] = []
        value: Expr = Const(0, self._type)
        if initial is not None:
            element: Expr = Read(0, initial.type)
            if initial.array is None:
                element = Const(initial.constant, initial.type)
            else:
                reads.append(self._referred(initial.array, initial.subscripts))
            value = element if start is None else _with_reads(start, lambda _: element)
        first = self._element("sums", self._of("part"), {"part": 0})
        return self._statement("start", (), reads, first, converted(value, self._type))

    def _padding(self) -> list[Statement]:
        """Terms that there are not, of loops that tiles do not divide."""
        loops = [k for k in range(len(self._kernel.loops)) if k not in self._free]
        if all(prod(d.count for d in self._digits if d.loop == k) == self._kernel.extents[k] for k in loops):
            return []
        return [self._statement("padding", self._digits, (), self._element("terms", self._digits), self._nothing)]

    @property
    def _nothing(self) -> Const:
        return Const(neutral("add", self._type), self._type)

    def _term(self) -> Statement:
        kernel = self._kernel
        inside = [f"{self._loop(k)} < {kernel.extents[k]}" for k in range(len(kernel.loops)) if k not in self._free]
        reads = [self._referred(r.array or "", r.subscripts) for r in kernel.reads]
        return self._statement("term", self._digits, reads, self._element("terms", self._digits), kernel.body, inside)

    def _lanes(self) -> Statement:
        """The tree over the lanes."""
        (lane,) = self._of("lane")
        digits = self._without("lane")
        reads = [self._element("terms", self._digits, {"lane": number}) for number in range(lane.count)]
        return self._statement("lanes", digits, reads, self._element("steps", digits), self._tree(lane.count))

    def _tree(self, count: int) -> Expr:
        """The sum of the first `count` reads, neighbours first."""
        values: list[Expr] = [Read(number, self._type) for number in range(count)]
        while len(values) > 1:
            pairs = [values[k : k + 2] for k in range(0, len(values), 2)]
            values = [pair[0] if len(pair) == 1 else self._plus(*pair) for pair in pairs]
        return values[0]

    def _sums(self, terms: str) -> list[Statement]:
        """What is added to a sum in every step; in the first one, sums along rows begin with it."""
        taken = self._without("lane") if terms == "steps" else self._digits
        turns = [digit for digit in self._digits if digit.kind in ("tile", "step")]
        steps = [digit for digit in self._digits if digit.kind in ("tile", "step", "part")]
        rows, columns = (self._of(kind)[0].count if self._of(kind) else 1 for kind in ("row", "column"))
        sums = self._element("sums", self._of("part"))
        reads = [sums, *(self._element(terms, taken, {"row": r, "column": c})
                                          for r in range(rows) for c in range(columns))]
        values = [Read(number, self._type) for number in range(len(reads))]
        total, grid = values[0], [values[1 + r * columns :][:columns] for r in range(rows)]
        first = self._chain([self._chain([total, *grid[0]]), *map(self._chain, grid[1:])])
        later = self._plus(total, self._chain([self._chain(row) for row in grid]))
        if rows * columns == 1 or not turns:
            return [self._statement("add", steps, reads, sums, first)]
        place = " + ".join(digit.text for digit in turns)
        return [self._statement("first", steps, reads, sums, first, [f"{place} = 0"]),
                self._statement("add", steps, reads, sums, later, [f"{place} > 0"])]

    def _chain(self, values: Sequence[Expr]) -> Expr:
        total, *others = values
        for value in others:
            total = self._plus(total, value)
        return total

    def _plus(self, a: Expr, b: Expr) -> Expr:
        return Apply("add", (a, b), self._type)

    def _store(self) -> Statement:
        kernel = self._kernel
        parts = self._of("part")
        count = parts[0].count if parts else 1
        reads = [*(self._element("sums", parts, {"part": number}) for number in range(count)),
                 *(self._referred(e.array or "", e.subscripts) for e in kernel.extras)]
        value = self._tree(count)
        if kernel.finish is not None:
            whole = value
            value = _with_reads(kernel.finish, lambda number: Read(count - 1 + number, kernel.extras[number - 1].type)
                                if number else whole)
        kind: Type = kernel.program.array(kernel.output).type
        return self._statement("store", (), reads, self._referred(kernel.output, kernel.target),
                               converted(value, kind))


@dataclass(frozen=True)
class _Place:
    """An element of `array`."""

    array: str
    subscripts: tuple[str, ...]


def _digits(plan: Plan) -> list[_Digit]:
    """Those of reduction loops with several values, in the order in which the array goes through them."""
    kernel, spec = plan.kernel, plan.spec
    found: list[_Digit] = []
    for loop in spec.tile_loops:
        if loop.reduction:
            split = plan.split(loop.name)
            number = kernel.loops.index(loop.name)
            found.append(_Digit(number, "tile", split.tiles(kernel.extents[number]), split.tile))
    inner = next((loop for loop in reversed(spec.time_loops) if loop.extent > 1), None)
    for loop in spec.time_loops:
        if loop.reduction:
            number, lanes = kernel.loops.index(loop.name), plan.split(loop.name).lanes
            parts = spec.result.parts if loop is inner else 1
            found.append(_Digit(number, "step", loop.extent // parts, parts * lanes))
            found.append(_Digit(number, "part", parts, lanes))
    for split in plan.splits:
        if split.loop in kernel.reduction_loops:
            number = kernel.loops.index(split.loop)
            if split.axis is not None:
                found.append(_Digit(number, "column" if split.axis else "row", split.count, split.position))
            found.append(_Digit(number, "lane", split.lanes, 1))
    return [digit for digit in found if digit.count > 1]


def _with_reads(value: Expr, read: Callable[[int], Expr]) -> Expr:
    return fold(value, lambda node, parts: read(node.index) if isinstance(node, Read) else with_children(node, parts))


def _order(rest: Program | None, statements: Sequence[Statement], times: Mapping[str, int]) -> isl.UnionMap:
    """Those of `rest` first, then `statements` by their `times`, each as its iterators count."""
    size = max(len(s.iterators) for s in statements)
    found = isl.UnionMap("{ }")
    before = [] if rest is None else [(s, rest.order_of(s.name)) for s in rest.statements]
    size = max([size, *(order.dim(isl.dim_type.out) for _, order in before)])
    for statement in statements:
        names = list(statement.iterators)
        vector = ", ".join([str(times[statement.name]), *names, *["0"] * (size - len(names))])
        found = found.union(isl.UnionMap(f"{{ {statement.name}[{', '.join(names)}] -> [{vector}] }}"))
    for _, order in before:
        names = [f"t{k}" for k in range(order.dim(isl.dim_type.out))]
        vector = ", ".join(["0", *names, *["0"] * (size - len(names))])
        later = isl.Map(f"{{ [{', '.join(names)}] -> [{vector}] }}")
        found = found.union(isl.UnionMap.from_map(order.apply_range(later)))
    return found
