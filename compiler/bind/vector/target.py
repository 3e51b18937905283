"""Compiling parallel arrays for the soft vector processor: the passes in order."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from compiler.bind.vector.build import GraphBuilder
from compiler.bind.vector.code_generation import lowered, planned
from compiler.bind.vector.cost import cold_cycles
from compiler.bind.vector.design import VectorDesign
from compiler.bind.vector.errors import VectorTargetError
from compiler.bind.vector.float_values import check_lanes
from compiler.bind.vector.from_program import check_numbers, from_program
from compiler.bind.vector.gathers import with_gathers
from compiler.bind.vector.graph import Extend, Node, nodes_of
from compiler.bind.vector.ir import MemoryArray, Statement, VectorProgram
from compiler.bind.vector.memory_pieces import PieceCompiler, declared_arrays, memory_arrays
from compiler.bind.vector.options import Options
from compiler.bind.vector.phases import Phase
from compiler.bind.vector.sequential_loops import SequentialCode, Unrolled, unrolled_form
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

COMPARED = 40
"""Phases of a program of loops of which arrays on chip and all arrays in memory are compared. Of larger programs those
on chip are taken: what one turn writes the next one reads, and seldom is memory some percent faster."""

MORE_PIECES = 2
"""Times as many pieces of which the same is made without parts: what takes more of them seldom takes less time."""

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
    best, reasons = _best_in_loops(orders, options) if size else (None, [])
    if best is not None and size is not None:
        least = COLD * size.operations + COLD_ROW * size.rows
        if size.is_long or size.operations > UNROLLED or least > best.cycles:
            return best
    elif size is not None:
        _require_small(size, reasons[0])
    try:
        unrolled = compile_arrays(from_program(orders[0], options.spec()), options)
    except (VectorTargetError, ArrayError):
        if best is None:
            raise
        return best
    return unrolled if best is None or unrolled.cycles < best.cycles else best


def _require_small(size: Unrolled, reason: SluiceError) -> None:
    """Raises `VectorTargetError` if loops that can but be unrolled are too large for that."""
    if size.rows <= MOST_ROWS and size.operations <= MOST_OPERATIONS:
        return
    raise VectorTargetError(f"{size.statement}: loops around it carry values from iteration to iteration, and have no "
                            f"form as loops ({reason}); unrolled they would be about {size.rows} statements and "
                            f"{size.operations} vector instructions, and the vector target unrolls at most {MOST_ROWS} "
                            f"and {MOST_OPERATIONS}: compile the program for smaller arrays, or for fpga or dataflow")


@dataclass(frozen=True)
class _InLoops:
    """A design with loops, compiled from `pieces`: with arrays on chip, or all in memory, and with the instances of a
    turn that come before and behind what it changes computed as wholes, `in_parts`, or one by one."""

    design: VectorDesign
    pieces: PieceCompiler
    on_chip: bool
    in_parts: bool

    @property
    def is_enough(self) -> bool:
        """Whether all arrays in memory need not be tried: all fit on the chip, or it would take long."""
        resident = self.pieces.resident
        return resident is not None and (not resident.elsewhere or len(self.pieces.choices) > COMPARED)


def _best_in_loops(orders: Sequence[Program], options: Options) -> tuple[VectorDesign | None, list[SluiceError]]:
    """The fastest design with loops, and why others are none. What is best for the first order is best for the others,
    too: their arrays have the same sizes, and each design takes its time."""
    places, forms = (True, False), (True, False)
    best: _InLoops | None = None
    reasons: list[SluiceError] = []
    for order in orders:
        check_numbers(order, options.spec())
        for on_chip in places:
            found = list(_in_loops(order, options, on_chip, forms, reasons))
            best = min((*found, *((best,) if best else ())), key=lambda one: one.design.cycles, default=None)
            if any(one.is_enough for one in found):
                break
        if best:
            places, forms = (best.on_chip,), (best.in_parts,)
    return best.design if best else None, reasons


def _in_loops(program: Program, options: Options, on_chip: bool, forms: Sequence[bool], reasons: list[SluiceError]
              ) -> Iterator[_InLoops]:
    """A program whose loops carry values from turn to turn, compiled with loops, for each of `forms`: in parts, and, if
    there are any, not in parts, in not many more pieces. None if no array fits on the chip; if turns are not alike
    `reasons` get why."""
    most = None
    for in_parts in forms:
        pieces = PieceCompiler(program, options)
        if on_chip and not pieces.keep_on_chip():
            return
        code = SequentialCode(pieces, in_parts, most)
        try:
            yield _InLoops(_design_of(pieces, code.body()), pieces, on_chip, in_parts)
        except (VectorTargetError, ArrayError) as error:
            reasons.append(error)
        if not code.has_parts:
            return
        most = MORE_PIECES * len(pieces.choices)


def _design_of(pieces: PieceCompiler, body: tuple[Statement, ...]) -> VectorDesign:
    """The design of a program that is compiled piece by piece."""
    program, options, spec = pieces.program, pieces.options, pieces.options.spec()
    arrays = memory_arrays(pieces)
    body = pieces.resident.around(arrays, body) if pieces.resident else body
    code = VectorProgram(c_identifier(program.name), spec.capacity, arrays, body)
    verify_program(code)
    return VectorDesign(program, declared_arrays(program), options, spec, code, tuple(pieces.choices),
                        dict(pieces.pool.constants), round(cold_cycles(body, spec)), 0.0)


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
