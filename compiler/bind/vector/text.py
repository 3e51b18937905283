"""The text form of vector programs: prints and parses back.

    program fir scratchpad 32768
    array x input uint32 8207 bytes 32828
    length 8192
    load 0 from x + 0 bytes 32828 rows 1
    loop 4 {
      run VMUL SV W W U d 32768 + 64*i0 a 3 b 0
    }
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from compiler.bind.vector.errors import VectorProgramError
from compiler.bind.vector.ir import (
    SETTING_LENGTHS,
    Instruction,
    Loop,
    MemoryArray,
    Note,
    Number,
    Setting,
    Statement,
    Transfer,
    VectorProgram,
    number,
)
from hw.vector_lanes.isa import FUSED, OPERATION_NAMES, SIZE_LETTERS, Mode

__all__ = ["parse_program", "print_program"]

_SIZE_OF = {letter: size for size, letter in enumerate(SIZE_LETTERS)}
_FLAGS = ("masked", "accumulate", "absolute")


def print_number(value: Number) -> str:
    """A number: ``base + step*i0 + step*i1``."""
    if isinstance(value, int):
        return str(value)
    terms = [f"{step:+d}*i{k}" for k, step in enumerate(value.steps) if step]
    return f"{value.base}{''.join(terms)}"


def _mode(mode: Mode) -> str:
    sources = ("S" if mode.scalar else "V") + ("E" if mode.enumerated else "V")
    sign = "S" if mode.signed else "U"
    flags = [name for name in _FLAGS if getattr(mode, name)]
    sizes = f"{SIZE_LETTERS[mode.in_size]} {SIZE_LETTERS[mode.out_size]}"
    return " ".join([mode.name, sources, sizes, sign, f"{mode.dimensions + 1}D", *flags])


def _lines(body: tuple[Statement, ...], indent: str) -> Iterator[str]:
    for statement in body:
        match statement:
            case Note(text):
                yield f"{indent}# {text}"
            case Setting(kind, values):
                yield f"{indent}{kind} {' '.join(print_number(v) for v in values)}"
            case Instruction(mode, d, a, b):
                yield (f"{indent}run {_mode(mode)} d {print_number(d)} a {print_number(a)} b {print_number(b)}")
            case Transfer():
                word, link = ("store", "to") if statement.to_host else ("load", "from")
                yield (f"{indent}{word} {print_number(statement.scratchpad)} {link} {statement.array} "
                       f"{print_number(statement.offset)} bytes {print_number(statement.bytes)} "
                       f"rows {print_number(statement.rows)}")
            case Loop(count, inner):
                yield f"{indent}loop {print_number(count)} {{"
                yield from _lines(inner, indent + "  ")
                yield f"{indent}}}"


def print_program(program: VectorProgram) -> str:
    """The program as text."""
    lines = [f"program {program.name} scratchpad {program.scratchpad}"]
    for array in program.arrays:
        shape = "x".join(map(str, array.shape)) or "scalar"
        lines.append(f"array {array.name} {array.role} {array.dtype} {shape} bytes {array.bytes}")
    return "\n".join([*lines, *_lines(program.body, "")]) + "\n"


# Parsing.

_NUMBER = r"-?\d+(?:[+-]\d+\*i\d+)*"
_HEAD = re.compile(r"program (\w+) scratchpad (\d+)")
_ARRAY = re.compile(r"array (\w+) (input|output|constant|temporary) (\w+) (scalar|\d+(?:x\d+)*) bytes (\d+)")
_RUN = re.compile(rf"run (\w+) ([SV])([EV]) ([{SIZE_LETTERS}]) ([{SIZE_LETTERS}]) ([SU]) ([123])D"
                  rf"((?: (?:{'|'.join(_FLAGS)}))*) "
                  rf"d ({_NUMBER}) a ({_NUMBER}) b ({_NUMBER})")
_MOVE = re.compile(rf"(?:load ({_NUMBER}) from|store ({_NUMBER}) to) (\w+) ({_NUMBER}) bytes ({_NUMBER}) "
                   rf"rows ({_NUMBER})")
_SET = re.compile(rf"({'|'.join(SETTING_LENGTHS)})((?: {_NUMBER})+)")
_LOOP = re.compile(rf"loop ({_NUMBER}) \{{")


def parse_number(text: str) -> Number:
    """The reverse of `print_number`."""
    base, *_ = re.split(r"(?<=\d)[+-]\d+\*", text)
    steps: dict[int, int] = {int(k): int(s) for s, k in re.findall(r"([+-]\d+)\*i(\d+)", text[len(base):])}
    return number(int(base), [steps.get(k, 0) for k in range(max(steps, default=-1) + 1)])


def parse_program(text: str) -> VectorProgram:
    """The program that `print_program` has printed. Raises `VectorProgramError` naming the line."""
    lines = [(i, line.strip()) for i, line in enumerate(text.splitlines(), 1) if line.strip()]
    head = _HEAD.fullmatch(lines[0][1]) if lines else None
    if head is None:
        raise VectorProgramError("a vector program begins with 'program NAME scratchpad BYTES'")
    arrays = []
    place = 1
    while place < len(lines) and (found := _ARRAY.fullmatch(lines[place][1])):
        name, role, dtype, shape, size = found.groups()
        extents = () if shape == "scalar" else tuple(int(n) for n in shape.split("x"))
        arrays.append(MemoryArray(name, role, dtype, extents, int(size)))
        place += 1
    body, end = _parse_body(lines, place, nested=False)
    assert end == len(lines)
    return VectorProgram(head[1], int(head[2]), tuple(arrays), body)


def _parse_body(lines: list[tuple[int, str]], place: int, nested: bool) -> tuple[tuple[Statement, ...], int]:
    body: list[Statement] = []
    while place < len(lines):
        line_number, line = lines[place]
        if line == "}" and nested:
            return tuple(body), place + 1
        place += 1
        if found := _LOOP.fullmatch(line):
            inner, place = _parse_body(lines, place, nested=True)
            body.append(Loop(parse_number(found[1]), inner))
        else:
            body.append(_parse_statement(line, line_number))
    if nested:
        raise VectorProgramError("a loop is not closed at the end of the program")
    return tuple(body), place


def _parse_statement(line: str, line_number: int) -> Statement:
    if line.startswith("# "):
        return Note(line[2:])
    if found := _SET.fullmatch(line):
        values = tuple(parse_number(v) for v in found[2].split())
        if len(values) == SETTING_LENGTHS[found[1]]:
            return Setting(found[1], values)
    if found := _MOVE.fullmatch(line):
        load, store, array, *rest = found.groups()
        offset, size, rows = (parse_number(v) for v in rest)
        return Transfer(store is not None, parse_number(store or load), array, offset, size, rows)
    if (found := _RUN.fullmatch(line)) and found[1] in OPERATION_NAMES:
        op, scalar, enumerated, size_in, size_out, sign, dimensions, flags, d, a, b = found.groups()
        mode = Mode(OPERATION_NAMES[op], sign == "S", _SIZE_OF[size_in], _SIZE_OF[size_out], enumerated == "E",
                    scalar == "S", dimensions=int(dimensions) - 1, **{name: name in flags.split() for name in _FLAGS})
        if op == FUSED and not mode.fuses:
            raise VectorProgramError(f"line {line_number}: {FUSED} goes with floating-point numbers")
        return Instruction(mode, parse_number(d), parse_number(a), parse_number(b))
    raise VectorProgramError(f"line {line_number}: '{line}' is no statement of a vector program")


