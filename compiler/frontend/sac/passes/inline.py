"""Calls become the bodies of what they call (Hammes 2000, section 4.3)."""

from __future__ import annotations

import networkx

from compiler.frontend.sac.ddcf.graph import Function, Module, Node, Operand
from compiler.frontend.sac.passes.report import Report
from compiler.frontend.sac.passes.rewrite import Rebuilt, Rewriter

__all__ = ["inline"]


def inline(module: Module, main: str, report: Report) -> Module:
    """All functions but those with the pragma ``no_inline``, and those that are to become tables; what `main` does not
    call any more is dropped."""
    calls = networkx.DiGraph()
    for function in module.functions:
        calls.add_node(function.name)
        calls.add_edges_from((function.name, name) for name in _called(function))
    done: dict[str, Function] = {}
    for name in reversed(list(networkx.topological_sort(calls))):
        done[name] = _Inline(done, report).function(module.function(name))
    kept, pending = set(), [main]
    while pending:
        name = pending.pop()
        if name not in kept:
            kept.add(name)
            pending += _called(done[name])
    return Module(tuple(done[f.name] for f in module.functions if f.name in kept))


def _called(function: Function) -> list[str]:
    return [str(node.attribute("function")) for node in function.graph.walk() if node.kind == "FCALL"]


class _Inline(Rewriter):
    """Splices the functions that are done."""

    def __init__(self, done: dict[str, Function], report: Report) -> None:
        super().__init__(report)
        self.done = done

    def node(self, out: Rebuilt, node: Node) -> list[Operand]:
        if node.kind != "FCALL":
            return out.add(self.within(out, node))
        function = self.done[str(node.attribute("function"))]
        if any(pragma.name in ("no_inline", "lookup") for pragma in function.pragmas):
            return out.add(node)
        self.report.done("inline", node.place, f"'{function.name}'")
        return out.splice(function.graph, node.operands)
