"""Compiling parallel arrays for the soft vector processor: the passes in order."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import replace

from compiler.bind.vector.build import GraphBuilder
from compiler.bind.vector.code_generation import lowered, planned
from compiler.bind.vector.design import VectorDesign
from compiler.bind.vector.errors import VectorTargetError
from compiler.bind.vector.float_values import check_lanes
from compiler.bind.vector.from_program import from_program
from compiler.bind.vector.gathers import with_gathers
from compiler.bind.vector.graph import Extend, Node, nodes_of
from compiler.bind.vector.ir import MemoryArray, VectorProgram
from compiler.bind.vector.loop_forms import LoopForms
from compiler.bind.vector.options import Options
from compiler.bind.vector.phases import Phase
from compiler.bind.vector.sequential_loops import Unrolled, unrolled_form
from compiler.bind.vector.spill import PhasePlanner
from compiler.bind.vector.translate import Graph
from compiler.bind.vector.transposed_loads import TransposedLoadPass
from compiler.bind.vector.validate import validate_design
from compiler.bind.vector.verify import verify_program
from compiler.frontend.parallel_array.location import ArrayError
from compiler.frontend.parallel_array.program import ArrayProgram
from compiler.ir.program import Program
from compiler.ir.verify import verify
from compiler.passes.directives import apply_script
from compiler.passes.directives.right_looking import right_looking_script
from compiler.passes.normalize.passes import CoalesceTileLoops
from compiler.passes.pipeline import PassPipeline
from compiler.passes.recurrence.passes import ShortenRecurrences
from compiler.passes.recurrence.recurrence_interchange import recurrence_order
from compiler.passes.state import State
from hw.drivers.interface import c_identifier
from hw.errors import SluiceError

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

UNROLLED = 2000
"""Vector instructions, about, of loops that carry values from turn to turn that are unrolled for comparison."""

MOST_ROWS, MOST_OPERATIONS = 1024, 12_000
"""Statements and vector instructions, about, of such loops that are unrolled if there is no other way: as many take
half a minute to compile, and twice as many several times that."""

PIECES = 300
"""Pieces, at least, that all forms with loops together may have where loops can be unrolled, too; of larger unrolled
forms as many as these have statements, and a quarter of their instructions."""

COLD = 4
"""Clock cycles that an instruction of unrolled loops takes at least: its code, of two words or more, is fetched."""

COLD_ROW = 16
"""The same of a statement that runs as a whole, besides its instructions: it sets a length and two addresses. Those of
`apps/polybench` take 66 or more."""


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
    design = _sequential(_orders(short), options)
    design = validate_design(replace(design, program=program, coalesced=coalesced))
    return replace(design, seconds=time.perf_counter() - start)


def _orders(program: Program) -> list[Program]:
    """A program in the orders of its loops that are tried: as it is, with loops that carry nothing inside those that
    carry values, or as a right-looking decomposition, of which a step of the outermost loop is all that carries."""
    if script := right_looking_script(program):
        program = apply_script(program, script)
    order = recurrence_order(program, cycles=None, parts="")
    ready = with_gathers(apply_script(program, order))
    return [ready, with_gathers(program)] if order else [ready]


def _sequential(orders: Sequence[Program], options: Options) -> VectorDesign:
    """The fastest design of a program, given in one or several orders of its loops: where some carry values from turn
    to turn, with these as loops or unrolled. Raises `ArrayError` and `VectorTargetError`."""
    size = unrolled_form(orders[0]) if options.segment is None else None
    if size is None:
        return _unrolled(orders[0], options)
    is_compared = not size.is_long and size.rows <= MOST_ROWS and size.operations <= UNROLLED
    forms = LoopForms(options, max(PIECES, size.rows + size.operations // 4) if is_compared else math.inf)
    best = forms.best(orders)
    if best is None:
        _require_small(size, forms.reasons[0])
    elif not is_compared or COLD * size.operations + COLD_ROW * size.rows > best.cycles:
        return best
    try:
        unrolled = _unrolled(orders[0], options)
    except (VectorTargetError, ArrayError):
        if best is None and forms.left <= 0:
            best = LoopForms(options).best(orders)  # without a limit, there is no other form
        if best is None:
            raise
        return best
    return unrolled if best is None or unrolled.cycles < best.cycles else best


def _unrolled(program: Program, options: Options) -> VectorDesign:
    return compile_arrays(from_program(program, options.spec()), options)


def _require_small(size: Unrolled, reason: SluiceError) -> None:
    """Raises `VectorTargetError` if loops that can but be unrolled are too large for that."""
    if size.rows <= MOST_ROWS and size.operations <= MOST_OPERATIONS:
        return
    raise VectorTargetError(f"{size.statement}: loops around it carry values from iteration to iteration, and have no "
                            f"form as loops ({reason}); unrolled they would be about {size.rows} statements and "
                            f"{size.operations} vector instructions, and the vector target unrolls at most {MOST_ROWS} "
                            f"and {MOST_OPERATIONS}: compile the program for smaller arrays, or for fpga or dataflow")


def compile_arrays(program: ArrayProgram, options: Options | None = None) -> VectorDesign:
    """Compile a program. Raises `ArrayError` and `VectorTargetError`, which name expression and line."""
    options = options or Options()
    spec = options.spec()
    start = time.perf_counter()
    whole = lowered(program, spec)
    check_lanes([result.node for result in whole.results], spec)
    across = TransposedLoadPass(whole, GraphBuilder())
    graphs = [whole, across.run()][:1 + across.found]
    planner = PhasePlanner(spec, options.search)
    forms = [(graph, spilled) for graph in graphs for spilled in _spilled(graph)]
    plans = (planned(graph, planner, options, spilled, number == len(forms))
             for number, (graph, spilled) in enumerate(forms, 1))
    cycles, body, phases, choices = min(plans, key=lambda p: p.cycles)
    code = VectorProgram(c_identifier(program.name), spec.capacity, _arrays(program, whole, phases), body)
    verify_program(code)
    return VectorDesign(program, program, options, spec, code, tuple(choices), dict(whole.constants),
                        round(cycles), time.perf_counter() - start)


def _spilled(graph: Graph) -> list[tuple[Node, ...]]:
    """Sets of values that may go through main memory: none, and those that are extended along some of their dimensions,
    as prefix sums are, of which tiles would need ever more."""
    extended = tuple(node for node in nodes_of([r.node for r in graph.results])
                     if isinstance(node, Extend) and node.is_fused and None in node.boundaries)
    return [(), extended] if extended else [()]


def _arrays(program: ArrayProgram, graph: Graph, phases: list[Phase]) -> tuple[MemoryArray, ...]:
    inputs = [MemoryArray.of(name, "input", node.shape, node.dtype) for name, node in program.inputs.items()]
    constants = [MemoryArray.of(name, "constant", data.shape, data.dtype) for name, data in graph.constants.items()]
    temporaries = list(dict.fromkeys(memory for phase in phases for memory in phase.temporaries))
    outputs = [MemoryArray.of(name, "output", node.shape, node.dtype) for name, node in program.outputs.items()]
    return (*inputs, *constants, *temporaries, *outputs)
