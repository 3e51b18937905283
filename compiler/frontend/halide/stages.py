"""One stage of a Func as statements, before the places of arrays are known.

A component of a Tuple is a statement; all of a stage share their loops. Components that read what another one changes
come before it; where that is not possible, new values wait in arrays of their own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from graphlib import CycleError, TopologicalSorter

import islpy as isl

from compiler.frontend.halide import arithmetic
from compiler.frontend.halide.affine import Space, constant_of
from compiler.frontend.halide.errors import PipelineError
from compiler.frontend.halide.evaluate import Element, Evaluator, Surroundings, Value
from compiler.frontend.halide.loops import loop_order
from compiler.frontend.halide.names import legal_names, plain
from compiler.frontend.halide.nodes import Func, Node, Stage
from compiler.frontend.halide.types import number_type
from compiler.ir.expr import Expr, Read, postorder, renumbered
from compiler.ir.types import ProgramError

__all__ = ["Draft", "Region", "stage_label", "translate_stage"]

Region = list[tuple[int, int]]
"""First and last coordinate that is needed, in Halide's order of dimensions."""


@dataclass(frozen=True)
class Draft:
    """A statement whose arrays have no origin yet. `iterators`: outermost first."""

    func: str
    stage: int
    iterators: tuple[str, ...]
    domain: isl.Set
    reads: tuple[Element, ...]
    write: Element
    value: Expr


def stage_label(func: Func, number: int) -> str:
    """How messages call a stage."""
    return f"Func '{plain(func.name)}'" + (f", update {number - 1}" if number else "")


def translate_stage(func: Func, number: int, region: Region, around: Surroundings) -> list[Draft]:
    """The statements that compute a stage on a region, in their order. Raises `PipelineError`, which names it."""
    try:
        return _Translation(func, number, region, around).drafts()
    except PipelineError as error:
        text = str(error)
        raise PipelineError(text if text.startswith("Func ") else f"{stage_label(func, number)}: {text}") from None
    except ProgramError as error:
        raise PipelineError(f"{stage_label(func, number)}: {error}") from None


class _Translation:
    """The work on one stage."""

    def __init__(self, func: Func, number: int, region: Region, around: Surroundings) -> None:
        self._func, self._stage, self._number = func, func.stages[number], number
        variables = _variables(func, self._stage)
        bounds = self._bounds(variables, region, around)
        order = loop_order(self._stage, list(bounds))
        names = legal_names(order)
        space = Space(tuple(names[variable] for variable in order))
        box = space.box({names[variable]: ends for variable, ends in bounds.items()})
        self._evaluator = Evaluator(space, box, around)
        self._environment = self._evaluator.variables(names)

    def _bounds(self, variables: Mapping[str, int], region: Region,
                around: Surroundings) -> dict[str, tuple[int, int]]:
        """First and last value of every variable."""
        bounds = {name: region[position] for name, position in variables.items()}
        for reduction in self._stage.reductions:
            first, count = (_known_number(node, reduction.name, around) for node in (reduction.min, reduction.extent))
            bounds[reduction.name] = first, first + count - 1
        return bounds

    def drafts(self) -> list[Draft]:
        """The statements."""
        if self._evaluator.domain.is_empty():
            return []
        predicate = self._predicate()
        if self._evaluator.domain.is_empty():
            return []
        targets = [self._value(arg) for arg in self._stage.args]
        for position, target in enumerate(targets):
            if target.index is None:
                raise PipelineError(f"it writes where data says (argument {position + 1}, "
                                    f"'{self._func.args[position]}')")
        index = tuple(target.index for target in targets if target.index is not None)
        values = [self._component(k, node, predicate, index) for k, node in enumerate(self._stage.values)]
        drafts = [self._draft(k, value, index) for k, value in enumerate(values) if value is not None]
        return _in_order(drafts, self._func, self._number)

    def _predicate(self) -> Expr | None:
        """Restrict the domain to the stage's condition; what is left of it, if data decide."""
        if self._stage.predicate is None:
            return None
        condition = self._value(self._stage.predicate)
        if condition.holds is not None:
            self._evaluator.restrict(condition.holds)
            return None
        return condition.expr

    def _value(self, node: Node) -> Value:
        return self._evaluator.value(node, self._environment)

    def _component(self, number: int, node: Node, predicate: Expr | None,
                   index: tuple[isl.PwAff, ...]) -> Expr | None:
        """The value of one component; None if it is not defined, and anything will do."""
        if node.name == "undef" and node.op == "intrinsic":
            return None
        type = number_type(self._func.types[number])
        value = self._value(node).expr
        if predicate is None:
            return value
        return arithmetic.chosen(predicate, value, self._evaluator.read((self._func.name, number), index, type))

    def _draft(self, number: int, value: Expr, index: tuple[isl.PwAff, ...]) -> Draft:
        used = dict.fromkeys(node.index for node in postorder(value) if isinstance(node, Read))
        numbers = {old: new for new, old in enumerate(sorted(used))}
        reads = tuple(self._evaluator.reads[old] for old in sorted(used))
        return Draft(self._func.name, self._number, self._evaluator.space.iterators, self._evaluator.domain, reads,
                     Element((self._func.name, number), index), renumbered(value, numbers.__getitem__))


def _variables(func: Func, stage: Stage) -> dict[str, int]:
    """The dimension of each pure variable of a stage."""
    if stage is func.stages[0]:
        return {name: position for position, name in enumerate(func.args)}
    return {arg.name: position for position, arg in enumerate(stage.args)
            if arg.op == "variable" and arg.name == func.args[position]}


def _known_number(node: Node | None, name: str, around: Surroundings) -> int:
    space = Space(())
    value = None if node is None else constant_of(Evaluator(space, space.universe, around).value(node, {}).index)
    if value is None:
        raise PipelineError(f"the size of the reduction variable '{plain(name)}' is no number that is known")
    return value


# Components that read each other.


def _in_order(drafts: list[Draft], func: Func, number: int) -> list[Draft]:
    """Each component before those whose old values it reads are written."""
    before = {draft.write.key: draft for draft in drafts}
    graph = {key: {other.write.key for other in drafts
                   if other.write.key != key and any(read.key == key for read in other.reads)} for key in before}
    try:
        return [before[key] for key in TopologicalSorter(graph).static_order()]
    except CycleError:
        return _through_copies(drafts)


def _through_copies(drafts: list[Draft]) -> list[Draft]:
    """New values first, into arrays of their own, then all to their places."""
    kept: list[Draft] = []
    copies: list[Draft] = []
    for draft in drafts:
        space = Space(draft.iterators)
        name, component = draft.write.key
        place = Element((f"{name}.new", component), tuple(space.iterator(i) for i in reversed(draft.iterators)))
        kept.append(replace(draft, write=place))
        copies.append(replace(draft, reads=(place,), value=Read(0, draft.value.type)))
    return kept + copies


