"""From a decoded pipeline, and the sizes of its outputs, to a verified `Program`.

Stored Funcs are looked at from the outputs to the inputs, so that the region of each is known when its turn comes: the
box around all elements that its consumers read, and from its last stage to its first what the later ones touch, as
Halide has it. Regions may start anywhere; arrays start at 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter

import islpy as isl

from compiler.frontend.affine_functions import Space, hull
from compiler.frontend.halide.arrays import Layout, assemble
from compiler.frontend.halide.drafts import Draft, Element, Region
from compiler.frontend.halide.errors import PipelineError
from compiler.frontend.halide.evaluate import Evaluator, Value
from compiler.frontend.halide.memories import Words, fill, load, needed_box
from compiler.frontend.halide.names import legal_names, plain
from compiler.frontend.halide.nodes import Func, Node, Pipeline, nodes_of
from compiler.frontend.halide.scheduling import ScheduleUse, scheduled
from compiler.frontend.halide.stages import translate_stage
from compiler.frontend.halide.tables import Realise, Tables
from compiler.frontend.halide.types import Number, number_type
from compiler.ir.expr import Expr
from compiler.ir.memory_bounds import with_bounds
from compiler.ir.narrow import narrow
from compiler.ir.program import Program
from compiler.ir.types import BIT
from compiler.ir.verify import verify

__all__ = ["Given", "Translation", "translate"]


@dataclass(frozen=True)
class Given:
    """What is known beside the pipeline. `sizes`: first coordinate and extent of an output's dimensions, by its name;
    `inputs`: those of an input, where it has some; `numbers`: values of Params. All in Halide's order."""

    sizes: Mapping[str, Sequence[tuple[int, int]]]
    inputs: Mapping[str, Sequence[tuple[int, int]]] = field(default_factory=dict)
    numbers: Mapping[str, int | float] = field(default_factory=dict)


@dataclass(frozen=True)
class Translation:
    """A verified program, where its arrays start (the coordinate of the first element of each), the arrays of each
    output of the pipeline, the pipeline's names of the inputs, and which of these have sizes that it computes with."""

    program: Program
    origins: Mapping[str, tuple[int, ...]]
    outputs: tuple[tuple[str, ...], ...]
    inputs: Mapping[str, str]
    sized: frozenset[str]


def translate(pipeline: Pipeline, given: Given, name: str, realise: Realise,
              schedule: ScheduleUse = "lanes") -> Translation:
    """The program of a pipeline; `realise` gives the elements of Funcs without inputs. `schedule`: what is used of the
    pipeline's. Raises `PipelineError`."""
    try:
        translator = _Translator(pipeline, given, realise)
        program, layout, drafts = translator.program(name)
        verify(program)
        outputs = tuple(tuple(layout.array_name((output, k)) for k in range(layout.components(output)))
                        for output in pipeline.outputs)
        whole = scheduled(with_bounds(narrow(program)), drafts, pipeline, schedule)
        return Translation(whole, layout.origins(), outputs,
                           {layout.names[name]: name for name in layout.regions if name in pipeline.parameters},
                           frozenset(translator.sized))
    except RecursionError:
        raise PipelineError("an expression is too deep: store a part of it with compute_root()") from None
    except isl.Error as error:
        raise PipelineError(f"the polyhedral library gives up on this pipeline: {error}") from None


