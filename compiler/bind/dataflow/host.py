"""The host's side in C: one blocking function that packs the arrays, runs the kernel and unpacks the results.

Loops over the streams' words come from isl's code generator for the schedule of the stream's node, so the order is that
of the hardware, whatever it is (Bok 2018, section 7.1: reordering on the host).
"""

from __future__ import annotations

from collections.abc import Callable

import islpy as isl

from compiler.bind.c_host import c_type, run_lines, run_prototype
from compiler.bind.dataflow.running import Executable, StreamExecutable, StreamPlace

__all__ = ["host_header", "host_source", "stream_host_source"]


Schedule = Callable[[StreamPlace, bool], isl.Map]
"""{ELEMENT[subscripts, anything] -> place in the order} of a stream; the second argument: whether it is an input."""


def host_header(executable: StreamExecutable) -> str:
    """The registers, and the prototype of the function."""
    registers = executable.registers.c_header()
    return f"{registers}\n#include <stdint.h>\n\n{run_prototype(executable.program)};\n"


def host_source(executable: Executable) -> str:
    """The function."""
    return stream_host_source(executable, lambda place, pack: _schedule(executable, place, pack=pack))


def stream_host_source(executable: StreamExecutable, schedule: Schedule) -> str:
    """The function for any hardware with streams."""
    ins, outs = executable.places
    lines = ['#include "dataflow.h"', "", "#define min(a, b) ((a) < (b) ? (a) : (b))",
             "#define max(a, b) ((a) > (b) ? (a) : (b))",
             "#define floord(n, d) (((n) < 0) ? -((-(n) + (d) - 1) / (d)) : (n) / (d))", "",
             run_prototype(executable.program), "{"]
    for place in ins:
        lines += _copy(place, schedule(place, True), pack=True)
    lines += run_lines(executable.registers, executable.writes())
    for place in outs:
        lines += _copy(place, schedule(place, False), pack=False)
    return "\n".join([*lines, "  return 0;", "}", ""])


def _schedule(executable: Executable, place: StreamPlace, *, pack: bool) -> isl.Map:
    """The order of a node's stream."""
    network = executable.plan.network
    node = network.node(place.node)
    statement = network.statement(node)
    access = statement.reads[0] if pack else statement.write
    domain = statement.domain
    for dim, value in enumerate(executable.sizes):
        domain = domain.fix_val(isl.dim_type.set, dim, isl.Val(value))
    element = access.map.intersect_domain(domain).project_out(isl.dim_type.out, 0, network.sizes)
    return element.set_tuple_name(isl.dim_type.out, "ELEMENT").reverse().apply_range(node.schedule)


def _copy(place: StreamPlace, schedule: isl.Map, *, pack: bool) -> list[str]:
    """The loops that move one stream's words in their order; ``ELEMENT`` is one word's turn."""
    loops = isl.AstBuild.from_context(isl.Set("{ : }")).node_from_schedule_map(isl.UnionMap.from_map(schedule))
    printer = isl.Printer.to_str(isl.DEFAULT_CONTEXT).set_output_format(isl.format.C)
    text = printer.print_ast_node(loops).get_str().replace("ELEMENT(", f"{place.node}_WORD(")
    names = ", ".join(f"x{k}" for k in range(schedule.dim(isl.dim_type.in_)))
    subscripts = "".join(f"[x{k}]" for k in range(len(place.array.shape)))
    user = f"{place.array.name}{subscripts}"
    move = f"*word++ = {user}" if pack else f"{user} = *word++"
    return [f"#define {place.node}_WORD({names}) {move}", "  {",
            f"    volatile {c_type(place.array)} *word = (volatile void *)(memory + {place.address});",
            *(f"    {line}" for line in text.splitlines()), "  }"]
