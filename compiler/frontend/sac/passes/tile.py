"""Stripmining and blocking: a loop over larger windows around the loop that was written (Hammes 2000, section 4.1.3).

Both split the array into windows of the pragma's extents that overlap by as much as the iterations need, and join what
the iterations of the larger windows give. What the larger windows leave at the right and at the bottom, the fringes,
are loops of their own. Steps and fringes are those of the thesis, with the end of the bottom fringe mended: the last
column that the main part uses.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from compiler.frontend.sac.ddcf.graph import Argument, Constant, Edge, Node, Operand
from compiler.frontend.sac.extents import Extents, span_extent, window_extent
from compiler.frontend.sac.passes.loops import (
    LoopBuilder,
    LoopView,
    Refusal,
    array_windows,
    isolate_arrays,
    loop_view,
    pragmas_of,
    retype_input,
    set_extents,
    unknown_results,
    window_node,
    with_pragmas,
)
from compiler.frontend.sac.passes.rewrite import Rebuilt, Rewriter
from compiler.frontend.sac.passes.sections import BOUND, last_index
from compiler.frontend.sac.types import BOOL, Type

__all__ = ["BlockLoops", "StripmineLoops", "check_combines"]

_COMBINED = ("SUM", "PRODUCT", "MIN", "MAX", "AND", "OR")


@dataclass(frozen=True)
class _Dimension:
    """One dimension: the loop's window and step, the larger window, the array."""

    window: int
    step: int
    larger: int
    extent: int | None

    @property
    def larger_step(self) -> int:
        """The step of the larger window: as many of the loop's steps as it holds iterations."""
        return (self.larger - self.window + self.step) // self.step * self.step

    @property
    def inside(self) -> int:
        """The loop's windows in a larger one."""
        return self.larger_step // self.step

    @property
    def count(self) -> int | None:
        """Larger windows."""
        return window_extent(self.extent, self.larger, self.larger_step)

    @property
    def has_fringe(self) -> bool:
        """Whether there are, or may be, windows that are in no larger one."""
        return self.extent is None or self.count is None or (
            self.extent - self.count * self.larger_step >= self.window)

    def fringe(self, out: Rebuilt, last: Operand) -> Operand:
        """Where the first of these stands in an array whose last index is `last`; computed in `out` if that is not
        known."""
        if self.count is not None:
            return Constant(self.count * self.larger_step, BOUND)
        more = _added(out, last, 1 - self.larger + self.larger_step)
        type_ = (Type(BOUND),)
        (count,) = out.add(Node("DIV", (more, Constant(self.larger_step, BOUND)), type_))
        true = Constant(1, BOOL)
        (count,) = out.add(Node("MAX_MANY", (count, true, Constant(0, BOUND), true), type_))
        return out.add(Node("MUL", (count, Constant(self.larger_step, BOUND)), type_))[0]

    @property
    def behind(self) -> int:
        """How far behind the fringe's first index the last one is that windows within larger ones use."""
        return self.window - self.step - 1


class _TileLoops(Rewriter):
    """Follows one of the two pragmas."""

    name = ""

    def node(self, out: Rebuilt, node: Node) -> list[Operand]:
        node = self.within(out, node)
        wanted = next((p[1:] for p in pragmas_of(node) if p[0] == self.name), None)
        if wanted is None:
            return out.add(node)
        extents = [int(number) for number in wanted]
        try:
            dimensions = _dimensions(out, node, extents)
        except Refusal as reason:
            self.report.refused(self.name, node.place, str(reason))
            return out.add(node)
        self.report.done(self.name, node.place, _text(dimensions))
        rest = [pragma for pragma in pragmas_of(node) if pragma[0] != self.name]
        return _Tiled(out, with_pragmas(node, rest), dimensions, self.inner_pragmas(rest)).outputs()

    def inner_pragmas(self, rest: Sequence[tuple[str | int, ...]]) -> list[tuple[str | int, ...]]:
        """Pragmas of the loop inside of larger windows."""
        return list(rest)


class StripmineLoops(_TileLoops):
    """Follows the pragma ``stripmine``: full unrolling of the inner loop makes the larger window's iterations one."""

    name = "stripmine"


class BlockLoops(_TileLoops):
    """Follows the pragma ``block``: the inner loop stays, and a host gives it one block after the other."""

    name = "block"

    def inner_pragmas(self, rest: Sequence[tuple[str | int, ...]]) -> list[tuple[str | int, ...]]:
        return [*rest, *([] if ("no_unroll",) in rest else [("no_unroll",)])]


