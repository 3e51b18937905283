"""Forms of a program whose loops carry values from turn to turn, with these as loops of the vector program: which is
the fastest.

Arrays stay on the chip or in main memory; the instances of a turn that come before and behind what it changes are
computed as wholes, in parts, or one by one; and loops may be in another order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import inf

from compiler.bind.vector.cost import cold_cycles
from compiler.bind.vector.design import VectorDesign
from compiler.bind.vector.errors import VectorTargetError
from compiler.bind.vector.from_program import check_numbers
from compiler.bind.vector.ir import Statement, VectorProgram
from compiler.bind.vector.memory_pieces import PieceCompiler, declared_arrays, memory_arrays
from compiler.bind.vector.options import Options
from compiler.bind.vector.sequential_loops import SequentialCode
from compiler.bind.vector.verify import verify_program
from compiler.frontend.parallel_array.location import ArrayError
from compiler.ir.program import Program
from hw.drivers.interface import c_identifier
from hw.errors import SluiceError

__all__ = ["LoopForms"]

COMPARED = 40
"""Phases of a program of loops of which arrays on chip and all arrays in memory are compared. Of larger programs those
on chip are taken: what one turn writes the next one reads, and seldom is memory some percent faster."""

MORE_PIECES = 2
"""Times as many pieces of which the same is made without parts: what takes more of them seldom takes less time."""


@dataclass(frozen=True)
class _Form:
    """A design, compiled from `pieces`, and how: with arrays on chip, or all in memory, in parts or not."""

    design: VectorDesign
    pieces: PieceCompiler
    on_chip: bool
    in_parts: bool

    @property
    def is_enough(self) -> bool:
        """Whether all arrays in memory need not be tried: all fit on the chip, or it would take long."""
        resident = self.pieces.resident
        return resident is not None and (not resident.elsewhere or len(self.pieces.choices) > COMPARED)


@dataclass
class LoopForms:
    """The search for the fastest form. All forms together may have `left` more pieces; `reasons` say why some are
    none."""

    options: Options
    left: float = inf
    reasons: list[SluiceError] = field(default_factory=list)

    def best(self, orders: Sequence[Program]) -> VectorDesign | None:
        """The fastest design of a program in several orders of its loops, None if it has no form. What is best for the
        first order is best for the others, too: their arrays have the same sizes, and each design takes its time.
        Raises `VectorTargetError` for numbers that the lanes do not have."""
        places, parts = (True, False), (True, False)
        best: _Form | None = None
        for order in orders:
            check_numbers(order, self.options.spec())
            for on_chip in places:
                found = list(self._forms(order, on_chip, parts))
                best = min((*found, *((best,) if best else ())), key=lambda form: form.design.cycles, default=None)
                if any(form.is_enough for form in found):
                    break
            if best:
                places, parts = (best.on_chip,), (best.in_parts,)
        return best.design if best else None

    def _forms(self, program: Program, on_chip: bool, parts: Sequence[bool]) -> Iterator[_Form]:
        """In parts, and, if there are any, not in parts, in not many more pieces. None if no array fits on the chip."""
        most = self.left
        for in_parts in parts:
            if self.left <= 0:
                return
            pieces = PieceCompiler(program, self.options)
            if on_chip and not pieces.keep_on_chip():
                return
            code = SequentialCode(pieces, in_parts, min(most, self.left))
            try:
                yield _Form(_design_of(pieces, code.body()), pieces, on_chip, in_parts)
            except (VectorTargetError, ArrayError) as error:
                self.reasons.append(error)
            self.left -= len(pieces.choices)
            if not code.has_parts:
                return
            most = MORE_PIECES * len(pieces.choices)


def _design_of(pieces: PieceCompiler, body: tuple[Statement, ...]) -> VectorDesign:
    program, options, spec = pieces.program, pieces.options, pieces.options.spec()
    arrays = memory_arrays(pieces)
    body = pieces.resident.around(arrays, body) if pieces.resident else body
    code = VectorProgram(c_identifier(program.name), spec.capacity, arrays, body)
    verify_program(code)
    return VectorDesign(program, declared_arrays(program), options, spec, code, tuple(pieces.choices),
                        dict(pieces.pool.constants), round(cold_cycles(body, spec)), 0.0)