class _Translator:
    """The work on one pipeline; what expressions refer to (`compiler.frontend.halide.evaluate.Surroundings`)."""

    def __init__(self, pipeline: Pipeline, given: Given, realise: Realise) -> None:
        self._pipeline, self._given = pipeline, given
        self._tables = Tables(pipeline, realise)
        self._regions: dict[str, Region] = {}
        self._temporaries: dict[str, Number] = {}
        self._memories: list[Words] = []
        self._copies: dict[tuple, Words] = {}
        self.sized: set[str] = set()

    def program(self, name: str) -> tuple[Program, Layout, list[Draft]]:
        """The program before it is verified, the places of its arrays, and the draft of each statement."""
        order = _realisation_order(self._pipeline)
        stored = [func for func in order if self.inlined(func.name) is None]
        for output in self._pipeline.outputs:
            self._regions[output] = self._output_region(self._pipeline.funcs[output])
        drafts: list[list[Draft]] = []
        for func in reversed(stored):
            if func.name in self._regions:
                drafts.append([*self._stages(func), *self._filled(func.name)])
                self._check_output(func)
        self._check_requirements()
        inputs = [draft for input in self._pipeline.parameters for draft in self._filled(input)]
        placed = [*inputs, *(draft for stage in reversed(drafts) for draft in stage)]
        layout = Layout(self._pipeline, self._regions, self._given.inputs, self._temporaries)
        return assemble(name, placed, layout, self._tables.used(), self._memories), layout, placed

    # Surroundings of expressions.

    def inlined(self, name: str) -> Func | None:
        """The Func if its calls are evaluated in place."""
        func = self._pipeline.funcs.get(name)
        if func is None:
            raise PipelineError(f"it calls Func '{plain(name)}', which is not part of the pipeline")
        if name in self._pipeline.outputs or len(func.stages) > 1 or func.schedule.compute.variable:
            return None
        if self._tables.is_needed(name):
            return None
        if func.extern or not func.stages:
            raise PipelineError(f"Func '{plain(name)}' is computed outside of Halide"
                                f"{f', by {func.extern!r}' if func.extern else ''}: write it in Halide")
        return func

    def known(self, node: Node) -> int | float | None:
        """The number of a parameter, or of a size of an input."""
        parts = node.name.rsplit(".", 2)
        if len(parts) == 3 and parts[0] == node.param and parts[1] in ("min", "extent"):
            return self._input_size(node.param, parts[1], int(parts[2]))
        if node.name in self._given.numbers:
            return self._given.numbers[node.name]
        parameter = self._pipeline.parameters.get(node.param)
        if parameter is None or parameter.is_buffer:
            raise PipelineError(f"it uses '{node.name}', whose value is not known")
        return None

    def _input_size(self, name: str, which: str, dimension: int) -> int:
        self.sized.add(name)
        sizes = self._given.inputs.get(name)
        if sizes is None:
            raise PipelineError(f"it uses the size of input '{name}', which has none: give it one, with "
                                f"inputs={{'{name}': [width, height]}}, {name}.set(buffer) or "
                                f"{name}.dim({dimension}).set_bounds(0, width)")
        return sizes[dimension][0 if which == "min" else 1]

    def table(self, node: Node, args: Sequence[Value], reader: Evaluator) -> Expr | None:
        """The element of a constant array, None if `node` calls something else."""
        return self._tables.lookup(node, args, reader)

    def is_table(self, node: Node, args: Sequence[Value], reader: Evaluator) -> bool:
        """Whether a call of a Func that could be evaluated in place is better looked up in a table."""
        return self._tables.is_smaller(node, args, reader)

    def gather(self, node: Node, args: Sequence[Value], reader: Evaluator) -> Expr:
        """The element of an array at a place that data decide."""
        box = needed_box(node.name, args, reader)
        component = node.index if node.op == "halide" else 0
        key = (node.name, component, *box)
        if key not in self._copies:
            self._copies[key] = self.memory(node.name, component, number_type(node.type), box, updated=False)
            self._grow(node.name, box)
        return load(self._copies[key], args, reader, self.temporary(f"{node.name}.load", number_type(node.type)))

    def temporary(self, name: str, type: Number) -> str:
        """A new array beside those of Funcs."""
        found = f"{plain(name)}.{len(self._temporaries)}"
        self._temporaries[found] = type
        return found

    def memory(self, func: str, component: int, type: Number, box: Region, updated: bool) -> Words:
        """A new memory."""
        (legal,) = legal_names([plain(func)]).values()
        name = f"{legal}_memory{len(self._memories)}"
        stored = self.temporary(f"{func}.stored", BIT) if updated else ""
        words = Words(name, (func, component), type, tuple(box), self.temporary(f"{func}.filled", BIT), stored)
        self._memories.append(words)
        return words

    def _filled(self, name: str) -> list[Draft]:
        """The statements that fill the memories of a Func or an input, which is complete."""
        found = [fill(words) for words in self._copies.values() if words.key[0] == name]
        for draft in found:
            self._require(draft.write, draft)
        return found

    # Regions.

    def _output_region(self, func: Func) -> Region:
        return [(first, first + extent - 1) for first, extent in self._given.sizes[func.name]]

    def _check_output(self, func: Func) -> None:
        """As Halide, do not make an output larger than it was asked for."""
        if func.name not in self._pipeline.outputs:
            return
        pairs = zip(self._output_region(func), self._regions[func.name], strict=True)
        for dimension, (have, want) in enumerate(pairs):
            if want != have:
                raise PipelineError(
                    f"Func '{plain(func.name)}' is accessed from {want[0]} to {want[1]} in dimension {dimension} and "
                    f"has elements {have[0]} to {have[1]}: make it larger")

    def _stages(self, func: Func) -> list[Draft]:
        """The statements of a Func, first stage first; the regions of what they read grow."""
        if func.extern or not func.stages:
            raise PipelineError(f"Func '{plain(func.name)}' is computed outside of Halide, by '{func.extern}': write "
                                "it in Halide")
        found: list[Draft] = []
        for number in reversed(range(len(func.stages))):
            stage = translate_stage(func, number, list(self._regions[func.name]), self)
            for draft in stage:
                for element in (*draft.reads, draft.write):
                    self._require(element, draft)
            found = stage + found
        return found

    def _require(self, element: Element, draft: Draft) -> None:
        """Make a region contain what a statement accesses."""
        touched: Region = []
        for function in element.index:
            ends = hull(isl.Map.from_pw_aff(function).intersect_domain(draft.domain).range())
            assert ends is not None
            touched.append(ends[0])
        self._grow(element.key[0], touched)

    def _grow(self, name: str, touched: Region) -> None:
        old = self._regions.get(name)
        self._regions[name] = touched if old is None else [
            (min(a[0], b[0]), max(a[1], b[1])) for a, b in zip(old, touched, strict=True)]

    def _check_requirements(self) -> None:
        space = Space(())
        for requirement in self._pipeline.requirements:
            holds = Evaluator(space, space.universe, self).value(requirement.condition, {}).holds
            if holds is not None and holds.is_empty():
                raise PipelineError(f"a requirement of the pipeline does not hold: {requirement.message}")


def _realisation_order(pipeline: Pipeline) -> list[Func]:
    """All Funcs that the outputs need, those first that others call. Raises `PipelineError` if Funcs call each
    other."""
    graph: dict[str, list[str]] = {}
    waiting = list(pipeline.outputs)
    while waiting:
        name = waiting.pop()
        if name not in graph:
            graph[name] = [other for other in _called(pipeline.funcs[name]) if other != name]
            for other in graph[name]:
                if other not in pipeline.funcs:
                    raise PipelineError(f"Func '{plain(name)}' calls Func '{plain(other)}', which is not part of the "
                                        "pipeline")
            waiting += graph[name]
    try:
        return [pipeline.funcs[name] for name in TopologicalSorter(graph).static_order()]
    except CycleError as error:
        names = " and ".join(f"'{plain(name)}'" for name in dict.fromkeys(error.args[1]))
        raise PipelineError(f"Funcs {names} call each other") from None


def _called(func: Func) -> list[str]:
    return list(dict.fromkeys(node.name for node in nodes_of(func) if node.op == "halide"))


