"""Values of a loop's body that iterations before computed (Hammes 2000, section 4.2.1).

Two values are the same some iterations apart if they are computed alike from parts of windows that lie as many steps
apart in the last dimension. A value's *form* says how it is computed, with columns counted from its own *anchor*, in
iterations: values of one form with anchors 5 and 3 are one value, two iterations apart.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field

from compiler.frontend.sac.ddcf.graph import Argument, Constant, Edge, Node, Operand
from compiler.frontend.sac.ddcf.kinds import RETURN_KINDS
from compiler.frontend.sac.passes.loops import LoopView, Refusal, array_windows

__all__ = ["Chains", "Column", "find_chains", "last_bounds", "moved_reference"]

_FREE = ("AREF", "CAST", "ARR_DEF", "EXTENTS", "NOT", "BIT_NOT")
"""What costs nothing, or next to nothing: carrying it on would cost more."""


@dataclass(frozen=True)
class Column:
    """A node's form by number, and its anchor in iterations; None if it uses no window."""

    form: int
    anchor: int | None


@dataclass
class Chains:
    """What a body takes from iterations before: for each such value the one that is computed and how many iterations
    before; for each computed one the longest way; and the nodes that are still computed."""

    replaced: dict[Edge, tuple[Edge, int]] = field(default_factory=dict)
    registers: dict[Edge, int] = field(default_factory=dict)
    needed: set[int] = field(default_factory=set)

    @property
    def longest(self) -> int:
        """Iterations until all registers hold values."""
        return max(self.registers.values(), default=0)

    @property
    def count(self) -> int:
        """Registers altogether."""
        return sum(self.registers.values())


def find_chains(view: LoopView) -> Chains:
    """The chains of a loop. Raises `Refusal` if there are none, or generators have no windows that are known."""
    steps = []
    for part in view.parts:
        windows = array_windows(part)
        if windows is None:
            raise Refusal("windows and steps are not known, or dimensions are taken whole")
        steps.append(windows[-1][1])
    columns = _Forms(view, steps).columns()
    last: dict[int, int] = {}
    for number, column in columns.items():
        if column.anchor is not None and _is_costly(view, number):
            other = columns.get(last.get(column.form, -1))
            if other is None or (other.anchor or 0) < column.anchor:
                last[column.form] = number
    chains = _demanded(view, columns, last)
    if not chains.registers:
        raise Refusal("no value was computed by an iteration before")
    return chains


def _demanded(view: LoopView, columns: dict[int, Column], last: dict[int, int]) -> Chains:
    """What the loop's ends need, taken from iterations before where that is possible."""
    chains = Chains()
    pending = [o for node in view.graph.nodes if node.kind in RETURN_KINDS for o in node.operands]
    while pending:
        edge = pending.pop()
        if not isinstance(edge, Edge) or edge.number == 0 or edge in chains.replaced:
            continue
        column = columns.get(edge.number)
        source = None if column is None else last.get(column.form)
        distance = 0
        if column is not None and source is not None:
            distance = (columns[source].anchor or 0) - (column.anchor or 0)
        if source is not None and distance and not view.graph.type(edge).is_array:
            computed = Edge(source, edge.port)
            chains.replaced[edge] = computed, distance
            chains.registers[computed] = max(distance, chains.registers.get(computed, 0))
            pending.append(computed)
        elif edge.number not in chains.needed:
            chains.needed.add(edge.number)
            pending += view.graph.nodes[edge.number].operands
    return chains


def _is_costly(view: LoopView, number: int) -> bool:
    pending, seen = [number], set()
    while pending:
        node = view.graph.nodes[pending.pop()]
        shifted = node.kind.endswith("SHIFT") and isinstance(node.operands[1], Constant)
        if node.kind not in _FREE and not shifted:
            return True
        for operand in node.operands:
            if isinstance(operand, Edge) and operand.number and operand.number not in seen:
                seen.add(operand.number)
                pending.append(operand.number)
    return False


class _Forms:
    """Numbers forms."""

    def __init__(self, view: LoopView, steps: list[int]) -> None:
        self.view, self.steps = view, steps
        self.numbers: dict[Hashable, int] = {}
        self.found: dict[int, Column] = {}

    def columns(self) -> dict[int, Column]:
        """Form and anchor of all nodes of the body that have one: not of those that use indices."""
        for number, node in enumerate(self.view.graph.nodes):
            if number and node.kind not in (*RETURN_KINDS, "NEXT", "LOOP_INDICES"):
                column = self._reference(node) or self._computed(node)
                if column is not None:
                    self.found[number] = column
        return self.found

    def _number(self, key: Hashable) -> int:
        return self.numbers.setdefault(key, len(self.numbers))

    def _reference(self, node: Node) -> Column | None:
        """A part of a window at known indices."""
        part = self._window(node.operands[0]) if node.kind == "AREF" else None
        bounds = last_bounds(node) if part is not None else None
        if part is None or bounds is None:
            return None
        anchor = bounds[0] // self.steps[part]
        rest = tuple(bound - anchor * self.steps[part] for bound in bounds[:2])
        others = node.operands[1:-3] if str(node.attribute("pattern")).endswith(":") else node.operands[1:-1]
        return Column(self._number((part, node.attributes, node.outputs, others, rest, bounds[2:])), anchor)

    def _window(self, operand: Operand) -> int | None:
        """The generator whose window `operand` is."""
        if operand not in [Edge(0, port) for port in range(len(self.view.captures))]:
            return None
        assert isinstance(operand, Edge)
        edge = self.view.captures[operand.port]
        return edge.number if edge.port == 0 else None

    def _computed(self, node: Node) -> Column | None:
        keys: list[tuple[Hashable, int | None]] = []
        for operand in node.operands:
            key = self._operand(operand)
            if key is None:
                return None
            keys.append(key)
        anchor = next((a for _, a in keys if a is not None), None)
        moved = tuple((key, None if a is None else a - (anchor or 0)) for key, a in keys)
        return Column(self._number((node.kind, node.attributes, node.outputs, node.graphs, moved)), anchor)

    def _operand(self, operand: Operand) -> tuple[Hashable, int | None] | None:
        if isinstance(operand, Constant | Argument):
            return operand, None
        if operand.number:
            column = self.found.get(operand.number)
            return None if column is None else (column.form, column.anchor)
        part = self._window(operand)
        return None if part is None else (("window", part), 0)


def last_bounds(node: Node) -> tuple[int, ...] | None:
    """Indices in the last dimension of a reference that are all known: one, or low, high and step."""
    numbers = [int(o.value) for o in node.operands[1:] if isinstance(o, Constant)]
    if len(numbers) < len(node.operands) - 1:
        return None
    return tuple(numbers[-3:] if str(node.attribute("pattern")).endswith(":") else numbers[-1:])


def moved_reference(node: Node, array: Operand, by: tuple[int, ...]) -> tuple[Operand, ...]:
    """The operands of a reference at known indices to `array`, `by` so many places further in each dimension."""
    rest, moved = list(node.operands[1:]), [array]
    for slot, distance in zip(str(node.attribute("pattern")), by, strict=True):
        count = 3 if slot == ":" else 1
        for k, operand in enumerate(rest[:count]):
            assert isinstance(operand, Constant)
            moved.append(operand if k == 2 else Constant(int(operand.value) + distance, operand.scalar))
        rest = rest[count:]
    return tuple(moved)
