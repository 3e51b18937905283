"""What a host needs to know of designs with streams: how the arrays are packed into them and taken out again.

Loops over the streams' words come from isl's code generator for the schedule of the stream's node, so the order is that
of the hardware, whatever it is (Bok 2018, section 7.1: reordering on the host).
"""

from __future__ import annotations

from collections.abc import Callable

import islpy as isl

from compiler.bind.dataflow.running import Executable, StreamExecutable, StreamPlace
from compiler.bind.host_interface import c_type, host_arrays, print_c_loops, register_writes
from hw.drivers.interface import Area, HostInterface, c_identifier

__all__ = ["kernel_interface", "stream_interface"]


Schedule = Callable[[StreamPlace, bool], isl.Map]
"""{ELEMENT[subscripts, anything] -> place in the order} of a stream; the second argument: whether it is an input."""

_DEFINITIONS = (
    "#define min(a, b) ((a) < (b) ? (a) : (b))", "#define max(a, b) ((a) > (b) ? (a) : (b))",
    "#define floord(n, d) (((n) < 0) ? -((-(n) + (d) - 1) / (d)) : (n) / (d))")


def kernel_interface(executable: Executable) -> HostInterface:
    """That of a kernel."""
    return stream_interface(executable, lambda place, pack: _schedule(executable, place, pack=pack))


def stream_interface(executable: StreamExecutable, schedule: Schedule) -> HostInterface:
    """That of any hardware with streams."""
    areas = [_area(place, schedule(place, pack), pack=pack)
             for pack, side in zip((True, False), executable.places, strict=True) for place in side]
    return HostInterface(
        c_identifier(executable.program.name), executable.registers, host_arrays(executable.program), tuple(areas),
        register_writes(executable.registers, executable.writes()), executable.memory_bytes, definitions=_DEFINITIONS)


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


def _area(place: StreamPlace, order: isl.Map, *, pack: bool) -> Area:
    word = c_type(place.array.type)
    return Area(place.node, place.array.name, place.address, place.bytes, layout="stream", word=word,
                copy=lambda: _copy(place, order, pack=pack), order=str(order))


def _copy(place: StreamPlace, order: isl.Map, *, pack: bool) -> list[str]:
    """The loops that move one stream's words in their order."""
    macro = f"{place.node}_WORD"
    names = ", ".join(f"x{k}" for k in range(order.dim(isl.dim_type.in_)))
    subscripts = "".join(f"[x{k}]" for k in range(len(place.array.shape)))
    element = f"{place.array.name}{subscripts}"
    move = f"*word++ = {element}" if pack else f"{element} = *word++"
    return [f"#define {macro}({names}) {move}",
            f"volatile {c_type(place.array.type)} *word = (volatile void *)memory;",
            *print_c_loops(order.set_tuple_name(isl.dim_type.in_, macro))]
