"""The host's side in C: one blocking function that packs the arrays, runs the kernel and unpacks the results.

Loops over the streams' words come from isl's code generator for the schedule of the stream's node, so the order is that
of the hardware, whatever it is (seed 003, section 7.1: reordering on the host).
"""

from __future__ import annotations

import re

import islpy as isl

from compiler.bind.dataflow.running import Executable, StreamPlace
from compiler.ir.evaluate import integer
from compiler.ir.program import Array

__all__ = ["host_header", "host_source"]


def host_header(executable: Executable) -> str:
    """The registers, and the prototype of the function."""
    registers = executable.registers.c_header()
    return f"{registers}\n#include <stdint.h>\n\n{_prototype(executable)};\n"


def _prototype(executable: Executable) -> str:
    """``memory``: the kernel's main memory, at its address 0; ``registers``: its control registers. Returns 0 or the
    code of the error."""
    arrays = [f"const {_declared(a)}" for a in executable.program.inputs]
    arrays += [_declared(a) for a in executable.program.outputs]
    name = identifier(executable.program.name)
    return f"int {name}_run(volatile uint8_t *memory, volatile uint32_t *registers, {', '.join(arrays)})"


def identifier(text: str) -> str:
    """`text` with underscores for everything that a C identifier cannot have."""
    name = re.sub(r"[^A-Za-z0-9_]", "_", text)
    return name if name[:1].isalpha() or name[:1] == "_" else f"_{name}"


def _declared(array: Array) -> str:
    extents = "".join(f"[{extent}]" for extent in array.shape)
    return f"{_c_type(array)} {array.name}{extents}"


def _c_type(array: Array) -> str:
    type = integer(array.type)
    return f"{'' if type.signed else 'u'}int{8 * type.dtype.itemsize}_t"


def host_source(executable: Executable) -> str:
    """The function."""
    ins, outs = executable.places
    address = executable.registers.address
    lines = ['#include "dataflow.h"', "", "#define min(a, b) ((a) < (b) ? (a) : (b))",
             "#define max(a, b) ((a) > (b) ? (a) : (b))",
             "#define floord(n, d) (((n) < 0) ? -((-(n) + (d) - 1) / (d)) : (n) / (d))", "",
             _prototype(executable), "{"]
    for place in ins:
        lines += _copy(executable, place, pack=True)
    lines += [f"  registers[0x{register:x} / 4] = 0x{value:x};" for register, value in executable.writes()]
    lines += [f"  while (!(registers[0x{address('STATUS'):x} / 4] & DATAFLOW_STATUS_DONE_MASK))", "    ;",
              f"  uint32_t status = registers[0x{address('STATUS'):x} / 4];",
              "  if (status & DATAFLOW_STATUS_ERROR_MASK)",
              "    return (status & DATAFLOW_STATUS_ERROR_MASK) >> DATAFLOW_STATUS_ERROR_SHIFT;"]
    for place in outs:
        lines += _copy(executable, place, pack=False)
    return "\n".join([*lines, "  return 0;", "}", ""])


def _copy(executable: Executable, place: StreamPlace, *, pack: bool) -> list[str]:
    """The loops that move one stream's words in their order; ``ELEMENT`` is one word's turn."""
    network = executable.plan.network
    node = network.node(place.node)
    statement = network.statement(node)
    access = statement.reads[0] if pack else statement.write
    element = access.map.intersect_domain(statement.domain).set_tuple_name(isl.dim_type.out, "ELEMENT")
    schedule = element.reverse().apply_range(node.schedule)
    loops = isl.AstBuild.from_context(isl.Set("{ : }")).node_from_schedule_map(isl.UnionMap.from_map(schedule))
    printer = isl.Printer.to_str(isl.DEFAULT_CONTEXT).set_output_format(isl.format.C)
    text = printer.print_ast_node(loops).get_str().replace("ELEMENT(", f"{place.node}_WORD(")
    names = ", ".join(f"x{k}" for k in range(len(place.array.shape)))
    subscripts = "".join(f"[x{k}]" for k in range(len(place.array.shape)))
    user = f"{place.array.name}{subscripts}"
    move = f"*word++ = {user}" if pack else f"{user} = *word++"
    return [f"#define {place.node}_WORD({names}) {move}", "  {",
            f"    volatile {_c_type(place.array)} *word = (volatile void *)(memory + {place.address});",
            *(f"    {line}" for line in text.splitlines()), "  }"]
