"""Checks of a vector program: legal modes, no access outside scratchpad or arrays, counters inside their loops."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from compiler.bind.vector.access_ranges import span, touched
from compiler.bind.vector.errors import VectorProgramError
from compiler.bind.vector.ir import (
    SETTING_LENGTHS,
    Affine,
    Instruction,
    Loop,
    MemoryArray,
    Note,
    Setting,
    Statement,
    Transfer,
    VectorProgram,
    fields_of,
    sampled,
)
from hw.vector_lanes.isa import Op, check

__all__ = ["verify_program"]


@dataclass
class _State:
    """What the vector unit's registers hold, and the program's arrays by name."""

    arrays: Mapping[str, MemoryArray]
    values: dict[str, tuple[int, ...]] = field(default_factory=dict)


def verify_program(program: VectorProgram) -> None:
    """Raises `VectorProgramError` naming the first statement that breaks a rule."""
    _check_loops(program.body, 0)
    state = _State({array.name: array for array in program.arrays})
    for statement, _ in sampled(program.body):
        match statement:
            case Setting(kind, values):
                state.values[kind] = tuple(v for v in values if isinstance(v, int))
            case Instruction():
                _check_instruction(program, statement, state)
            case Transfer():
                _check_transfer(program, statement, state)


def _check_loops(body: Sequence[Statement], depth: int) -> None:
    for statement in body:
        match statement:
            case Loop(count, inner):
                if isinstance(count, int) and count < 1:
                    raise VectorProgramError(f"a loop of {count} iterations")
                if isinstance(count, Affine) and len(count.steps) > depth:
                    raise VectorProgramError(f"a loop of {count} iterations: it steps with a loop that is not around "
                                             "it")
                _check_loops(inner, depth + 1)
            case Note():
                continue
            case _:
                for value in fields_of(statement):
                    if isinstance(value, Affine) and len(value.steps) > depth:
                        raise VectorProgramError(f"{statement}: a number steps with a loop that is not around it")
                if isinstance(statement, Setting) and len(statement.values) != SETTING_LENGTHS.get(statement.kind):
                    raise VectorProgramError(f"{statement}: not a setting")


def _check_instruction(program: VectorProgram, statement: Instruction, state: _State) -> None:
    mode = statement.mode
    broken = check(mode, float32=True, bfloat16=True, fma=True)
    if broken:
        raise VectorProgramError(f"{statement}: illegal mode ({', '.join(broken)})")
    kinds = ("rows", "matrices")[:mode.dimensions]
    if any(kind not in state.values for kind in ("length", *kinds)):
        raise VectorProgramError(f"{statement}: runs before its shape is set")
    if none := [kind for kind in ("length", *kinds) if state.values[kind][0] < 1]:
        raise VectorProgramError(f"{statement}: runs with no {' and no '.join(none)}")
    found = touched(statement, state.values)
    spans = {"D": found.writes, **found.reads}
    if "table" in spans and isinstance(statement.a, int):
        # Of a table only the first entry is known.
        spans["table"] = span(statement.a, 1 << mode.out_element, [])
    if mode.op is Op.VSCATTER and isinstance(statement.d, int):
        spans["D"] = span(statement.d, 1 << mode.out_element, [])
    for name, (low, high) in spans.items():
        if low < 0 or high > program.scratchpad:
            raise VectorProgramError(f"{statement}: {name} covers {low} to {high}, outside the scratchpad of "
                                     f"{program.scratchpad} bytes")


def _check_transfer(program: VectorProgram, statement: Transfer, state: _State) -> None:
    memory = state.arrays.get(statement.array)
    if memory is None:
        raise VectorProgramError(f"{statement}: there is no array '{statement.array}'")
    numbers = [v for v in fields_of(statement) if isinstance(v, int)]
    scratchpad, offset, size, rows = numbers
    if rows > 1 and "transfer" not in state.values:
        raise VectorProgramError(f"{statement}: runs before its steps are set")
    steps = state.values.get("transfer", (0, 0))
    for name, base, step, limit in (("scratchpad", scratchpad, steps[0], program.scratchpad),
                                    (statement.array, offset, steps[1], memory.bytes)):
        low, high = span(base, size, [(rows, step)] if rows > 1 else [])
        if low < 0 or high > limit:
            raise VectorProgramError(f"{statement}: covers {low} to {high} of {name}, which has {limit} bytes")
    if statement.to_host and memory.role in ("input", "constant"):
        raise VectorProgramError(f"{statement}: stores to {memory.role} '{memory.name}'")
