"""C code of vector programs: one call of the vector API per statement."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from compiler.bind.vector.c_names import c_names
from compiler.bind.vector.ir import (
    Affine,
    Instruction,
    Loop,
    MemoryArray,
    Note,
    Number,
    Setting,
    Statement,
    Transfer,
    VectorProgram,
)
from hw.vector_lanes.isa import SIZE_LETTERS, Mode

__all__ = ["c_program"]

REACH = 2047
"""Bytes around an anchor, or any number in a register, that an immediate operand of the scalar core reaches."""
IDLE = 8
"""Statements after which an anchor that nobody has used is forgotten: its neighbours would be kept as long."""

_ANCHOR = """/* Hides where a number comes from: neighbours are then found by an addition each, and not kept for later
   iterations of a loop, where they would be spilled. */
#define ANCHOR(number) ({ uint32_t anchor = (number); __asm__("" : "+r"(anchor)); anchor; })"""

_TYPES = {"bool": "uint8_t", "float32": "float", "bfloat16": "uint16_t",
          **{f"{u}int{n}": f"{u}int{n}_t" for u in ("", "u") for n in (8, 16, 32)}}


def c_program(program: VectorProgram, constants: dict[str, np.ndarray] | None = None) -> str:
    """A whole C program: the arrays as globals, the kernel as a function, and a main that times it."""
    lines = [f"/* {program.name}: made by the parallel-array compiler. */", "", "#include \"vector.h\"",
             "#include \"soc.h\"", ""]
    names = c_names(program.name, [array.name for array in program.arrays])
    body = list(_body(program.body, "    ", 0, _Anchors(names)))
    lines += [_ANCHOR, ""] if any("ANCHOR(" in line for line in body) else []
    for array in program.arrays:
        lines += _array(array, names[array.name], (constants or {}).get(array.name))
    lines += ["", "/* Scratchpad addresses and sizes are in bytes. */", f"static void {program.name}_kernel(void)", "{"]
    lines += [*body, "    vector_sync();", "}", "", "int main(void)", "{", "    kernel_begin();",
              f"    {program.name}_kernel();", "    kernel_end();", "    return 0;", "}"]
    return "\n".join(lines) + "\n"


def _array(array: MemoryArray, symbol: str, data: np.ndarray | None) -> list[str]:
    kind = _TYPES[array.dtype]
    count = array.bytes // np.dtype(array.dtype).itemsize
    shape = "x".join(map(str, array.shape)) or "scalar"
    head = f"ALIGNED {kind} {symbol}[{count}]"
    remark = f"  /* {array.role}, {shape} */"
    if data is None:
        return [f"{head};{remark}"]
    numbers = [str(int(v)) + ("u" if int(v) > 2**31 - 1 else "") for v in data.flatten()]
    rows = [", ".join(numbers[i:i + 16]) for i in range(0, len(numbers), 16)]
    return [f"{head} = {{{remark}", *(f"    {row}," for row in rows), "};"]


@dataclass
class _Anchors:
    """Numbers that step with loops, held in variables of the C program: others that step alike and lie near are written
    as sums. `names`: of the arrays in C. `known`: anchors with their names and the statement that used them last."""

    names: Mapping[str, str]
    known: list[tuple[Affine, str, int]] = field(default_factory=list)
    made: int = 0
    statement: int = 0
    new: list[str] = field(default_factory=list)

    def text(self, value: Number) -> str:
        """The number in C. The first of its kind adds a declaration to `new`."""
        if isinstance(value, int):
            return _number(value)
        for place, (anchor, name, _) in enumerate(self.known):
            distance = value.base - anchor.base
            if anchor.steps == value.steps and abs(distance) <= REACH:
                self.known[place] = (anchor, name, self.statement)
                return name if distance == 0 else f"{name} {'+' if distance > 0 else '-'} {abs(distance)}"
        self.made += 1
        name = f"a{self.made}"
        self.known.append((value, name, self.statement))
        self.new.append(f"uint32_t {name} = ANCHOR({_number(value)});")
        return name

    def declarations(self) -> list[str]:
        """What a statement needs that is new; the next one follows."""
        new, self.new = self.new, []
        self.statement += 1
        self.known = [anchor for anchor in self.known if self.statement - anchor[2] <= IDLE]
        return new


def _number(value: Number) -> str:
    if isinstance(value, int):
        return str(value) if value < 2**31 else f"{value}u"
    terms = [f"{step} * i{k}" for k, step in enumerate(value.steps) if step]
    return f"{value.base} + {' + '.join(terms)}".replace("+ -", "- ")


def _mode_name(mode: Mode) -> str:
    sources = ("S" if mode.scalar else "V") + ("E" if mode.enumerated else "V")
    sizes = SIZE_LETTERS[mode.in_size]
    if mode.in_size != mode.out_size:
        sizes += SIZE_LETTERS[mode.out_size]
    return f"{sources}{sizes}{'' if mode.signed else 'U'}"


def _function(mode: Mode) -> str:
    parts = ["vector", *(["acc"] if mode.accumulate else []), *(["abs"] if mode.absolute else []),
             *([f"{mode.dimensions + 1}D"] if mode.dimensions else [])]
    return "_".join(parts)


def _body(body: Sequence[Statement], indent: str, depth: int, anchors: _Anchors) -> Iterator[str]:
    for statement in body:
        match statement:
            case Note(text):
                yield f"{indent}/* {text} */"
            case Loop(count, inner):
                yield f"{indent}for (int i{depth} = 0; i{depth} < {_number(count)}; i{depth}++) {{"
                yield from _body(inner, indent + "    ", depth + 1, _Anchors(anchors.names, made=anchors.made))
                yield f"{indent}}}"
            case _:
                call = _call(statement, anchors)
                yield from (indent + line for line in [*anchors.declarations(), call])


def _call(statement: Statement, anchors: _Anchors) -> str:
    match statement:
        case Setting(kind, values):
            name = {"length": "vector_set_vl", "rows": "vector_setup_2D", "matrices": "vector_setup_3D",
                    "transfer": "vector_setup_dma"}[kind]
            return f"{name}({', '.join(map(anchors.text, values))});"
        case Instruction(mode, d, a, b):
            operands = ", ".join(map(anchors.text, (d, a, b)))
            return f"{_function(mode)}({_mode_name(mode)}, {mode.name}, {operands});"
        case Transfer():
            return _transfer(statement, anchors)
    raise TypeError(f"no C for {statement}")


def _transfer(statement: Transfer, anchors: _Anchors) -> str:
    place, size, rows = map(anchors.text, (statement.scratchpad, statement.bytes, statement.rows))
    offset = _number(statement.offset)
    symbol = anchors.names[statement.array]
    host = symbol if offset == "0" else f"(char *){symbol} + {offset}"
    first, second = (host, place) if statement.to_host else (place, host)
    name = "vector_dma_to_host" if statement.to_host else "vector_dma_to_vector"
    if statement.rows == 1:
        return f"{name}({first}, {second}, {size});"
    return f"{name}_rows({first}, {second}, {size}, {rows});"
