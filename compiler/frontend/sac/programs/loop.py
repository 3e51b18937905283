"""One dataflow graph whose extents are known: what its tokens are in an iteration of the loop."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Literal

import islpy as isl

from compiler.frontend.kernel import Typed, cast, iterator
from compiler.frontend.sac.ddcf.graph import Argument, Edge
from compiler.frontend.sac.dfg.graph import Dfg, DfgNode, Operand, Word
from compiler.frontend.sac.dfg.interface import WORD
from compiler.frontend.sac.dfg.kinds import GENERATORS, signed
from compiler.frontend.sac.programs.addresses import Affine, row_major
from compiler.frontend.sac.programs.expressions import as_number, compute, token, widened
from compiler.frontend.sac.programs.obstacles import NoProgram
from compiler.ir.expr import Read
from compiler.ir.program import Access, Location
from compiler.ir.types import Int

__all__ = ["Body", "Held", "LoopShape", "Phase"]

Phase = Literal["before", "start", "iteration", "end", "behind"]
"""When a statement of a loop runs: once before all iterations or behind them, in each, or where the loop begins anew
and where it ends in each iteration of the loops around."""


@dataclass(frozen=True)
class Held:
    """An array of the program: its name, extents (one element for a scalar) and type; its values, if they are known
    before the run."""

    name: str
    shape: tuple[int, ...]
    type: Int
    values: tuple[int, ...] | None = None


@dataclass(frozen=True)
class LoopShape:
    """A graph with the arrays and scalars that enter it, by operand of the loop, and the extents of the loop."""

    dfg: Dfg
    operands: Mapping[int, Held | int]
    extents: tuple[int, ...]

    @property
    def iterators(self) -> tuple[str, ...]:
        """Names of the iterators, outermost first."""
        return tuple(f"i{d}" for d in range(len(self.extents)))

    def argument(self, number: int) -> Held | int:
        """What an argument word stands for: an array, of one element for a scalar, or the number that it is."""
        owner, _, part = self.dfg.inputs[number].name.partition(".")
        held = self.operands[int(owner[2:])] if owner.startswith("in") else prod(self.extents)
        if part.startswith("extent"):
            extents = held.shape if isinstance(held, Held) else self.extents
            return extents[int(part.removeprefix("extent"))]
        return held


Element = Callable[["Body", int, Held, Sequence[Typed]], Typed]
"""The element of an array at places that values decide, for the node of this number."""


class Body:
    """Values of tokens in one iteration, as expressions over `reads`; a statement takes them."""

    def __init__(self, loop: LoopShape, statement: str, carried: Callable[[int], Held], element: Element) -> None:
        self.loop, self.dfg, self.statement, self.carried = loop, loop.dfg, statement, carried
        self.element = element
        self.reads: list[Access] = []
        self._read: dict[tuple[str, tuple[Affine, ...]], Typed] = {}
        self._values: dict[Edge, Typed] = {}
        self._places: dict[Edge, Affine | None] = {}

    def value(self, operand: Operand) -> Typed:
        """The token that an operand brings, its low bits."""
        if isinstance(operand, Word):
            return token(operand.value, operand.width)
        if isinstance(operand, Argument):
            held = self.loop.argument(operand.number)
            if isinstance(held, int):
                return token(held % (1 << self.dfg.width(operand)), self.dfg.width(operand))
            return self.read(held, self.first(held))
        if operand not in self._values and self.dfg.nodes[operand.number].kind in GENERATORS:
            self._values[operand] = self._generated(operand)
        if operand not in self._values:
            for number in self._before(operand.number):
                self._values[Edge(number)] = self._computed(number)
        return self._values[operand]

    def _before(self, number: int) -> list[int]:
        """Nodes from which something gets to node `number`, itself included, in their order."""
        found, ahead = set(), [number]
        while ahead:
            node = ahead.pop()
            if node in found or Edge(node) in self._values or self.dfg.nodes[node].kind in GENERATORS:
                continue
            found.add(node)
            if self.dfg.nodes[node].kind != "CIRCULATE":
                ahead += [o.number for o in self.dfg.nodes[node].operands if isinstance(o, Edge)]
        return sorted(found)

    def _computed(self, number: int) -> Typed:
        """The output of a node whose operands are known, or come from generators."""
        node = self.dfg.nodes[number]
        if node.kind == "CIRCULATE":
            return self.read(self.carried(number), self.first(self.carried(number)))
        if node.kind == "AREF":
            return self._reference(number)
        return compute(node, [self.value(o) for o in node.operands])

    def _generated(self, edge: Edge) -> Typed:
        """A token of a generator: an element, or an index."""
        node = self.dfg.nodes[edge.number]
        width = node.widths[edge.port]
        place = self._affine(node, edge.port)
        if place is not None:
            return self.number(place, width)
        held, places = self._element(node, edge.port)
        return self.read(held, places)

    def here(self) -> tuple[Affine, ...]:
        """The place of this iteration in an array with an element for each."""
        return tuple(Affine.of(0, {k: 1}) for k in range(len(self.loop.extents)))

    def first(self, held: Held) -> tuple[Affine, ...]:
        """The place of a scalar, or of that of this iteration, where each of the outer loops has its own."""
        return (Affine(0),) if held.shape == (1,) else self.here()[:len(held.shape)]

    def number(self, place: Affine, width: int) -> Typed:
        """An affine number in `width` bits."""
        low, high = place.range(self.loop.extents)
        has_sign = low < 0
        most = max(2, has_sign + max(high, ~low, 0).bit_length())
        type_ = Int(most, has_sign)
        found = as_number(place.constant, type_)
        for k, factor in place.factors:
            found = found + iterator(self.loop.iterators[k], type_) * type_.wrap(factor)
        return cast(Int(width, signed=False), widened(found, width, has_sign) if width > most else found)

    def read(self, held: Held, places: Sequence[Affine]) -> Typed:
        """An element of an array; the same element is read once."""
        key = held.name, tuple(places)
        if key not in self._read:
            names = self.loop.iterators
            where = ", ".join(place.text(names) for place in places)
            mapping = isl.Map(f"{{ {self.statement}[{', '.join(names)}] -> {held.name}[{where}] }}")
            self._read[key] = Typed(Read(len(self.reads), held.type))
            self.reads.append(Access(held.name, mapping, self.location))
        return self._read[key]

    @property
    def location(self) -> Location | None:
        """The line of the loop."""
        place = self.dfg.place
        return Location(place.file, place.line) if place else None

    # Places.

    def place(self, operand: Operand) -> Affine | None:
        """The number that an operand brings if it is affine in the iterators and does not wrap, else None."""
        if isinstance(operand, Word):
            return Affine(operand.value)
        if isinstance(operand, Argument):
            known = self.loop.argument(operand.number)
            return Affine(known) if isinstance(known, int) else None
        if operand not in self._places:
            found = self._affine(self.dfg.nodes[operand.number], operand.port)
            low, high = found.range(self.loop.extents) if found else (0, 0)
            fits = low >= 0 and high < 1 << self.dfg.width(operand)
            self._places[operand] = found if fits else None
        return self._places[operand]

    def _affine(self, node: DfgNode, port: int) -> Affine | None:
        if node.kind == "SCALARGEN":
            low, step = (self._static(node.operands[3 * port + k]) for k in (0, 2))
            return Affine.of(signed(low, WORD), {port: step})
        if node.kind in ("ELEGEN", "SLICEGEN", "WINDOWGEN"):
            return self._start(node, port)
        if node.kind in ("CHANGE_WIDTH", "CHANGE_WIDTH_SE"):
            return self._extended(node)
        if node.kind in ("UADD", "IADD", "USUB", "ISUB", "UMUL"):
            left, right = (self.place(o) for o in node.operands)
            if left is None or right is None:
                return None
            if node.kind == "UMUL":
                return (left.times(right.constant) if not right.factors else
                        right.times(left.constant) if not left.factors else None)
            return left.plus(right, -1 if node.kind.endswith("SUB") else 1)
        return None

    def _extended(self, node: DfgNode) -> Affine | None:
        place = self.place(node.operands[0])
        half = 1 << (self.dfg.width(node.operands[0]) - 1)
        negative = place is not None and place.range(self.loop.extents)[1] >= half
        return None if node.kind == "CHANGE_WIDTH_SE" and negative else place

    def _start(self, node: DfgNode, port: int) -> Affine | None:
        """An index that a generator brings behind its elements."""
        steps = self._steps(node)
        dimension = port - (len(node.widths) - len(steps))
        return None if dimension < 0 else Affine.of(0, {dimension: steps[dimension]})

    def _static(self, operand: Operand) -> int:
        place = self.place(operand)
        if place is None or place.factors:
            raise NoProgram("SCALARGEN", self.dfg.place, "the range of the generator depends on values of the run",
                            "give numbers, or extents of arrays")
        return place.constant

    def _steps(self, node: DfgNode) -> list[int]:
        rank = len(str(node.attribute("pattern")))
        first = 1 + rank if node.kind == "ELEGEN" else 1 + 2 * rank
        return [self._static(o) for o in node.operands[first:]]

    def _element(self, node: DfgNode, port: int) -> tuple[Held, list[Affine]]:
        """The array and the place of element number `port` of what a generator brings."""
        pattern = str(node.attribute("pattern"))
        rank = len(pattern)
        sizes = [1] * rank if node.kind == "ELEGEN" else [self._static(o) for o in node.operands[1 + rank:1 + 2 * rank]]
        steps = iter(self._steps(node))
        run = iter(range(rank))
        starts = [Affine.of(0, {next(run): next(steps)}) if slot == "~" else Affine(0) for slot in pattern]
        within = row_major(port, sizes)
        return self._array(node.operands[0]), [s.plus(Affine(o)) for s, o in zip(starts, within, strict=True)]

    def _array(self, operand: Operand) -> Held:
        assert isinstance(operand, Argument)
        held = self.loop.argument(operand.number)
        assert isinstance(held, Held)
        return held

    def indices(self, number: int) -> list[Typed]:
        """The indices of an AREF node, 32 bits each."""
        node = self.dfg.nodes[number]
        return [self.value(o) for o in node.operands[1 + len(self._array(node.operands[0]).shape):]]

    def _reference(self, number: int) -> Typed:
        """AREF of an array in memory: address, extents, indices."""
        node = self.dfg.nodes[number]
        held = self._array(node.operands[0])
        places = [self.place(o) for o in node.operands[1 + len(held.shape):]]
        found = [place for place in places if place is not None]
        ranges = [place.range(self.loop.extents) for place in found]
        inside = all(low >= 0 and high < extent for (low, high), extent in zip(ranges, held.shape, strict=False))
        if len(found) < len(places) or not inside:
            return self.element(self, number, held, self.indices(number))
        return self.read(held, found)
