"""Measures the constants of the cost model in RTL simulation: ``python -m compiler.bind.vector.calibrate [--write]``.

Each constant is the slope between two small programs that differ in one thing only. Without ``--write`` the constants
are printed beside the recorded ones; with it, they replace those of the same machines in ``cost_model.json``.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace

from compiler.bind.vector.c_code import c_program
from compiler.bind.vector.cost import CONSTANTS_FILE, Constants, Timeline, as_json, cold_cycles, constants, recorded
from compiler.bind.vector.errors import VectorTargetError
from compiler.bind.vector.ir import Affine, Instruction, Loop, MemoryArray, Setting, Statement, Transfer, VectorProgram
from hw.errors import SluiceError
from hw.files import write_atomic
from hw.soc.results import DRAM_LATENCY
from hw.vector_lanes.isa import Mode, Op, Size
from hw.vector_lanes.spec import VectorSpec

__all__ = ["main", "measure"]

LANES = "1,4,16"
ARRAY = 1 << 16
GROUPS = 8
BUSY = 80
"""Beats of a load that keeps memory busy for most of the time in which `GROUPS` instructions are fetched."""
ROW = 192
"""Bytes of the rows that begin in the middle of a beat."""
_ADD = Mode(Op.VADD, False, Size.WORD, Size.WORD)
_SUM = Mode(Op.VMOV, False, Size.WORD, Size.WORD, accumulate=True)


def cycles(body: Sequence[Statement], spec: VectorSpec) -> int:
    """Clock cycles of a program's kernel in RTL."""
    from hw.soc.run import run_program

    memory = MemoryArray("data", "temporary", "uint8", (ARRAY,), ARRAY)
    program = VectorProgram("probe", spec.capacity, (memory,), tuple(body))
    return run_program({"probe.c": c_program(program)}, spec).kernel_cycles


def _slope(make: Callable[[int], list[Statement]], spec: VectorSpec, few: int = 4, many: int = 12) -> float:
    """Cycles per group of statements, from loops of `few` and `many` turns over `GROUPS` of them: code that is in the
    instruction cache already."""
    group = tuple(s for i in range(GROUPS) for s in make(i))
    low, high = (cycles([Setting("length", (spec.lanes,)), Loop(n, group)], spec) for n in (few, many))
    return (high - low) / (many - few) / GROUPS


def _straight(make: Callable[[int], list[Statement]], spec: VectorSpec, few: int = 32, many: int = 96) -> float:
    """Cycles per group of statements in code that runs once."""
    low, high = (cycles([Setting("length", (1,)), *(s for i in range(n) for s in make(i))], spec) for n in (few, many))
    return (high - low) / (many - few)


def _independent(index: int) -> list[Statement]:
    place = index % 8 * 256
    return [Instruction(_ADD, place, place + 512, place + 1024)]


def _dependent(index: int) -> list[Statement]:
    return [Instruction(_ADD, 0, 0, 4096)]


def _sums(index: int) -> list[Statement]:
    return [Instruction(_SUM, 0, 0, 0)]


def _stepping(index: int) -> list[Statement]:
    """An instruction of whose operands the core computes each, with a word of code."""
    return [Instruction(_ADD, *(Affine(place + 64 * index, (16,)) for place in (1024, 512, 0)))]


def _far(index: int) -> list[Statement]:
    """An instruction of its own, at addresses that take a word of code each."""
    place = 2052 + 16 * index
    return [Instruction(_ADD, place, place + 512, place + 1024)]


def _load(index: int, size: int, rows: int = 1) -> list[Statement]:
    """To one of two places in turn: transfers to the same bytes would wait for each other. Rows lie a word behind the
    beginning of a beat."""
    return [Transfer(False, index % 2 * 4096 + (4 if rows > 1 else 0), "data", 0, size, rows)]


