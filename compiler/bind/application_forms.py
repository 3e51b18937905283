"""Forms of a SA-C application, of which the one that ends first on a target is taken: loops fused or not, with values
that registers carry, with one element of a row at a time or several. Pragmas are followed in all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from compiler.bind.applications import HARDWARE_PASSES, Placed, place_application
from compiler.frontend.sac.arithmetic import BINARY, COMPARISONS
from compiler.frontend.sac.ddcf.graph import Constant, Graph, Module, Node
from compiler.frontend.sac.ddcf.kinds import LOOP_KINDS, MANY_KINDS
from compiler.frontend.sac.passes.loops import pragmas_of
from compiler.frontend.sac.program import SacProgram

__all__ = ["FORMS", "ChosenForm", "TriedForm", "choose_form", "estimate_luts"]

_START, _COUNTED, _END = ("inline", "tables", "inline"), ("predicate", "compact"), ("cycle_inner", "divisions", "lift")
_CYCLE = ("cycle_inner", *_COUNTED, "cycle_inner")
_CARRIED = ("windows", "cycle_inner", "narrow")
FORMS: Mapping[str, tuple[str, ...]] = {
    "fused": HARDWARE_PASSES,
    "not fused": (*_START, "separate_inner", *_COUNTED, "separate_inner", "divisions", "lift"),
    "loops side by side fused, arrays combined": (*_START, *_CYCLE, "siblings", "combine", *_END),
    "values carried, padded": (*_START, *_CYCLE, "nextify_padded", *_CARRIED, *_END),
    "values carried along stripes": (*_START, *_CYCLE, "nextify", *_CARRIED, *_END),
}
"""Passes of each form, the one that mostly ends first before the others."""

_CLOSE, _RUN_IN = 1.02, 100
"""What takes this many times the least cycles, and some to begin and to end, is not tried to be beaten."""

_SMALLER = 0.9
"""What ends no earlier is tried if it has this part of the operations."""


@dataclass(frozen=True)
class TriedForm:
    """A form, what came of it, and where it was compiled clock cycles from start to done of all designs, iterations of
    loops on the host, and LUTs by the model."""

    name: str
    outcome: str
    cycles: int | None = None
    host_iterations: int | None = None
    luts: int | None = None


@dataclass(frozen=True)
class ChosenForm:
    """The program in the form that was taken, its designs, what passes say of its loops, and all that was tried."""

    program: SacProgram
    placed: Placed
    notes: tuple[str, ...]
    tried: tuple[TriedForm, ...]


def choose_form(written: SacProgram, inputs: Sequence[np.ndarray], target: str, **options: Any) -> ChosenForm:
    """The form of `written`, which knows the extents of `inputs`, with the fewest predicted cycles from start to done;
    of those within two percent the one with the fewest LUTs by the model. What leaves more iterations to the host comes
    last. On fpga several elements of a row come at a time where that ends earlier, unless `options` say how many.
    Raises what `place_application` raises."""
    if target == "fpga" and not {"lanes", "passes", "hardware"} & set(options):
        options = {"lanes": 0, **options}
    found: dict[str, tuple[SacProgram, Placed, tuple[str, ...], TriedForm]] = {}
    tried: list[TriedForm] = []
    seen: dict[str, Module] = {}
    for name, passes in FORMS.items():
        program, done = written.optimised(_with_pragmas(passes, written.module))
        same = next((other for other, module in seen.items() if module == program.module), None)
        seen[name] = program.module
        if same is not None:
            tried.append(TriedForm(name, f"as {same}"))
            continue
        luts = estimate_luts(program.module)
        if any(_is_close(other) and luts > _SMALLER * estimate_luts(before.module) for before, other, *_ in
               found.values()):
            tried.append(TriedForm(name, "not compiled: another one is close to the bound, and not larger", luts=luts))
            continue
        placed = place_application(program, inputs, target, **options)
        form = TriedForm(name, "", _cycles(placed), _host_iterations(placed), luts * _lanes(placed))
        tried.append(form)
        found[name] = program, placed, tuple(dict.fromkeys(map(str, done.notes))), form
    taken = _best([form for *_, form in found.values()])
    outcomes = tuple(TriedForm(f.name, "taken" if f is taken else f.outcome, f.cycles, f.host_iterations, f.luts)
                     for f in tried)
    program, placed, notes, _ = found[taken.name]
    return ChosenForm(program, placed, notes, outcomes)


def _best(forms: Sequence[TriedForm]) -> TriedForm:
    least = min(form.host_iterations or 0 for form in forms)
    able = [form for form in forms if (form.host_iterations or 0) == least]
    fewest = min(form.cycles or 0 for form in able)
    return min((form for form in able if (form.cycles or 0) <= _CLOSE * fewest), key=lambda form: form.luts or 0)


def _with_pragmas(passes: Sequence[str], module: Module) -> list[str]:
    """The passes, with those that follow the pragmas of the program's loops before the last one."""
    names = {str(pragma[0]) for f in module.functions for node in f.graph.walk() if node.kind in LOOP_KINDS
             for pragma in pragmas_of(node)}
    asked = [name for name in ("block", "stripmine") if name in names]
    return [*passes[:-1], *asked, *(["cycle_inner"] if asked else []), passes[-1]]


def _is_close(placed: Placed) -> bool:
    least = sum(group.design.lower_bound for group in placed.groups)
    return not placed.host and _cycles(placed) <= _CLOSE * least + _RUN_IN * len(placed.groups)


def _cycles(placed: Placed) -> int:
    return sum(group.design.expected_start_to_done for group in placed.groups)


def _host_iterations(placed: Placed) -> int:
    """Iterations of those loops of the main graph that stay on the host."""
    numbers = {id(node): number for number, node in enumerate(placed.application.graph.nodes)}
    started = placed.application.started
    loops = [numbers[id(fate.loop)] for fate, _ in placed.host if id(fate.loop) in numbers]
    return sum(prod(started[number].extents) for number in loops if number in started)


def _lanes(placed: Placed) -> int:
    return max((int(getattr(group.design, "lanes", 1)) for group in placed.groups), default=1)


def estimate_luts(module: Module) -> int:
    """LUTs of the bodies of all loops, by a model: one for each bit of a sum, comparison or choice, for a product one
    for each pair of bits over two; shifts by constants, conversions and references are free."""
    return sum(_luts_of(graph) for function in module.functions for node in function.graph.nodes
               if node.kind in LOOP_KINDS for graph in node.graphs)


def _luts_of(graph: Graph) -> int:
    return sum(_node_luts(graph, node) + sum(map(_luts_of, node.graphs)) for node in graph.nodes)


def _node_luts(graph: Graph, node: Node) -> int:
    widths = [graph.type(o).scalar.width for o in node.operands]
    if node.kind == "MUL":
        return prod(widths) // 2
    if node.kind in COMPARISONS:
        return max(widths)
    if node.kind == "SWITCH":
        return sum(type_.scalar.width for type_ in node.outputs) * (len(node.graphs) - 1)
    if node.kind in MANY_KINDS:
        return node.outputs[0].scalar.width * (len(node.operands) // 2 - 1)
    by_constant = node.kind.endswith("SHIFT") and isinstance(node.operands[1], Constant)
    return node.outputs[0].scalar.width if node.kind in BINARY and not by_constant else 0
