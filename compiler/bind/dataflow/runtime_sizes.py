"""One kernel for many sizes: bounds are values in registers that the host writes before a run (Bok 2018, section 2.2).

    sized = compile_sizes(lambda N: load_c("apps/dataflow/matmul.c", N=N), {"N": (2, 12)})
    run = sized.at(N=7).simulate(inputs)         # the same Verilog for every N
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from compiler.bind.dataflow.design import DataflowDesign
from compiler.bind.dataflow.errors import DataflowError
from compiler.bind.dataflow.options import Options
from compiler.bind.dataflow.plan import Plan, make_plan
from compiler.ir.expr import memories_used
from compiler.ir.program import Program
from compiler.ir.verify import verify
from compiler.passes.directives import apply_script
from compiler.passes.normalize.dead_statements import remove_dead_statements
from compiler.sched.process_network.parametric_program import Ranges, SizePoint, family, size_points
from compiler.sched.process_network.transfers import stage_transfers

__all__ = ["SizedDesign", "compile_sizes"]


@dataclass(frozen=True)
class SizedDesign:
    """A kernel for all sizes in `ranges`, and the programs that it computes."""

    ranges: Ranges
    programs: dict[SizePoint, Program]
    options: Options
    plan: Plan
    seconds: float

    def at(self, **sizes: int) -> DataflowDesign:
        """The design for these sizes; its hardware is the same for all of them. Raises `DataflowError` for sizes that
        the kernel is not made for."""
        if set(sizes) != set(self.ranges):
            raise DataflowError(f"sizes are {', '.join(self.ranges)}, not {', '.join(sizes) or 'none'}")
        for name, (low, high) in self.ranges.items():
            if not low <= sizes[name] <= high:
                raise DataflowError(f"size {name} is {sizes[name]}, not in {low}..{high} that the kernel is made for")
        point = tuple(sizes[name] for name in self.ranges)
        return DataflowDesign(self.programs[point], self.options, self.plan, self.seconds, point)


def compile_sizes(build: Callable[..., Program], ranges: Ranges, options: Options | None = None) -> SizedDesign:
    """A kernel for the programs that `build` gives for all sizes in `ranges`, passed by name.

    Raises `NetworkError` if these programs differ in more than sizes or are more than 256, and what compiling one of
    them raises.
    """
    start = time.perf_counter()
    if options is not None and options.reassociate:
        raise DataflowError("option reassociate: kernels for many sizes keep the order of sums; compile one kernel for "
                            "each size, or leave the option out")
    programs = {point: build(**dict(zip(ranges, point, strict=True))) for point in size_points(ranges)}
    for program in programs.values():
        verify(program)
        _check_affine(program)
    options = options or Options()
    common = family(ranges, lambda point: stage_transfers(
        remove_dead_statements(apply_script(programs[point], options.transform))))
    plan = make_plan(common, options, len(ranges))
    return SizedDesign(ranges, programs, options, plan, time.perf_counter() - start)


def _check_affine(program: Program) -> None:
    """Raise `DataflowError` for accesses at places that depend on data, whose order is that of one size."""
    for statement in program.statements:
        for memory in sorted(memories_used(statement.value)):
            raise DataflowError(f"{statement.label()} accesses '{program.memory(memory).label}' at places that depend "
                                "on data, which kernels for many sizes do not; compile one kernel for each size")
