"""One stage of a Func as statements, before the places of arrays are known.

A component of a Tuple is a statement; all of a stage share their loops. Components that read what another one changes
come before it; where that is not possible, new values wait in arrays of their own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from graphlib import CycleError, TopologicalSorter
from typing import Protocol

import islpy as isl

from compiler.frontend.affine_functions import Space, constant_of
from compiler.frontend.c_scop import building
from compiler.frontend.halide import arithmetic, memories
from compiler.frontend.halide.drafts import Draft, Element, Region
from compiler.frontend.halide.errors import PipelineError
from compiler.frontend.halide.evaluate import Evaluator, Surroundings, Value
from compiler.frontend.halide.loops import loop_order
from compiler.frontend.halide.memories import Words
from compiler.frontend.halide.names import legal_names, plain
from compiler.frontend.halide.nodes import Func, Node, Stage
from compiler.frontend.halide.types import Number, number_type
from compiler.ir.expr import Expr, Read, Store, pruned
from compiler.ir.types import BIT, ProgramError

__all__ = ["Context", "stage_label", "translate_stage"]


class Context(Surroundings, Protocol):
    """What stages refer to and add to."""

    def temporary(self, name: str, type: Number) -> str:
        """A new array beside those of Funcs, by the name that its elements have."""
        ...

    def memory(self, func: str, component: int, type: Number, box: Region, updated: bool) -> Words:
        """A new memory of elements of a Func; `updated`: by a stage of that Func."""
        ...


class _NeedsMemory(Exception):
    """A stage reads its own Func at places that data decide."""


@dataclass
class _Own:
    """The Func of a stage. `memories`: those of its components, if the stage needs them."""

    name: str
    context: Context
    memories: Sequence[Words] = field(default_factory=tuple)

    def element(self, component: int, args: Sequence[Value], reader: Evaluator) -> Expr | None:
        """An element through the memory, if there is one. Raises `_NeedsMemory` if there has to be."""
        if not self.memories:
            if any(arg.index is None for arg in args):
                raise _NeedsMemory
            return None
        words = self.memories[component]
        signature = tuple(str(a.index) if a.index is not None else id(a.expr) for a in args)
        if signature not in words.loads:
            temporary = self.context.temporary(f"{self.name}.load", words.type)
            words.loads[signature] = memories.load(words, args, reader, temporary)
        return words.loads[signature]


def stage_label(func: Func, number: int) -> str:
    """How messages call a stage."""
    return f"Func '{plain(func.name)}'" + (f", update {number - 1}" if number else "")


def translate_stage(func: Func, number: int, region: Region, context: Context) -> list[Draft]:
    """The statements that compute a stage on a region, in their order. Raises `PipelineError`, which names it."""
    try:
        try:
            return _Translation(func, number, region, context).drafts()
        except _NeedsMemory:
            return _Translation(func, number, region, context, through_memory=True).drafts()
    except PipelineError as error:
        text = str(error)
        raise PipelineError(text if text.startswith("Func ") else f"{stage_label(func, number)}: {text}") from None
    except ProgramError as error:
        raise PipelineError(f"{stage_label(func, number)}: {error}") from None


class _Translation:
    """The work on one stage."""

    def __init__(self, func: Func, number: int, region: Region, context: Context, through_memory: bool = False) -> None:
        self._func, self._stage, self._number = func, func.stages[number], number
        self._context, self._region, self._through_memory = context, region, through_memory
        variables = _variables(func, self._stage)
        bounds = self._bounds(variables, region, context)
        self._order = order = loop_order(self._stage, list(bounds))
        names = legal_names(order)
        space = Space(tuple(names[variable] for variable in order))
        box = space.box({names[variable]: ends for variable, ends in bounds.items()})
        self._own = _Own(func.name, context)
        self._evaluator = Evaluator(space, box, context, own=self._own)
        self._environment = self._evaluator.variables(names)

    def _bounds(self, variables: Mapping[str, int], region: Region, context: Context) -> dict[str, tuple[int, int]]:
        """First and last value of every variable."""
        bounds = {name: region[position] for name, position in variables.items()}
        for reduction in self._stage.reductions:
            first, count = (_known_number(node, reduction.name, context) for node in (reduction.min, reduction.extent))
            bounds[reduction.name] = first, first + count - 1
        return bounds

    def drafts(self) -> list[Draft]:
        """The statements."""
        if self._evaluator.domain.is_empty():
            return []
        targets = [self._value(arg) for arg in self._stage.args]
        if self._through_memory or any(target.index is None for target in targets):
            self._own.memories = self._new_memories(targets)
        predicate = self._predicate()
        if self._evaluator.domain.is_empty():
            return []
        if self._own.memories:
            return self._scattered(targets, predicate)
        index = tuple(target.index for target in targets if target.index is not None)
        values = [self._component(k, node, predicate, index) for k, node in enumerate(self._stage.values)]
        drafts = [self._draft(value, Element((self._func.name, k), index))
                  for k, value in enumerate(values) if value is not None]
        return [*self._loads(), *self._in_order(drafts)]

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
        if _is_undefined(node):
            return None
        type = number_type(self._func.types[number])
        value = self._value(node).expr
        if predicate is None:
            return value
        return arithmetic.chosen(predicate, value, self._evaluator.read((self._func.name, number), index, type))

    def _draft(self, value: Expr, write: Element, name: str = "") -> Draft:
        """The statement that gives an element this value, with the reads that it needs."""
        value, reads = pruned(value, self._evaluator.reads)
        name = name or (f"{write.key[0]}_update{self._number - 1}" if self._number else f"{write.key[0]}_pure")
        return Draft((self._func.name, self._number), name, self._evaluator.space.iterators, self._evaluator.domain,
                     reads, write, value, self._order)

    def _loads(self) -> list[Draft]:
        """The statements that access memories before all others."""
        return [self._draft(value, place, f"{place.key[0]}.read") for place, value in self._evaluator.loads]

    # Through memories.

    def _new_memories(self, targets: Sequence[Value]) -> list[Words]:
        box = memories.needed_box(self._func.name, targets, self._evaluator)
        whole = [(min(a[0], b[0]), max(a[1], b[1])) for a, b in zip(box, self._region, strict=True)]
        return [self._context.memory(self._func.name, k, number_type(type), whole, updated=True)
                for k, type in enumerate(self._func.types)]

    def _scattered(self, targets: Sequence[Value], predicate: Expr | None) -> list[Draft]:
        """Fill the memories, load, store, and write back."""
        stores: list[Draft] = []
        changed: list[Words] = []
        for words, node in zip(self._own.memories, self._stage.values, strict=True):
            if not _is_undefined(node):
                stores.append(self._store(words, targets, self._value(node).expr, predicate))
                changed.append(words)
        used = [words for words in self._own.memories if words in changed or words.loads]
        before = [draft for words in used for draft in (memories.first_token(words), memories.fill(words))]
        return [*before, *self._loads(), *stores, *(memories.drain(words) for words in changed)]

    def _store(self, words: Words, targets: Sequence[Value], value: Expr, predicate: Expr | None) -> Draft:
        place = memories.token_place(self._evaluator.space)
        index = memories.flat_index([target.expr for target in targets], words.box)
        after = (self._evaluator.read((words.filled, 0), place, BIT), *words.loads.values())
        enable = building.bit(True) if predicate is None else predicate
        return self._draft(Store(words.name, index, value, enable, after), Element((words.stored, 0), place),
                           f"{words.key[0]}_update{self._number - 1}")

    # Components that read each other.

    def _in_order(self, drafts: list[Draft]) -> list[Draft]:
        """Each component before those whose old values it reads are written."""
        before = {draft.write.key: draft for draft in drafts}
        graph = {key: {other.write.key for other in drafts
                       if other.write.key != key and any(read.key == key for read in other.reads)} for key in before}
        try:
            return [before[key] for key in TopologicalSorter(graph).static_order()]
        except CycleError:
            return self._through_copies(drafts)

    def _through_copies(self, drafts: list[Draft]) -> list[Draft]:
        """New values first, into arrays of their own, then all to their places."""
        kept: list[Draft] = []
        copies: list[Draft] = []
        for draft in drafts:
            space = self._evaluator.space
            name = self._context.temporary(f"{draft.write.key[0]}.new", draft.value.type)  # type: ignore[arg-type]
            place = Element((name, 0), tuple(space.iterator(i) for i in reversed(draft.iterators)))
            kept.append(replace(draft, write=place, name=name))
            copies.append(replace(draft, reads=(place,), value=Read(0, draft.value.type)))
        return kept + copies


def _is_undefined(node: Node) -> bool:
    return node.name == "undef" and node.op == "intrinsic"


def _variables(func: Func, stage: Stage) -> dict[str, int]:
    """The dimension of each pure variable of a stage."""
    if stage is func.stages[0]:
        return {name: position for position, name in enumerate(func.args)}
    return {arg.name: position for position, arg in enumerate(stage.args)
            if arg.op == "variable" and arg.name == func.args[position]}


def _known_number(node: Node | None, name: str, context: Context) -> int:
    space = Space(())
    value = None if node is None else constant_of(Evaluator(space, space.universe, context).value(node, {}).index)
    if value is None:
        raise PipelineError(f"the size of the reduction variable '{plain(name)}' is no number that is known")
    return value
