"""Arrays of a program and their places: regions that start anywhere become arrays that start at 0, in numpy's order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import islpy as isl

from compiler.frontend.affine_functions import index_map
from compiler.frontend.halide.drafts import Draft, Element, Region
from compiler.frontend.halide.errors import PipelineError
from compiler.frontend.halide.memories import Words
from compiler.frontend.halide.names import legal_names
from compiler.frontend.halide.nodes import Pipeline
from compiler.frontend.halide.types import Number, number_type
from compiler.ir.names import fresh_name
from compiler.ir.program import Access, Array, Memory, Program, Role, Statement, Table

__all__ = ["Layout", "assemble"]

_IN, _OUT, _SET = isl.dim_type.in_, isl.dim_type.out, isl.dim_type.set


@dataclass(frozen=True)
class Layout:
    """Names, shapes and origins of all arrays. `inputs`: coordinates and extents of inputs where these are given;
    `temporaries`: types of arrays that belong to no Func."""

    pipeline: Pipeline
    regions: Mapping[str, Region]
    inputs: Mapping[str, Sequence[tuple[int, int]]]
    temporaries: Mapping[str, Number]

    def origins(self) -> dict[str, tuple[int, ...]]:
        """The coordinate of the first element of every input and output array, in Halide's order."""
        keys = [(name, k) for name in self.regions for k in range(self.components(name))]
        return {self.array_name(key): tuple(first for first, _ in self.box(key[0])) for key in keys}

    def position(self, key: tuple[str, int]) -> tuple[int, int]:
        """What sorts inputs and outputs in the pipeline's own order."""
        known = [*self.pipeline.parameters, *self.pipeline.outputs]
        return known.index(key[0]) if key[0] in known else len(known), key[1]

    def components(self, name: str) -> int:
        """Arrays of a Func, input or parameter."""
        func = self.pipeline.funcs.get(name)
        return 1 if func is None or name in self.pipeline.parameters else len(func.types)

    @cached_property
    def names(self) -> dict[str, str]:
        """The array of every Func, input and parameter."""
        return legal_names([*self.pipeline.outputs, *(n for n in self.regions if n not in self.pipeline.outputs)])

    def array_name(self, key: tuple[str, int]) -> str:
        """The array of one component."""
        name, component = key
        return f"{self.names[name]}_{component}" if self.components(name) > 1 else self.names[name]

    def box(self, name: str) -> Region:
        """The region that an array holds. Raises `PipelineError` if more of an input or output is needed."""
        needed = self.regions[name]
        if name in self.pipeline.outputs or name not in self.inputs:
            return needed
        given = [(first, first + extent - 1) for first, extent in self.inputs[name]]
        for dimension, (have, want) in enumerate(zip(given, needed, strict=True)):
            if want[0] < have[0] or want[1] > have[1]:
                raise PipelineError(
                    f"input '{name}' is read from {want[0]} to {want[1]} in dimension {dimension} and has elements "
                    f"{have[0]} to {have[1]}: make it larger, the outputs smaller, or use a boundary condition")
        return given

    def array(self, key: tuple[str, int]) -> Array:
        """The array of one component."""
        shape = tuple(last - first + 1 for first, last in reversed(self.box(key[0]))) or (1,)
        return Array(self.array_name(key), shape, self._type(key), _role(key[0], self.pipeline))

    def _type(self, key: tuple[str, int]) -> Number:
        name, component = key
        if name in self.temporaries:
            return self.temporaries[name]
        if name in self.pipeline.parameters:
            return number_type(self.pipeline.parameters[name].type)
        return number_type(self.pipeline.funcs[name].types[component])

    def access(self, element: Element, statement: str, draft: Draft) -> Access:
        """An access of a statement, from its iterations to elements."""
        origin = [first for first, _ in self.box(element.key[0])]
        functions = [_shifted(function.intersect_domain(draft.domain).gist(draft.domain), first)
                     for function, first in zip(element.index, origin, strict=True)]
        mapping = index_map(draft.domain.get_space(), functions[::-1])
        name = self.array_name(element.key)
        mapping = mapping.set_tuple_name(_IN, statement).set_tuple_name(_OUT, name)
        for position, iterator in enumerate(draft.iterators):
            mapping = mapping.set_dim_name(isl.dim_type.in_, position, iterator)
        return Access(name, mapping)


def _role(name: str, pipeline: Pipeline) -> Role:
    return "output" if name in pipeline.outputs else "input" if name in pipeline.parameters else "intermediate"


def _shifted(function: isl.PwAff, origin: int) -> isl.PwAff:
    return function if origin == 0 else function.add_constant_val(isl.Val(-origin))


def assemble(name: str, drafts: Sequence[Draft], layout: Layout, tables: Sequence[Table],
             memories: Sequence[Words]) -> Program:
    """The program of `drafts`, in their order: those of one stage share their loops."""
    keys = dict.fromkeys(element.key for draft in drafts for element in (*draft.reads, draft.write))
    arrays = sorted((layout.array(key) for key in sorted(keys, key=layout.position)),
                    key=lambda array: _ROLES.index(array.role))
    taken = {item.name for item in (*arrays, *tables, *memories)}
    names: list[str] = []
    for draft in drafts:
        names.append(fresh_name(_statement_name(draft, layout), {*taken, *names}))
    statements, orders = [], isl.UnionMap("{}")
    for statement, draft, time in zip(names, drafts, _times(drafts), strict=True):
        statements.append(_statement(statement, draft, layout))
        head = f"{statement}[{', '.join(draft.iterators)}]"
        orders = orders.union(isl.UnionMap(f"{{ {head} -> [{', '.join(time)}] }}"))
    declared = tuple(Memory(m.name, m.words, m.type, layout.array_name(m.key)) for m in memories)
    return Program(name, tuple(arrays), tuple(tables), tuple(statements), orders, memories=declared)


def _statement_name(draft: Draft, layout: Layout) -> str:
    """What a draft is called, with the name of the array in place of the key's."""
    array = layout.array_name(draft.write.key)
    (name,) = legal_names([draft.name.replace(draft.write.key[0], array, 1)]).values()
    return name


_ROLES = ("input", "output", "intermediate")


def _statement(name: str, draft: Draft, layout: Layout) -> Statement:
    domain = draft.domain.set_tuple_name(name)
    for position, iterator in enumerate(draft.iterators):
        domain = domain.set_dim_name(_SET, position, iterator)
    reads = tuple(layout.access(element, name, draft) for element in draft.reads)
    return Statement(name, draft.iterators, domain, reads, layout.access(draft.write, name, draft), draft.value)


def _times(drafts: Sequence[Draft]) -> list[list[str]]:
    """The 2d+1 time of every statement: the number of its stage, its iterators, its number in there."""
    length = 2 + 2 * max((len(draft.iterators) for draft in drafts), default=0)
    times: list[list[str]] = []
    stage = inside = -1
    for number, draft in enumerate(drafts):
        same = number > 0 and draft.nest == drafts[number - 1].nest
        stage, inside = (stage, inside + 1) if same else (stage + 1, 0)
        time = [str(stage)]
        for position, iterator in enumerate(draft.iterators):
            time += [iterator, str(inside) if position == len(draft.iterators) - 1 else "0"]
        if not draft.iterators:
            time.append(str(inside))
        times.append([*time, *["0"] * (length - len(time))])
    return times