def _loaded(index: int) -> list[Statement]:
    """A load that waits for the instruction before it, and an instruction that waits for the load."""
    return [*_load(0, 64), Instruction(_ADD, 4096, 0, 0)]


def _stored(index: int) -> list[Statement]:
    """A store of what the instruction before it computes; the next one waits for it."""
    return [Instruction(_ADD, 0, 4096, 4096), Transfer(True, 0, "data", 0, 64, 1)]


def _modelled(make: Callable[[int], list[Statement]], model: Constants, spec: VectorSpec) -> float:
    """The same slope by the cost model."""
    timeline = Timeline(spec, model)
    timeline.feed([Setting("length", (spec.lanes,)), *make(0)])
    before = timeline.now
    timeline.feed(s for i in range(GROUPS) for s in make(i))
    return (timeline.now - before) / GROUPS


def _fetched(index: int, beats: int, spec: VectorSpec) -> list[Statement]:
    """Code that runs once, while a load of so many beats goes on."""
    code = [s for k in range(GROUPS) for s in _far(GROUPS * index + k)]
    return [*code, Transfer(False, index % 2 * 1024, "data", 0, beats * spec.memory_bytes, 1)]


def measure(spec: VectorSpec) -> Constants:
    """All constants for a machine. Raises what running a program raises."""
    setting = _slope(lambda i: [Setting("length", (4 + i % 2,))], spec)
    instruction = _slope(_independent, spec)
    operand = (_slope(_stepping, spec) - instruction) / 3
    fetch = (_straight(_far, spec) / 5 + _straight(_independent, spec) / 2) / 2
    alone, beside = (_straight(lambda i, beats=beats: _fetched(i, beats, spec), spec, 3, 9) for beats in (1, BUSY))
    long = _slope(lambda i: [Setting("transfer", (256, 512)), *_load(i, ROW, 16)], spec)
    burst = _slope(lambda i: [Setting("transfer", (spec.memory_bytes, 512)), *_load(i, 1, 64)], spec) / 64
    model = Constants(
        start=0.0, setting=setting, instruction=instruction, operand=operand, fetch=fetch,
        contention=beside / alone, dependence=_slope(_dependent, spec), accumulate=_slope(_sums, spec),
        row=long / 16 - ROW / spec.memory_bytes, burst=burst, latency=0.0, store=0.0, answer=DRAM_LATENCY - 2.0,
    )
    latency = _slope(_loaded, spec) - _modelled(_loaded, model, spec)
    store = _slope(_stored, spec) - _modelled(_stored, model, spec)
    model = replace(model, latency=latency, store=store)
    once = [Setting("length", (spec.lanes,)), *_loaded(0)]
    model = replace(model, start=cycles(once, spec) - cold_cycles(once, spec, model))
    return Constants(**{name: round(max(value, 0.0), 2) for name, value in asdict(model).items()})


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print, or record. Returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m compiler.bind.vector.calibrate", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="record the constants")
    parser.add_argument("--lanes", default=LANES, help="of the machines, with commas (default: %(default)s)")
    options = parser.parse_args(arguments)
    try:
        found = {spec.lanes: measure(spec) for spec in _machines(options.lanes)}
    except SluiceError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    for lanes, measured in found.items():
        print(f"{lanes} lanes")
        for name, value in asdict(measured).items():
            print(f"  {name:12} {value:8} cycles (recorded: {asdict(constants(lanes))[name]})")
    if options.write:
        write_atomic(CONSTANTS_FILE, as_json(recorded() | found))
    return 0


def _machines(text: str) -> list[VectorSpec]:
    """The machines that a text of numbers with commas names. Raises `SluiceError`."""
    if not all(part.isdecimal() for part in text.split(",")):
        raise VectorTargetError(f"--lanes {text}: write numbers with commas, e.g. 1,4,16")
    return [VectorSpec(int(part)) for part in text.split(",")]


if __name__ == "__main__":
    sys.exit(main())
