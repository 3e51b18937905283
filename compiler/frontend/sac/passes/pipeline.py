"""The optimiser: passes by name, alone or in the thesis' order until nothing changes (Hammes 2000, section 4.3)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from compiler.frontend.sac.ddcf.graph import Module
from compiler.frontend.sac.ddcf.verify import verify
from compiler.frontend.sac.passes.casts import MoveCasts
from compiler.frontend.sac.passes.combine import CombineArrays
from compiler.frontend.sac.passes.compact import CompactLoops
from compiler.frontend.sac.passes.dead import drop_dead
from compiler.frontend.sac.passes.divisions import DivideByConstants
from compiler.frontend.sac.passes.fold import FoldConstants, SimplifyIdentities
from compiler.frontend.sac.passes.fuse import FuseLoops
from compiler.frontend.sac.passes.hoist import HoistInvariants
from compiler.frontend.sac.passes.inline import inline
from compiler.frontend.sac.passes.lift import LiftTables
from compiler.frontend.sac.passes.lookup import make_tables
from compiler.frontend.sac.passes.narrow import narrow
from compiler.frontend.sac.passes.nextify import NextifyLoops
from compiler.frontend.sac.passes.nextify_padded import NextifyPaddedLoops
from compiler.frontend.sac.passes.predicate import PredicateLoops
from compiler.frontend.sac.passes.propagate import PropagateConstants, PropagateElements, SelectKnownCases
from compiler.frontend.sac.passes.report import Note, Report
from compiler.frontend.sac.passes.rewrite import Rewriter
from compiler.frontend.sac.passes.share import ShareSubexpressions
from compiler.frontend.sac.passes.siblings import FuseSiblings
from compiler.frontend.sac.passes.sizes_up import propagate_sizes
from compiler.frontend.sac.passes.tile import BlockLoops, StripmineLoops
from compiler.frontend.sac.passes.unroll import UnrollInnerLoops, UnrollLoops
from compiler.frontend.sac.passes.windows import ReduceWindows
from compiler.ir.types import ProgramError

__all__ = ["ALL", "CYCLE", "MOST", "PASSES", "Optimised", "Pass", "count_nodes", "optimise"]

_MOST_ROUNDS = 50


@dataclass(frozen=True)
class Pass:
    """A step from module to module with equal results; `run` also takes the name of the function that begins."""

    name: str
    run: Callable[[Module, str, Report], Module]


def _pass(name: str, rewriter: type[Rewriter]) -> Pass:
    return Pass(name, lambda module, main, report: rewriter(report).module(module))


PASSES = {each.name: each for each in (
    Pass("inline", inline),
    Pass("tables", make_tables),
    _pass("switches", SelectKnownCases),
    Pass("sizes", propagate_sizes),
    _pass("constants", PropagateConstants),
    _pass("elements", PropagateElements),
    _pass("fold", FoldConstants),
    _pass("identities", SimplifyIdentities),
    Pass("dead", lambda module, main, report: drop_dead(module)),
    _pass("unroll", UnrollLoops),
    _pass("unroll_inner", UnrollInnerLoops),
    _pass("share", ShareSubexpressions),
    _pass("fuse", FuseLoops),
    _pass("block", BlockLoops),
    _pass("stripmine", StripmineLoops),
    _pass("hoist", HoistInvariants),
    _pass("casts", MoveCasts),
    _pass("siblings", FuseSiblings),
    _pass("combine", CombineArrays),
    _pass("nextify", NextifyLoops),
    _pass("nextify_padded", NextifyPaddedLoops),
    _pass("windows", ReduceWindows),
    Pass("narrow", narrow),
    _pass("lift", LiftTables),
    _pass("predicate", PredicateLoops),
    _pass("compact", CompactLoops),
    _pass("divisions", DivideByConstants),
)}
CYCLE = ("hoist", "casts", "switches", "sizes", "constants", "elements", "fold", "identities", "dead", "unroll",
         "share", "fuse")
"""What is repeated until nothing changes."""

ALL = ("inline", "tables", "inline", "cycle", "block", "stripmine", "cycle")
"""The thesis' order."""

