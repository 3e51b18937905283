"""Translation validation of a finished configuration of the array, on every compile and from outside.

The input is what the hardware gets: configuration words and the run plan. They are decoded back, and proven to
compute the program for all statement instances and all cycles, without sampling: by isl emptiness tests, or, where a
memory runs real loop nests, by going through every instance in numbers. Nothing is shared with scheduling, memory
planning, covering, placement, routing or retiming. Claims of the compiler (which output carries a statement's values,
and when) only say what to prove: by induction on time every claim is reduced to claims about earlier cycles and, in
the end, to words that banks send.

1. Every word that enters a statement's arithmetic is the value that the read means in the original program (values
   are recomputed there, by the last write in its order). From the unit's input the configured multiplexers are
   followed back, counting registers and delays, to an output. If it is a producer's, its cycle must be the one of
   the right instance, for all instances; if a bank's, the access of that cycle must have the right element, by way of
   half and DMA descriptor; if a memory's, last-write analysis of its decoded controllers leads to the cycle in which
   the word was at its input, and on from there. A value that is overwritten too soon shows as a wrong value.
2. No two controllers of a memory use one SRAM port in a cycle; time advances in every controller; accesses of one tile
   to a bank end before those of the next begin, and stay in what the DMA engine moves, which fits half a bank. Units
   have sites of their own; every input has one driver (its multiplexer).
3. The configured processing elements compute the statement's expression: compared on corner and random operands. This
   is the only part that is checked by examples. Tables are compared entry by entry.
4. Every element that the program writes to an output is captured, once per tile, in time and from the statement that
   writes it last, and goes to its place in memory; nothing else is written.

Where a program has many tiles that are proven to do the same, the first few stand for all (`tile_window`).

Timing is that of the hardware's docstrings: a word is at a core input h + 1 + d cycles after it is visible at its
driver (h switch-box registers, delay d), results are visible a cycle after their operands arrive, memories are as in
`hw.memtile`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from compiler.bind.cgra.mapping import Application
from compiler.bind.cgra.place_and_route import Physical
from compiler.bind.cgra.validate.claims import Claims
from compiler.bind.cgra.validate.proof import Proof, ValidationReport
from compiler.bind.cgra.validate.tile_window import find_window
from compiler.ir.program import Program
from compiler.sched.verify import ValidationError, bounded_effort
from hw.errors import SluiceError
from hw.fabric.config import decode_array
from hw.fabric.driver import RunPlan
from hw.fabric.spec import FabricSpec

__all__ = ["ValidationError", "ValidationReport", "validate"]


def validate(program: Program, application: Application, physical: Physical, words: Iterable[tuple[int, int]],
             plan: RunPlan, addresses: Mapping[str, int], spec: FabricSpec) -> ValidationReport:
    """Prove that an array of `spec`, configured by `words` (address, data) and run by `plan`, computes `program`.

    `addresses`: byte address of every input and output array in main memory. Raises `ValidationError` with a witness.
    """
    try:
        config = decode_array(words, spec)
    except SluiceError as error:
        raise ValidationError(f"the configuration words cannot be decoded: {error}") from error
    with bounded_effort(len(program.statements)):
        window = find_window(program, Claims(program, application, physical, spec, plan.period), config, plan, spec)
        if window is None:
            return Proof.of(program, application, physical, config, plan, addresses, spec).run()
        proof = Proof.of(window.program, application, physical, window.config, window.plan, addresses, spec)
        return replace(proof.run(), tiles=window.plan.tiles)
