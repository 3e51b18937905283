"""How many rows of windows the machine takes at a time: it reads each row again for every sweep, so that larger
windows, unrolled, read less (the thesis' stripmining), by its cost model instead of pragmas."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from compiler.frontend.sac.cost import loop_costs
from compiler.frontend.sac.ddcf.graph import Module, Node, Operand
from compiler.frontend.sac.passes.loops import array_windows, loop_view, pragmas_of, with_pragmas
from compiler.frontend.sac.passes.rewrite import Rebuilt, Rewriter
from compiler.frontend.sac.program import SacProgram

__all__ = ["DEPTHS", "Stripes", "choose_stripes"]

DEPTHS = (1, 2, 3, 4, 6, 8, 10, 12, 14)
"""Rows of windows that are tried, as deep as those of the thesis."""

_GAIN = 0.98
"""More rows than others that end before cost area: they have to save two percent."""

_BEFORE, _BEHIND = ("inline", "tables", "inline", "cycle"), ("stripmine", "cycle")


@dataclass(frozen=True)
class Stripes:
    """The program that was taken, its depth (None where pragmas say it), and least cycles of each depth tried."""

    program: SacProgram
    depth: int | None
    tried: tuple[tuple[int, int], ...]


def choose_stripes(written: SacProgram, memories: int = 1) -> Stripes:
    """`written`, which knows the extents of its inputs, for a machine with this many memories: the pragmas followed, or
    without any as many rows of windows at a time as save cycles by the model."""
    before, _ = written.optimised(list(_BEFORE))
    if any(pragma[0] in ("stripmine", "block") for node in before.main.graph.walk() for pragma in _pragmas(node)):
        return Stripes(written.optimised()[0], None, ())
    best: tuple[int, int, SacProgram] | None = None
    tried = []
    for depth in DEPTHS:
        module = _Pragmas(depth).module(before.module)
        program, _ = _with_module(before, module).optimised(list(_BEHIND))
        cycles = sum(cost.one_memory if memories == 1 else cost.two_memories
                     for cost in loop_costs(program.module, program.main.name))
        tried.append((depth, cycles))
        if best is not None and cycles > _GAIN * best[1]:
            break
        best = depth, cycles, program
    assert best is not None
    return Stripes(best[2], best[0], tuple(tried))


def _with_module(program: SacProgram, module: Module) -> SacProgram:
    return SacProgram(program.name, module, module.function(program.main.name))


def _pragmas(node: Node) -> Sequence[tuple[str | int, ...]]:
    return pragmas_of(node) if node.kind in ("FORALL", "FORNXT") else ()


class _Pragmas(Rewriter):
    """Asks for windows of so many rows, where loops have windows."""

    def __init__(self, depth: int) -> None:
        super().__init__()
        self.depth = depth

    def node(self, out: Rebuilt, node: Node) -> list[Operand]:
        if node.kind != "FORALL":
            return out.add(replace(node, graphs=self.inner(out, node)) if node.graphs else node)
        parts = loop_view(node).parts
        windows = array_windows(parts[0]) if len(parts) == 1 else None
        if windows is None or len(windows) != 2:
            return out.add(node)
        rows, columns = windows[0][0], windows[1][0]
        asked = ("stripmine", rows + (self.depth - 1) * windows[0][1], columns)
        return out.add(with_pragmas(node, [*_pragmas(node), asked]) if self.depth > 1 else node)
