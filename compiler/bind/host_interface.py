"""A design's interface to its host (`hw.drivers.interface`), as far as all targets have it in common."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import islpy as isl
import numpy as np

from compiler.ir.evaluate import word_type
from compiler.ir.program import Array, Program
from compiler.ir.types import FLOAT32, FLOAT64, Type
from hw.dma.registers import RegisterMap
from hw.drivers.documents import driver_documents
from hw.drivers.interface import HostArray, RegisterWrite
from hw.errors import SluiceError

__all__ = ["NoDriver", "c_type", "driver_files", "host_array", "host_arrays", "print_c_copies", "print_c_loops",
           "register_writes", "word_c_type"]


class NoDriver(SluiceError):
    """A design whose arrays lie in memory in a way that drivers do not know."""


def driver_files(design: Any) -> dict[str, str]:
    """Drivers of a design by path in its directory; none where it has no `host_interface`."""
    try:
        return driver_documents(design.host_interface)
    except NoDriver:
        return {}


def c_type(type: Type) -> str:
    """The type of an element as the host has it; formats that C has no type for are words of their bits."""
    if type in (FLOAT32, FLOAT64):
        return "float" if type == FLOAT32 else "double"
    return word_c_type(word_type(type).dtype)


def word_c_type(dtype: np.dtype) -> str:
    """The type in C of integers, or truth values, of a type of numpy."""
    return f"{'' if dtype.kind == 'i' else 'u'}int{8 * dtype.itemsize}_t"


def host_array(name: str, role: str, type: str, kind: str, shape: tuple[int, ...]) -> HostArray:
    """An array of elements of the C type `kind`."""
    floating = {"float": "<f4", "double": "<f8"}
    dtype = floating.get(kind) or f"<{'u' if kind[0] == 'u' else 'i'}{int(kind.strip('uint_')) // 8}"
    return HostArray(name, role, type, kind, dtype, shape)


def host_arrays(program: Program) -> tuple[HostArray, ...]:
    """Inputs, then outputs."""
    def found(arrays: Iterable[Array], role: str) -> list[HostArray]:
        return [host_array(a.name, role, str(a.type), c_type(a.type), a.shape) for a in arrays]

    return (*found(program.inputs, "input"), *found(program.outputs, "output"))


def register_writes(registers: RegisterMap, writes: Sequence[tuple[int, int]]) -> tuple[RegisterWrite, ...]:
    """(byte offset, value) pairs; which of them are addresses, the registers know."""
    return tuple(RegisterWrite(offset, value, registers.by_offset[offset].is_address) for offset, value in writes)


def print_c_loops(order: isl.Map) -> list[str]:
    """Lines of C that go through the domain of `order`, {TUPLE[…] -> place}; one turn is ``TUPLE(…);``."""
    loops = isl.AstBuild.from_context(isl.Set("{ : }")).node_from_schedule_map(isl.UnionMap.from_map(order))
    printer = isl.Printer.to_str(isl.DEFAULT_CONTEXT).set_output_format(isl.format.C)
    return printer.print_ast_node(loops).get_str().splitlines()


def print_c_copies(macro: str, output: str, value: str, elements: isl.Map) -> list[str]:
    """Lines of C that set elements of `output` to `value` with the subscripts of another array behind it, by
    `elements`: {output -> other array}. `macro`: a name that is used for this only."""
    count, more = elements.dim(isl.dim_type.in_), elements.dim(isl.dim_type.out)
    names = [f"x{k}" for k in range(count + more)]
    written = "".join(f"[{name}]" for name in names[:count])
    read = value + "".join(f"[{name}]" for name in names[count:])
    both = elements.wrap().flatten().set_tuple_name(macro)
    order = both.identity().set_tuple_name(isl.dim_type.out, "")
    return [f"#define {macro}({', '.join(names)}) {output}{written} = {read}", *print_c_loops(order)]
