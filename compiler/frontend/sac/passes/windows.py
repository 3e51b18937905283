"""Windows without rows and columns at their borders that nothing uses (Hammes 2000, section 4.2.3)."""

from __future__ import annotations

from dataclasses import replace

from compiler.frontend.sac.ddcf.graph import Edge, Node, Operand
from compiler.frontend.sac.passes.chains import moved_reference
from compiler.frontend.sac.passes.loops import (
    LoopBuilder,
    LoopView,
    array_windows,
    isolate_arrays,
    loop_view,
    pragmas_of,
    window_node,
)
from compiler.frontend.sac.passes.propagate import known_bounds
from compiler.frontend.sac.passes.rewrite import Rebuilt, Rewriter, substitute
from compiler.frontend.sac.passes.sections import section

__all__ = ["ReduceWindows"]

_Box = list[tuple[int, int]]
"""The first and the last index that is used in each dimension."""


class ReduceWindows(Rewriter):
    """Makes windows smaller; the loop then runs over a section of the array, so that it has as many iterations."""

    def node(self, out: Rebuilt, node: Node) -> list[Operand]:
        node = self.within(out, node)
        if node.kind not in ("FORALL", "FORNXT"):
            return out.add(node)
        boxes = _boxes(loop_view(node))
        if not boxes:
            return out.add(node)
        view = loop_view(isolate_arrays(node))
        for number, box in boxes.items():
            windows = array_windows(view.parts[number]) or []
            before = " x ".join(str(size) for size, _ in windows)
            after = " x ".join(str(high - low + 1) for low, high in box)
            self.report.done("windows", node.place, f"a window of {before} is one of {after}")
        return _reduced(out, view, boxes)


def _boxes(view: LoopView) -> dict[int, _Box]:
    """What is used of each window that can be smaller."""
    found = {}
    for number, part in enumerate(view.parts):
        windows = array_windows(part)
        if windows is None or part.kind != "WINDOWGEN":
            continue
        box = _box(view, view.captured(number, 0), len(windows))
        if box and any(low > 0 or high < size - 1 for (low, high), (size, _) in zip(box, windows, strict=True)):
            found[number] = box
    return found


def _box(view: LoopView, ports: list[int], rank: int) -> _Box | None:
    """What references use of the window that these outputs of the generator bring; None if something else uses it, or
    nothing."""
    box: _Box = []
    for node in view.graph.nodes[1:]:
        if not any(Edge(0, port) in node.operands for port in ports):
            continue
        bounds = known_bounds(node) if node.kind == "AREF" else None
        if bounds is None:
            return None
        spans = [(bound[0], bound[0] if len(bound) == 1 else bound[1]) for bound in bounds]
        if any(low > high for low, high in spans):
            return None
        box = [(min(a, c), max(b, d)) for (a, b), (c, d) in zip(box, spans, strict=True)] if box else spans
    return box or None


def _reduced(out: Rebuilt, view: LoopView, boxes: dict[int, _Box]) -> list[Operand]:
    loop = LoopBuilder(out)
    parts = []
    for number, part in enumerate(view.parts):
        if number not in boxes:
            entering = tuple(loop.enter(substitute(o, view.node.operands, ())) for o in part.operands)
            parts.append(replace(part, operands=entering))
            continue
        windows, box = array_windows(part) or [], boxes[number]
        cuts = [(low, size - 1 - high) for (low, high), (size, _) in zip(box, windows, strict=True)]
        array = section(out, substitute(part.operands[0], view.node.operands, ()), cuts, part.place)
        smaller = [(high - low + 1, step) for (low, high), (_, step) in zip(box, windows, strict=True)]
        parts.append(window_node(loop.enter(array), part.outputs[0].scalar, smaller, part.place))
    captured = loop.generate(parts, view.captures, view.graph.nodes[0].place, view.joined)
    arguments = loop.enter_body(view)
    graph = replace(view.graph, nodes=tuple(_moved(view, boxes, node) for node in view.graph.nodes))
    values = loop.take(graph, arguments, captured)
    ends = [substitute(o, arguments, values) for o in graph.outputs]
    return loop.finish(ends, view.node, pragmas_of(view.node))


def _moved(view: LoopView, boxes: dict[int, _Box], node: Node) -> Node:
    window = node.operands[0] if node.kind == "AREF" else None
    if not isinstance(window, Edge) or window.number:
        return node
    capture = view.captures[window.port]
    if capture.port or capture.number not in boxes:
        return node
    by = tuple(-low for low, _ in boxes[capture.number])
    return replace(node, operands=moved_reference(node, window, by))
