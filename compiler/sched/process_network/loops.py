"""The fused schedule of a network as the loops it stands for (Bok 2018, algorithm 6.1 and figure 6.1)."""

from __future__ import annotations

import islpy as isl

from compiler.sched.process_network.network import ProcessNetwork

__all__ = ["print_loops"]


def print_loops(network: ProcessNetwork) -> str:
    """C loops in which every node is a call, in the order of the schedule; nodes of one time in firing order."""
    union = isl.UnionMap.empty(network.program.order.get_space())
    for node in network.nodes:
        count = node.schedule.dim(isl.dim_type.out)
        ranked = node.schedule.add_dims(isl.dim_type.out, 1).fix_val(isl.dim_type.out, count, isl.Val(node.number))
        union = union.union(isl.UnionMap.from_map(ranked))
    loops = isl.AstBuild.from_context(isl.Set("{ : }")).node_from_schedule_map(union)
    printer = isl.Printer.to_str(isl.DEFAULT_CONTEXT).set_output_format(isl.format.C)
    return printer.print_ast_node(loops).get_str()
