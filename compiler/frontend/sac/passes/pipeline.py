"""The optimiser: passes by name, alone or in the thesis' order until nothing changes (Hammes 2000, section 4.3)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from compiler.frontend.sac.ddcf.graph import Module
from compiler.frontend.sac.ddcf.verify import verify
from compiler.frontend.sac.passes.dead import drop_dead
from compiler.frontend.sac.passes.fold import FoldConstants, SimplifyIdentities
from compiler.frontend.sac.passes.inline import inline
from compiler.frontend.sac.passes.lookup import make_tables
from compiler.frontend.sac.passes.propagate import PropagateConstants, PropagateElements, SelectKnownCases
from compiler.frontend.sac.passes.rewrite import Rewriter
from compiler.frontend.sac.passes.share import ShareSubexpressions
from compiler.frontend.sac.passes.sizes import PropagateSizes
from compiler.frontend.sac.passes.unroll import UnrollLoops
from compiler.ir.types import ProgramError

__all__ = ["CYCLE", "PASSES", "Optimised", "Pass", "count_nodes", "optimise"]

_MOST_ROUNDS = 50


@dataclass(frozen=True)
class Pass:
    """A step from module to module with equal results; `run` also takes the name of the function that begins."""

    name: str
    run: Callable[[Module, str], Module]


def _pass(name: str, rewriter: type[Rewriter]) -> Pass:
    return Pass(name, lambda module, main: rewriter().module(module))


PASSES = {each.name: each for each in (
    Pass("inline", inline),
    Pass("tables", make_tables),
    _pass("switches", SelectKnownCases),
    _pass("sizes", PropagateSizes),
    _pass("constants", PropagateConstants),
    _pass("elements", PropagateElements),
    _pass("fold", FoldConstants),
    _pass("identities", SimplifyIdentities),
    Pass("dead", lambda module, main: drop_dead(module)),
    _pass("unroll", UnrollLoops),
    _pass("share", ShareSubexpressions),
)}
CYCLE = ("switches", "sizes", "constants", "elements", "fold", "identities", "dead", "unroll", "share")
"""What is repeated until nothing changes."""


@dataclass(frozen=True)
class Optimised:
    """A module after passes; `changes` counts how often each pass changed it, in order of the first."""

    module: Module
    changes: tuple[tuple[str, int], ...]


def optimise(module: Module, main: str, names: Sequence[str] | None = None) -> Optimised:
    """`module` after the passes `names` in this order, or after inlining, tables and `CYCLE` until nothing changes.

    Every result is verified. Raises `ProgramError` for a pass that does not exist.
    """
    changes: Counter[str] = Counter()
    if names is not None:
        for name in names:
            if name not in PASSES:
                raise ProgramError(f"there is no pass '{name}'; there are: {', '.join(PASSES)}")
            module = _changed(module, main, name, changes)
        return Optimised(module, tuple(changes.items()))
    for name in ("inline", "tables", "inline"):
        module = _changed(module, main, name, changes)
    for _ in range(_MOST_ROUNDS):
        before = module
        for name in CYCLE:
            module = _changed(module, main, name, changes)
        if module == before:
            break
    return Optimised(module, tuple(changes.items()))


def _changed(module: Module, main: str, name: str, changes: Counter[str]) -> Module:
    after = PASSES[name].run(module, main)
    if after != module:
        verify(after)
        changes[name] += 1
    return after


def count_nodes(module: Module) -> dict[str, int]:
    """How many nodes of each kind there are."""
    return dict(Counter(node.kind for function in module.functions for node in function.graph.walk()))
