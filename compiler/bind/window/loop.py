"""One loop on a window machine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

import numpy as np

from compiler.bind.window.errors import WindowError
from compiler.bind.window.lower import lower_dfg
from compiler.frontend.sac.dfg import Dfg, LoopFate
from compiler.frontend.sac.dfg.interface import Interface, words_of
from hw.sim.local_run import LocalJob, run_local
from hw.verilog import convert
from hw.window import Accumulators, ArgumentWord, WindowMachine, Windows, WindowSpec
from hw.window.spec import Operand

__all__ = ["TOP", "WindowLoop", "WindowRun", "Words", "compile_loop"]

TOP = "window_machine"
_SPARE_CYCLES = 10_000
_SLOWEST = 64
_WORD_BYTES = 4


@dataclass(frozen=True)
class Words:
    """Words that a loop reads from memory, but for its arguments, and writes there."""

    reads: int
    writes: int


@dataclass(frozen=True)
class WindowRun:
    """One run in RTL: results; cycles from start to done; iterations; words that were read and written. The argument
    words, which are among those that are read, are `arguments`; the others should be as `traffic` says. `least_cycles`:
    the fewest that a machine of this kind takes. `bytes_down`: of the arrays that the host writes before; `bytes_up`:
    of the results that it reads."""

    outputs: list[np.ndarray]
    cycles: int
    iterations: int
    reads: int
    writes: int
    arguments: int
    traffic: Words
    least_cycles: int
    bytes_down: int
    bytes_up: int


@dataclass(frozen=True)
class WindowLoop:
    """A loop, its graph, and the machine that runs it. `arrays`: the operands that are arrays, with the extents that
    are known."""

    name: str
    dfg: Dfg
    interface: Interface
    spec: WindowSpec
    arrays: tuple[tuple[int, tuple[int | None, ...]], ...]

    @cached_property
    def verilog(self) -> str:
        """The machine as module `TOP`."""
        return convert(WindowMachine(self.spec), TOP)

    def run(self, operands: Sequence[np.ndarray], extents: Sequence[int], simulator: str = "verilator",
            **settings: Any) -> WindowRun:
        """Run it in RTL for operands of the loop and its extents, as the host does: arrays and argument words into
        memory, start, results out of it. `settings` are those of `hw.sim.local_run.LocalJob`. Raises `WindowError` for
        arrays that are too large, and what `run_local` raises."""
        memory, targets = self.interface.prepare(operands, extents, None if self.spec.memories == 1 else 0)
        memories = [memory, [0] * max(1, sum(words for _, words, *_ in targets))][:self.spec.memories]
        self._check(memories, [*extents, *(extent for number, _ in self.interface.arrays
                                           for extent in operands[number].shape)])
        expected = self.least_cycles(operands, extents)
        job = LocalJob({f"{TOP}.v": self.verilog}, TOP, memories, self.spec.address_bits, expected_cycles=expected,
                       simulator=simulator, cycle_limit=_SPARE_CYCLES + _SLOWEST * expected, **settings)
        found = run_local(job)
        outputs = self.interface.collect(found.memories[-1], targets)
        return WindowRun(outputs, found.cycles, found.iterations, sum(found.reads), sum(found.writes),
                         len(self.spec.arguments), self.traffic(operands, extents), expected,
                         _WORD_BYTES * sum(words_of(operands[number].shape, scalar.width)
                                           for number, scalar in self.interface.arrays),
                         _WORD_BYTES * sum(words for _, words, *_ in targets))

    def traffic(self, operands: Sequence[np.ndarray], extents: Sequence[int]) -> Words:
        """The words of a run: all words of the rows that windows stand on, for each sweep along the last dimension; all
        words of the results."""
        addresses: dict[Operand, int] = {ArgumentWord(place): number for place, number in self._array_arguments()}
        windows = [node for node in self.spec.nodes if isinstance(node, Windows)]
        reads = sum(_read_words(node, operands[addresses[node.address]].shape, extents) for node in windows)
        shapes = [(result.shape(extents, operands), result.scalar.width) for result in self.interface.results]
        tables = sum(table.words for table in self.spec.tables)
        return Words(tables + (reads if prod(extents) else 0), sum(words_of(shape, width) for shape, width in shapes))

    def least_cycles(self, operands: Sequence[np.ndarray], extents: Sequence[int]) -> int:
        """The fewest cycles of a machine of this kind: words of tables, before the first iteration; iterations, or
        accesses to the busier memory; then what goes on behind the last iteration, a cycle for each place of an
        accumulator, or the words of all of them."""
        words = self.traffic(operands, extents)
        kept = [node for node in self.spec.nodes if isinstance(node, Accumulators)]
        late = sum(words_of(node.extents, node.width) for node in kept)
        early = sum(table.words for table in self.spec.tables)
        reads, writes = words.reads - early, words.writes - late
        parts = [reads + writes] if self.spec.memories == 1 else [reads, writes]
        return early + max(prod(extents), *parts) + max([late, *(prod(node.extents) for node in kept)])

    def _array_arguments(self) -> Iterator[tuple[int, int]]:
        """Argument word of the address of each array, and the operand that it is."""
        place = 0
        for number, extents in self.arrays:
            yield place, number
            place += 1 + len(extents)

    def _check(self, memories: Sequence[Sequence[int]], extents: Sequence[int]) -> None:
        most = 1 << self.spec.address_bits
        for words in map(len, memories):
            if words > most:
                raise WindowError(f"loop {self.name} takes {words} words of a memory of {most}; the pragma block cuts "
                                  "its arrays into parts")
        if max(extents, default=0) >= 1 << self.spec.count_bits:
            raise WindowError(f"loop {self.name} has an extent of {max(extents)}, and the machine counts to "
                              f"{(1 << self.spec.count_bits) - 1}; the pragma block cuts arrays into parts")


def compile_loop(fate: LoopFate, memories: int = 1) -> WindowLoop:
    """The machine of a loop that is a dataflow graph, with one memory or a second one for results. Raises
    `WindowError`."""
    assert fate.dfg is not None and fate.interface is not None
    extents = [type_.extents for type_ in fate.loop.graphs[0].inputs]
    arrays = tuple((number, extents[number]) for number, _ in fate.interface.arrays)
    return WindowLoop(fate.dfg.name, fate.dfg, fate.interface, lower_dfg(fate.dfg, extents, memories), arrays)


def _read_words(node: Windows, shape: Sequence[int], extents: Sequence[int]) -> int:
    """Words that a generator reads."""
    running = [step > 0 for step in node.steps]
    sweeps = prod(extents[:sum(running[:-1])])
    return sweeps * node.rows * words_of(shape[-1:], node.width)