MOST = ("inline", "tables", "inline", "cycle", "siblings", "combine", "cycle", "block", "stripmine", "cycle",
        "nextify_padded", "windows", "cycle", "narrow", "cycle")
"""The same with what the thesis describes besides, where it belongs."""

_GROUPS = {"all": ALL, "most": MOST}
_INNER = tuple("unroll_inner" if name == "unroll" else name for name in CYCLE)
_CYCLES = {"cycle": CYCLE, "separate": tuple(name for name in CYCLE if name != "fuse"), "cycle_inner": _INNER,
           "separate_inner": tuple(name for name in _INNER if name != "fuse")}


@dataclass(frozen=True)
class Optimised:
    """A module after passes; `changes` counts how often each pass changed it, in order of the first, and `nodes` how
    many nodes more there are for it; `rounds` of each ``cycle``, the last of which changed nothing; `notes` are what
    passes say of loops."""

    module: Module
    changes: dict[str, int]
    nodes: dict[str, int]
    rounds: tuple[int, ...]
    notes: tuple[Note, ...]


def optimise(module: Module, main: str, names: Sequence[str] | None = None,
             observe: Callable[[str, Module], None] | None = None) -> Optimised:
    """`module` after the passes `names` in this order, by default `ALL`. Among them, ``cycle`` is `CYCLE` until nothing
    changes, ``separate`` the same without ``fuse``, ``cycle_inner`` and ``separate_inner`` these with ``unroll_inner``,
    and ``all`` and ``most`` are `ALL` and `MOST`.

    Every result is verified, and shown to `observe` with the name of the pass that changed something. Raises
    `ProgramError` for a pass that does not exist.
    """
    run = _Run(module, main, observe)
    for name in ("all",) if names is None else names:
        for each in _GROUPS.get(name, (name,)):
            run.cycle(_CYCLES[each]) if each in _CYCLES else run.step(each)
    return Optimised(run.module, dict(run.changes), dict(run.nodes), tuple(run.rounds), tuple(run.report.notes))


class _Run:
    """A module on its way through passes."""

    def __init__(self, module: Module, main: str, observe: Callable[[str, Module], None] | None) -> None:
        self.module, self.main, self.observe = module, main, observe
        self.changes: Counter[str] = Counter()
        self.nodes: Counter[str] = Counter()
        self.rounds: list[int] = []
        self.report = Report()
        self.settled: dict[str, Module] = {}
        """For each pass the last module that it did not change."""

    def cycle(self, names: Sequence[str]) -> None:
        """`names` until nothing changes: passes make nodes fewer or simpler, or loops fewer."""
        for number in range(1, _MOST_ROUNDS + 1):
            before = self.module
            for name in names:
                self.step(name)
            if self.module == before:
                self.rounds.append(number)
                return
        raise AssertionError(f"passes change this program more than {_MOST_ROUNDS} times")

    def step(self, name: str) -> None:
        """One pass."""
        if name not in PASSES:
            raise ProgramError(f"there is no pass '{name}'; there are: {', '.join(PASSES)}, and cycle, separate, "
                               "cycle_inner, separate_inner, all, most")
        if self.settled.get(name) is self.module:
            return
        after = PASSES[name].run(self.module, self.main, self.report)
        if after == self.module:
            self.settled[name] = self.module
        else:
            verify(after)
            self.changes[name] += 1
            self.nodes[name] += sum(count_nodes(after).values()) - sum(count_nodes(self.module).values())
            self.module = after
            if self.observe is not None:
                self.observe(name, after)


def count_nodes(module: Module) -> dict[str, int]:
    """How many nodes of each kind there are."""
    return dict(Counter(node.kind for function in module.functions for node in function.graph.walk()))