def _text(dimensions: Sequence[_Dimension]) -> str:
    sizes, steps = (" x ".join(str(getattr(d, name)) for d in dimensions) for name in ("larger", "larger_step"))
    counts = [d.count for d in dimensions]
    if None in counts:
        return f"windows of {sizes} in steps of {steps}, as many as fit"
    fringes = sum(d.has_fringe for d in dimensions)
    return (f"windows of {sizes} in steps of {steps}, {' x '.join(map(str, counts))} of them, {fringes} "
            f"fringe{'' if fringes == 1 else 's'}")


def _dimensions(out: Rebuilt, node: Node, extents: Sequence[int]) -> list[_Dimension]:
    """What is known of each dimension. Raises `Refusal` for a loop that cannot be split."""
    if node.kind != "FORALL":
        raise Refusal("the loop carries values from one iteration to the next")
    view = loop_view(node)
    if len(view.parts) != 1:
        raise Refusal("the loop has several generators, and the pragma does not say whose windows it enlarges")
    if view.parts[0].kind == "SCALARGEN":
        raise Refusal("the loop's generator takes no array")
    windows = array_windows(view.parts[0])
    if windows is None:
        raise Refusal("the loop's generator takes dimensions whole, or windows and steps of sizes that are not known")
    if len(windows) > 2:
        raise Refusal(f"the loop has {len(windows)} dimensions; there are 1 or 2")
    if len(extents) != len(windows):
        raise Refusal(f"the pragma has {len(extents)} numbers, and the loop has {len(windows)} dimensions")
    if any(edge.port for edge in view.captures) or any(n.kind == "LOOP_INDICES" for n in view.graph.nodes):
        raise Refusal("the body uses indices of the loop")
    check_combines(view)
    array = view.parts[0].operands[0]
    assert isinstance(array, Argument)
    known = out.type(node.operands[array.number]).extents
    if None in known and any(end.kind == "CONSTRUCT_TILE" and None in view.graph.type(end.operands[0]).extents
                             for end in view.ends):
        raise Refusal("the extents of the array and of the loop's tiles are not known")
    found = [_Dimension(window, step, larger, extent)
             for (window, step), larger, extent in zip(windows, extents, known, strict=True)]
    for number, dimension in enumerate(found):
        _check_dimension(number, dimension)
    return found


def _check_dimension(number: int, dimension: _Dimension) -> None:
    if dimension.larger < dimension.window:
        raise Refusal(f"the pragma's extent {dimension.larger} in dimension {number} is less than the window's, which "
                      f"is {dimension.window}")
    if dimension.extent is not None and dimension.extent < dimension.larger:
        raise Refusal(f"the pragma's extent {dimension.larger} in dimension {number} is more than the array's, which "
                      f"is {dimension.extent}")


def check_combines(view: LoopView) -> None:
    """Raises `Refusal` if results of parts of the loop's iterations do not make up those of all."""
    for end in view.ends:
        type_ = view.graph.type(end.operands[0])
        if end.kind == "CONSTRUCT_ARRAY":
            if type_.is_array:
                raise Refusal("the loop returns an array of arrays")
        elif end.kind == "CONSTRUCT_TILE":
            if type_.rank > view.rank:
                raise Refusal("the loop returns tiles of more dimensions than it has")
        elif end.kind not in (*_COMBINED, "CONSTRUCT_CONCAT"):
            raise Refusal(f"{end.kind} of parts of the iterations does not make up that of all")
        elif end.kind in ("SUM", "PRODUCT") and type_.scalar.floating:
            raise Refusal(f"{end.kind} of floating-point numbers depends on the order of the iterations")
        elif end.kind == "PRODUCT" and type_.scalar.fraction:
            raise Refusal("PRODUCT of fixed-point numbers depends on the order of the iterations")


