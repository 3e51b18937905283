"""Why a design takes longer than its bound, from its schedule, its prediction and the counters of a run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import prod
from typing import Any

from compiler.analysis.dependences import flow
from compiler.analysis.instance_budget import count_instances
from compiler.bind.design import Design, Run
from compiler.bind.registry import compile_program
from compiler.hints.hint import Cause, Remedy
from compiler.hints.rewrites import columns_read, transpose_array, unroll_window, window_loops
from compiler.ir.program import Program
from compiler.ir.types import Float
from compiler.passes.normalize.loop_coalescing import coalesce_tile_loops

__all__ = ["TOO_MUCH", "find_causes", "target_of"]

TOO_MUCH = 1.2
"""Ratio of the cycles to the bound above which there are hints."""

_MUCH = 0.1
"""Share of a run that is worth a hint."""

_CLEAR = 0.8
"""Share of the cycles that another design takes at most to be better for sure."""

_REUSE = 3
"""Evaluations for each word that comes from memory or goes there, from which on an array is the right target."""

_FILLING = 64
"""Cycles beyond the bound, at most, that are taken for those of filling and emptying the data path."""

_WIDEST = {"fpga": 512, "systolic": 512}
"""Widest memory port of targets with that option."""


def target_of(design: Design) -> str:
    """The name of the target that made `design`."""
    return type(design).__module__.split(".")[2]


def find_causes(design: Design, run: Run | None) -> Iterator[Cause]:
    """All that is known to cost cycles, what costs most first."""
    yield from _windows(design)
    cycles = run.wall_cycles if run else design.predicted_start_to_done
    if cycles <= TOO_MUCH * design.lower_bound:
        if run is not None and design.bounds.binding == "transfers":
            yield from _port(design, run)
        return
    found = list(_SPECIAL[target_of(design)](design))
    if run is not None:
        found += _memory(design, run)
    yield from found or _beginning_and_end(design, run)


# Remedies: other options, another target, another program.


def _with(design: Design, program: Any = None, **options: Any) -> Callable[[], int]:
    """Compiles another design and returns its cycles."""
    name, own = target_of(design), getattr(design, "options", None)
    given = {} if own is None else {k: v for k, v in vars(own).items() if v != getattr(type(own)(), k)}
    return lambda: compile_program(program or design.program, name, **given | options).predicted_start_to_done


def _other_target(design: Design, names: tuple[str, ...]) -> tuple[Remedy, ...]:
    """Targets on which the program as it is takes clearly less, transfers and stalls included."""
    if isinstance(design.program, Program) and columns_read(design.program):
        return ()
    return tuple(Remedy(f"--target {name}", _on(design.program, name),
                        _CLEAR * design.predicted_start_to_done) for name in names)


def _on(program: Program, name: str) -> Callable[[], int]:
    """Compiles `program` for target `name` and returns its cycles."""
    return lambda: compile_program(program, name).predicted_start_to_done


def _other_order(design: Any) -> Iterator[Remedy]:
    """Partial sums, of floating-point numbers, on targets that have the option and were not asked for it."""
    program = design.program
    if getattr(design.options, "reassociate", True) or not any(
            isinstance(program.array(s.write.array).type, Float) for s in program.statements):
        return
    yield Remedy("--reassociate (sums in another order, whose last bits may differ)", _with(design, reassociate=True),
                 _CLEAR * design.predicted_start_to_done)


# A window that is not unrolled.


def _windows(design: Design) -> Iterator[Cause]:
    """Of targets with one unit per statement, which take a cycle for each term of a sum."""
    program = design.program
    if target_of(design) not in ("fpga", "cgra", "dataflow") or not isinstance(program, Program):
        return
    for statement in program.statements:
        loops, box = window_loops(program, statement), statement.box()
        if not loops or box is None:
            continue
        terms = prod(box[name][1] - box[name][0] + 1 for name in loops)
        results = prod(high - low + 1 for low, high in box.values()) // terms
        if results * terms > design.predicted_start_to_done / 2 and results > terms:
            plural = "loop" if len(loops) == 1 else "loops"
            yield Cause(f"its window of {terms} terms is not unrolled, so {results} results take "
                        f"{design.predicted_cycles} cycles", statement.label(),
                        (Remedy(f"the {terms} terms of {plural} {', '.join(loops)}, written as one expression",
                                _with(design, unroll_window(program, statement.name)),
                                _CLEAR * design.predicted_start_to_done),))


# Recurrences, by target.


def _static(design: Any) -> Iterator[Cause]:
    """Initiation intervals of the fpga and cgra targets."""
    pace = design.schedule.pace
    if pace.interval <= 1:
        yield from _idle(design)
        return
    limit = _CLEAR * design.predicted_start_to_done
    faster = list(_other_order(design))
    if target_of(design) == "fpga":
        # Operators of a recurrence share a period, of which there is one for each cycle of its latency.
        slower = design.options.clock_mhz // pace.interval
        faster.append(Remedy(f"--option clock_mhz={slower} (a slower clock, and an iteration in each of its cycles)",
                             _with(design, clock_mhz=slower), limit))
    remedies = (*faster, *_other_target(design, ("fpga", "vector") if target_of(design) == "cgra" else ("vector",)))
    if pace.slow is None:
        yield Cause(f"the initiation interval of all loops is {pace.interval} cycles, since a memory does not serve "
                    "its readers in each cycle", None, remedies)
        return
    program = design.program
    own = [s for s in program.statements if s.name in pace.slow] or program.statements
    recurring = _recurring(program)
    statement = next((s for s in own if s.name in recurring), own[0])
    yield Cause(f"a loop-carried dependence with a recurrence latency of {pace.interval} cycles, so an iteration "
                f"starts every {pace.interval} cycles", statement.label(), remedies)


def _idle(design: Any) -> Iterator[Cause]:
    """Instances that only fill a box, and values that come late."""
    program, staged = design.program, design.schedule.staged.program
    names = {s.name for s in staged.statements}
    counted = [(s, count_instances(s.domain), count_instances(staged.statement(s.name).domain))
               for s in program.statements if s.name in names]
    statement, asked, done = max(counted, key=lambda item: item[2] - item[1], default=(None, 0, 0))
    if statement is not None and done > TOO_MUCH * max(asked, 1):
        rewritten = coalesce_tile_loops(program)
        remedy = Remedy("the loops without tiles", _with(design, rewritten), _CLEAR * design.predicted_start_to_done)
        yield Cause(f"{done} instances run for {asked} iterations: its domain is no box of its loops, and what lies "
                    "beside it is predicated off", statement.label(), (remedy,) if rewritten != program else ())
        return
    entries = [entry for entry in design.schedule.statements.values() if entry.statement in
               {s.name for s in program.statements}]
    late = max(entries, key=lambda entry: entry.offset, default=None)
    if late is not None and late.offset > _MUCH * design.predicted_cycles:
        yield Cause(f"it starts in cycle {late.offset} of {design.predicted_cycles}, when all that its first instance "
                    "reads is there: its values are made or loaded in another order than it uses them",
                    program.statement(late.statement).label())


def _recurring(program: Program) -> set[str]:
    """Statements that use what they computed before."""
    return {d.sink for d in flow(program) if d.sink == d.source}


def _dataflow(design: Any) -> Iterator[Cause]:
    choices = design.choices
    slow = choices.get("ticks per time", "").partition(":")[0] or choices.get("idle ticks", "")
    if not slow:
        return
    recurring = _recurring(design.program)
    statement = next((s for s in design.program.statements if s.name in recurring), None)
    limit = _CLEAR * design.predicted_start_to_done
    latency = {**(design.options.latency or {}), "mul": 1}
    yield Cause(f"a loop-carried dependence keeps the operators waiting: {choices.get('ticks per time', slow)}",
                statement and statement.label(),
                (*_other_order(design),
                 Remedy("--option \"latency={'mul': 1}\" (the clock may be slower)", _with(design, latency=latency),
                        limit), *_other_target(design, ("fpga",))))


def _systolic(design: Any) -> Iterator[Cause]:
    """What does not keep an array busy."""
    ratio = f"{design.predicted_start_to_done / design.lower_bound:.1f} times as many"
    moved = f"words come in and results leave for {design.predicted_start_to_done} ({ratio})"
    if not hasattr(design, "kernel"):
        text = (f"the program does not fit an array: its longest chain of operations, or its longest stream, takes "
                f"{design.lower_bound} cycles, but {moved}")
    elif design.kernel.instances >= _REUSE * _words(design.program):
        text = (f"a small problem for an array: {design.plan.spec.macs} evaluations per cycle would take "
                f"{design.lower_bound} cycles, but {moved}; a larger one has a better ratio")
    else:
        text = (f"the program does not fit an array: a word serves {_REUSE - 1} evaluations or fewer; "
                f"{design.plan.spec.macs} evaluations per cycle would take {design.lower_bound} cycles, but {moved}")
    yield Cause(text, _deepest(design.program), _other_target(design, ("fpga", "dataflow")))


def _words(program: Program) -> int:
    """Elements of the inputs and outputs."""
    return sum(prod(array.shape) for array in (*program.inputs, *program.outputs))


def _deepest(program: Program) -> str:
    return max(program.statements, key=lambda s: len(s.iterators)).label()


def _vector(design: Any) -> Iterator[Cause]:
    figures, limit = design.figures, _CLEAR * design.predicted_start_to_done
    compute = figures.operations / design.spec.lanes
    statement = _deepest(design.program) if isinstance(design.program, Program) else None
    if compute < figures.bound and figures.bound > design.predicted_start_to_done / 2:
        text = (f"memory bound: {figures.memory_bytes} bytes take {design.lower_bound} cycles, the operations "
                f"{round(compute)} on {design.spec.lanes} lanes")
    else:
        text = (f"the lanes compute in {figures.wavefronts} of {design.predicted_start_to_done} cycles, and in "
                f"{round(compute)} if none was idle; the others go to transfers and to the start of "
                f"{figures.instructions} vector instructions")
    wider = tuple(Remedy(f"--lanes {lanes}", _with(design, lanes=lanes), limit)
                  for lanes in (2 * design.spec.lanes, 4 * design.spec.lanes) if lanes <= 64)
    others = _other_target(design, ("fpga",)) if isinstance(design.program, Program) else ()
    yield Cause(text, statement, (*wider, *others))


_SPECIAL: dict[str, Callable[[Any], Iterator[Cause]]] = {
    "fpga": _static, "cgra": _static, "dataflow": _dataflow, "systolic": _systolic, "vector": _vector}


# Memory.


def _memory(design: Design, run: Run) -> Iterator[Cause]:
    """Stalls of a run: arrays that are read against their order, or a port that is too narrow."""
    if run.stall_cycles <= _MUCH * run.wall_cycles or not isinstance(design.program, Program):
        return
    program, columns = design.program, columns_read(design.program)
    if columns and target_of(design) in ("fpga", "cgra"):
        statement, access = columns[0]
        array = access.array
        yield Cause(f"{run.stall_cycles} stalls on array '{array}', which it reads in column order",
                    statement.label(access),
                    (Remedy(f"'{array}' stored transposed, so that the innermost loop reads along its rows",
                            _with(design, transpose_array(program, array)), 1.05 * design.predicted_start_to_done),))
        return
    yield from _port(design, run)


def _port(design: Design, run: Run) -> Iterator[Cause]:
    """A port that is busy for most of a run."""
    beats = max(run.counters.get("memory read beats", 0), run.counters.get("memory write beats", 0))
    if beats <= run.wall_cycles / 2:
        return
    width, target = getattr(getattr(design, "options", None), "bus_bits", 0), target_of(design)
    wider = Remedy(f"--option bus_bits={2 * width}", _with(design, bus_bits=2 * width),
                   1.05 * design.predicted_start_to_done)
    yield Cause(f"memory bound: {beats} beats of the memory port in {run.wall_cycles} cycles", None,
                (wider,) if 0 < 2 * width <= _WIDEST.get(target, 0) else ())


def _beginning_and_end(design: Design, run: Run | None) -> Iterator[Cause]:
    """Cycles without an iteration; without a run, those of a small problem that the bound does not count."""
    cycles = run.wall_cycles if run else design.predicted_start_to_done
    rest = cycles - run.cycles - run.stall_cycles if run else cycles - design.lower_bound
    if rest <= _MUCH * cycles or (run is None and design.predicted_cycles - design.lower_bound > _FILLING):
        return
    configuration = run.counters.get("configuration cycles", 0) if run else 0
    which = f", {configuration} of them for the configuration" if configuration else ""
    yield Cause(f"{rest} of {cycles} cycles go by before the first and after the last iteration{which}; a larger "
                "problem has a smaller share of them")
