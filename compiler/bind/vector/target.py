"""Compiling parallel arrays for the soft vector processor: the passes in order."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from compiler.bind.vector.build import GraphBuilder
from compiler.bind.vector.contractions import ContractionPass
from compiler.bind.vector.design import VectorDesign
from compiler.bind.vector.errors import VectorTargetError
from compiler.bind.vector.flatten import flattened
from compiler.bind.vector.float_values import check_lanes
from compiler.bind.vector.from_program import from_program
from compiler.bind.vector.gathers import with_gathers
from compiler.bind.vector.graph import Extend, Node, nodes_of
from compiler.bind.vector.instruction_combining import CombinePass, CopyPass, NarrowPass
from compiler.bind.vector.ir import MemoryArray, Statement, VectorProgram
from compiler.bind.vector.options import Options
from compiler.bind.vector.phases import Phase, split
from compiler.bind.vector.reductions import ReductionPass
from compiler.bind.vector.redundant_copies import Repeats
from compiler.bind.vector.select_loop_form import arranged
from compiler.bind.vector.shapes import Settings
from compiler.bind.vector.spill import plan_phases
from compiler.bind.vector.tile_loops import code_of
from compiler.bind.vector.tile_search import Choice
from compiler.bind.vector.translate import Graph, translate
from compiler.bind.vector.transposed_loads import TransposedLoadPass
from compiler.bind.vector.validate import validate_design
from compiler.bind.vector.verify import verify_program
from compiler.frontend.parallel_array.program import ArrayProgram
from compiler.ir.program import Program
from compiler.ir.verify import verify
from compiler.passes.directives import apply_script
from compiler.passes.normalize.passes import CoalesceTileLoops
from compiler.passes.pipeline import PassPipeline
from compiler.passes.recurrence.passes import ShortenRecurrences
from compiler.passes.recurrence.recurrence_interchange import recurrence_order
from compiler.passes.state import State
from hw.drivers.interface import c_identifier
from hw.vector_lanes.spec import VectorSpec

__all__ = ["MEMORIES", "PLACE", "PROGRAMS", "Options", "compile_arrays", "compile_program"]

MEMORIES = True
FLOATING = True
TRAPS = False
"""Accesses at places that depend on data are taken, but end no run; `compiler.bind.vector.gathers` says which."""

PLACE = "the vector processor"
"""What results call the target."""

DISTINCT_NAMES = False
"""Statements and arrays of one name are kept apart."""

PROGRAMS = (Program, ArrayProgram)
"""Kinds of programs that the target takes."""


def compile_program(program: Program | ArrayProgram, options: Options) -> VectorDesign:
    """Compile a program of either kind, and prove it on examples. Raises `ProgramError`, `ArrayError` and
    `VectorTargetError`."""
    if isinstance(program, ArrayProgram):
        return validate_design(compile_arrays(program, options))
    start = time.perf_counter()
    verify(program)
    passes = PassPipeline((CoalesceTileLoops(), ShortenRecurrences()))
    state = passes.run(State(replace(program, shared=())))
    short, coalesced = state.program, CoalesceTileLoops.name in state.notes
    wide = apply_script(short, recurrence_order(short, cycles=None, parts=""))
    design = compile_arrays(from_program(with_gathers(wide), options.float32, options.bfloat16), options)
    design = validate_design(replace(design, program=program, coalesced=coalesced))
    return replace(design, seconds=time.perf_counter() - start)


def compile_arrays(program: ArrayProgram, options: Options | None = None) -> VectorDesign:
    """Compile a program. Raises `ArrayError` and `VectorTargetError`, which name expression and line."""
    options = options or Options()
    spec = options.spec()
    start = time.perf_counter()
    whole = lowered(program, spec)
    check_lanes([result.node for result in whole.results], spec)
    across = TransposedLoadPass(whole, GraphBuilder())
    graphs = [whole, across.run()][:1 + across.found]
    plans = (_planned(graph, spec, options, spilled) for graph in graphs for spilled in _spilled(graph))
    cycles, body, phases, choices = min(plans, key=lambda p: p.cycles)
    code = VectorProgram(c_identifier(program.name), spec.capacity, _arrays(program, whole, phases), body)
    verify_program(code)
    return VectorDesign(program, program, options, spec, code, tuple(choices), dict(whole.constants),
                        round(cycles), time.perf_counter() - start)


class _Planned(NamedTuple):
    """A program's code, how it came about, and its predicted clock cycles."""

    cycles: float
    body: tuple[Statement, ...]
    phases: list[Phase]
    choices: list[Choice]


def _spilled(graph: Graph) -> list[tuple[Node, ...]]:
    """Sets of values that may go through main memory: none, and those that are extended along some of their dimensions,
    as prefix sums are, of which tiles would need ever more."""
    extended = tuple(node for node in nodes_of([r.node for r in graph.results])
                     if isinstance(node, Extend) and node.is_fused and None in node.boundaries)
    return [(), extended] if extended else [()]


def _planned(whole: Graph, spec: VectorSpec, options: Options, spilled: tuple[Node, ...]) -> _Planned:
    """The best code for a graph, with some values stored and loaded again. Raises `VectorTargetError`."""
    builder = GraphBuilder()
    phases = split(whole, builder, spilled)
    segment = options.segment if len(phases) == 1 else None
    if segment is not None and len(segment) != len(phases[0].shape):
        raise VectorTargetError(f"a segment of {len(segment)} dimensions does not fit results of shape "
                                f"{phases[0].shape}")
    if segment is None:
        phases = [flattened(phase, builder) for phase in phases]
    planned = plan_phases(phases, spec, builder, segment, options.search)
    phases, choices = [phase for phase, _ in planned], [choice for _, choice in planned]
    return _Planned(*arranged(_groups(choices), spec), phases, choices)


def lowered(program: ArrayProgram, spec: VectorSpec) -> Graph:
    """The graph of a program after all passes that concern the whole of it."""
    graph = translate(program, GraphBuilder())
    graph = ContractionPass(graph, GraphBuilder()).run()
    graph = ReductionPass(graph, GraphBuilder(), spec.lanes, spec.capacity // 4).run()
    graph = CombinePass(graph, GraphBuilder()).run()
    graph = NarrowPass(graph, GraphBuilder()).run()
    return CopyPass(graph, GraphBuilder()).run()


def _groups(choices: list[Choice]) -> list:
    settings, repeats = Settings(), Repeats()
    return [group for choice in choices for group in code_of(choice.plan, settings, repeats)]


def _arrays(program: ArrayProgram, graph: Graph, phases: list[Phase]) -> tuple[MemoryArray, ...]:
    def array(name: str, role: str, shape: tuple[int, ...], dtype: np.dtype) -> MemoryArray:
        return MemoryArray(name, role, str(dtype), shape, int(np.prod(shape, dtype=np.int64)) * dtype.itemsize)

    inputs = [array(name, "input", node.shape, node.dtype) for name, node in program.inputs.items()]
    constants = [array(name, "constant", data.shape, data.dtype) for name, data in graph.constants.items()]
    temporaries = list(dict.fromkeys(memory for phase in phases for memory in phase.temporaries))
    outputs = [array(name, "output", node.shape, node.dtype) for name, node in program.outputs.items()]
    return (*inputs, *constants, *temporaries, *outputs)