class _Tiled:
    """One loop in parts."""

    def __init__(self, out: Rebuilt, node: Node, dimensions: Sequence[_Dimension],
                 inner: Sequence[tuple[str | int, ...]]) -> None:
        self.out, self.dimensions = out, dimensions
        self.inner_pragmas = inner
        self.node = isolate_arrays(node)
        self.view = loop_view(self.node)
        array = self.view.parts[0].operands[0]
        assert isinstance(array, Argument)
        self.place = array.number

    def outputs(self) -> list[Operand]:
        """The main part, fringes, and both joined."""
        main = self._main()
        array, zero = self.node.operands[self.place], Constant(0, BOUND)
        lasts = [last_index(self.out, array, k, self.node.place) for k in range(len(self.dimensions))]
        starts = [d.fringe(self.out, last) for d, last in zip(self.dimensions, lasts, strict=True)]
        if len(self.dimensions) == 2 and self.dimensions[0].has_fringe:
            used = _least(self.out, _added(self.out, starts[1], self.dimensions[1].behind), lasts[1])
            main = self._joined("ARRAY_CONCAT_VERT", main, self._fringe([(starts[0], lasts[0]), (zero, used)]))
        if self.dimensions[-1].has_fringe:
            rows = [(zero, last) for last in lasts[:-1]]
            main = self._joined("ARRAY_CONCAT", main, self._fringe([*rows, (starts[-1], lasts[-1])]))
        return main

    def _main(self) -> list[Operand]:
        loop = LoopBuilder(self.out)
        array = loop.enter(self.node.operands[self.place])
        scalar = self.out.type(self.node.operands[self.place]).scalar
        windows = [(d.larger, d.larger_step) for d in self.dimensions]
        (window,) = loop.generate([window_node(array, scalar, windows, self.node.place)], [Edge(0)], self.node.place)
        entering = [window if k == self.place else loop.enter(o) for k, o in enumerate(self.node.operands)]
        over = self._over(entering, loop.body, tuple(d.inside for d in self.dimensions))
        inner = loop.body.add(with_pragmas(over, self.inner_pragmas))
        ends = []
        for end, value in zip(self.view.ends, inner, strict=True):
            kind = "CONSTRUCT_TILE" if end.kind == "CONSTRUCT_ARRAY" else end.kind
            ends += loop.body.add(Node(kind, (value,), unknown_results(end), (), (), end.place))
        return loop.finish(ends, self.node)

    def _over(self, operands: Sequence[Operand], around: Rebuilt, extents: Extents) -> Node:
        """The loop over another array, for which it has these extents."""
        graph = retype_input(set_extents(self.view.graph, extents), self.place, around.type(operands[self.place]))
        outputs = tuple(graph.type(o) for o in graph.outputs)
        return replace(self.node, operands=tuple(operands), graphs=(graph,), outputs=outputs)

    def _fringe(self, bounds: Sequence[tuple[Operand, Operand]]) -> list[Operand]:
        """The loop over a section of the array."""
        array = self.node.operands[self.place]
        numbers = tuple(o for low, high in bounds for o in (low, high, Constant(1, BOUND)))
        extents = tuple(span_extent(int(low.value), int(high.value), 1)
                        if isinstance(low, Constant) and isinstance(high, Constant) else None for low, high in bounds)
        section = Node("AREF", (array, *numbers), (Type(self.out.type(array).scalar, extents),),
                       (("pattern", ":" * len(bounds)),), (), self.node.place)
        operands = list(self.node.operands)
        (operands[self.place],) = self.out.add(section)
        return self.out.add(self._over(operands, self.out, (None,) * len(bounds)))

    def _joined(self, arrays: str, one: Sequence[Operand], other: Sequence[Operand]) -> list[Operand]:
        found = []
        for end, left, right in zip(self.view.ends, one, other, strict=True):
            true = Constant(1, BOOL)
            many = Node(f"{end.kind}_MANY", (left, true, right, true), end.outputs, (), (), end.place)
            array = Node(arrays, (left, right), unknown_results(end), (), (), end.place)
            found += self.out.add(array if end.kind.startswith("CONSTRUCT") else many)
        return found


def _added(out: Rebuilt, operand: Operand, number: int) -> Operand:
    if isinstance(operand, Constant):
        return Constant(int(operand.value) + number, BOUND)
    return out.add(Node("ADD", (operand, Constant(number, BOUND)), (Type(BOUND),)))[0]


def _least(out: Rebuilt, one: Operand, other: Operand) -> Operand:
    if isinstance(one, Constant) and isinstance(other, Constant):
        return min(one, other, key=lambda constant: constant.value)
    true = Constant(1, BOOL)
    return out.add(Node("MIN_MANY", (one, true, other, true), (Type(BOUND),)))[0]
