"""What the host functions in C have in common, whatever the target."""

from __future__ import annotations

import re
from collections.abc import Sequence

from compiler.ir.evaluate import word_type
from compiler.ir.program import Array, Program
from compiler.ir.types import FLOAT32, FLOAT64
from hw.dma.registers import RegisterMap

__all__ = ["c_identifier", "c_type", "run_lines", "run_prototype"]


def c_identifier(text: str) -> str:
    """`text` with underscores for everything that a C identifier cannot have."""
    name = re.sub(r"[^A-Za-z0-9_]", "_", text)
    return name if name[:1].isalpha() or name[:1] == "_" else f"_{name}"


def c_type(array: Array) -> str:
    """The type of an element as the host has it; formats that C has no type for are words of their bits."""
    if array.type in (FLOAT32, FLOAT64):
        return "float" if array.type == FLOAT32 else "double"
    type = word_type(array.type)
    return f"{'' if type.signed else 'u'}int{8 * type.dtype.itemsize}_t"


def _declared(array: Array) -> str:
    extents = "".join(f"[{extent}]" for extent in array.shape)
    return f"{c_type(array)} {array.name}{extents}"


def run_prototype(program: Program) -> str:
    """``int NAME_run(memory, registers, arrays)``. ``memory``: the design's main memory, at its address 0;
    ``registers``: its control registers. Returns 0 or the code of the error."""
    arrays = [*(f"const {_declared(a)}" for a in program.inputs), *map(_declared, program.outputs)]
    name = c_identifier(program.name)
    return f"int {name}_run(volatile uint8_t *memory, volatile uint32_t *registers, {', '.join(arrays)})"


def run_lines(registers: RegisterMap, writes: Sequence[tuple[int, int]]) -> list[str]:
    """Write `writes`, the last of which starts a run; wait for its end; return with the code of an error."""
    status, prefix = f"registers[0x{registers.address('STATUS'):x} / 4]", registers.name.upper()
    return [
        *(f"  registers[0x{register:x} / 4] = 0x{value:x};" for register, value in writes),
        f"  while (!({status} & {prefix}_STATUS_DONE_MASK))", "    ;",
        f"  uint32_t status = {status};", f"  if (status & {prefix}_STATUS_ERROR_MASK)",
        f"    return (status & {prefix}_STATUS_ERROR_MASK) >> {prefix}_STATUS_ERROR_SHIFT;",
    ]
