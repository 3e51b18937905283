"""Random instruction streams: what the hardware and the reference simulator are compared on.

A stream is state-aware: vector lengths, rows and steps are set so that operands mostly lie inside the scratchpad, and
addresses cluster, so that instructions and transfers depend on and overlap each other. A share of the instructions is
illegal or out of range on purpose.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import numpy as np

from hw.vector_lanes.isa import FLOAT, Control, Entry, Mode, Op, check
from hw.vector_lanes.machine import Span
from hw.vector_lanes.spec import VectorSpec

__all__ = ["StreamOptions", "random_entries", "random_floats", "random_memory"]

_CONDITIONAL = [op for op in Op if op.conditional]
_INDEXED = [op for op in Op if op.indexed]


@dataclass(frozen=True)
class StreamOptions:
    """What a random stream is made of.

    * `memory_base`, `memory_bytes`: main memory that transfers may touch.
    * `max_waves`: longest row of an instruction in wavefronts; `max_rows`: most rows and most matrices.
    * `wrong`: share of instructions that are illegal or out of range.
    * `transfers`, `masks`, `indexed`: whether there are transfers, masked instructions, gathers and scatters.
    * `fill`: bytes of the scratchpad that are filled from memory at the start.
    """

    memory_base: int = 0
    memory_bytes: int = 1 << 16
    max_waves: int = 4
    max_rows: int = 4
    wrong: float = 0.03
    transfers: bool = True
    masks: bool = True
    indexed: bool = True
    fill: int = 1 << 14


def random_memory(rng: np.random.Generator, count: int) -> np.ndarray[Any, Any]:
    """`count` bytes (uint8): random ones, with stretches of extreme values that make flags and overflows likely."""
    memory = rng.integers(0, 256, count, dtype=np.uint8)
    words = random_floats(rng, count // 16)
    words[len(words) // 2 :] = words[len(words) // 2 :] & 0xFFFF0000 | random_floats(rng, -(-len(words) // 2)) >> 16
    memory[count // 2 : count // 2 + count // 4 & -4] = words.view(np.uint8)
    extremes = np.array([0, 1, 0x7F, 0x80, 0xFF], np.uint8)
    for start in range(0, count, 64):
        if rng.random() < 0.5:
            part = memory[start:start + 64]
            part[:] = np.where(rng.random(len(part)) < 0.8, rng.choice(extremes, len(part)), part)
    return memory


def random_floats(rng: np.random.Generator, count: int) -> np.ndarray[Any, Any]:
    """Patterns of floating-point numbers (uint32): numbers of like sizes, whose sums cancel, the least and the greatest
    ones, zeros, infinities, and what is no number with any payload."""
    usual = np.ldexp(rng.integers(-(1 << 24), 1 << 24, count).astype(np.float32), rng.integers(-30, 4, count))
    words = usual.astype(np.float32).view(np.uint32)
    special = np.array([0, 0x80000000, 1, 0x80000001, 0x7FFFFF, 0x800000, 0x807FFFFF, 0x3F800000, 0xBF800000,
                        0x4B000000, 0x4EFFFFFF, 0x4F000000, 0xCF000000, 0x4F7FFFFF, 0x4F800000, 0x5F000000, 0x7F7FFFFF,
                        0xFF7FFFFF,
                        0x7F800000, 0xFF800000, 0x7FC00000, 0xFFC00123, 0x7F800001], np.uint32)
    kinds = rng.random(count)
    words = np.where(kinds < 0.25, rng.choice(special, count), words)
    any_word = rng.integers(0, 1 << 32, count, dtype=np.uint32)
    return np.where(kinds > 0.9, any_word, words).astype(np.uint32)


def random_entries(spec: VectorSpec, rng: np.random.Generator, count: int,
                   options: StreamOptions | None = None) -> list[Entry]:
    """At least `count` entries for a machine in its reset state; they end with whole instructions."""
    stream = _Stream(spec, rng, options or StreamOptions())
    entries = list(stream.fill())
    for group in islice(stream.groups(), 8 * count):
        if len(entries) >= count:
            break
        entries.extend(group)
    return entries


class _Stream:
    def __init__(self, spec: VectorSpec, rng: np.random.Generator, options: StreamOptions) -> None:
        self.spec, self.rng, self.options = spec, rng, options
        self.mask: tuple[int, int] | None = None

    def chance(self, share: float) -> bool:
        return bool(self.rng.random() < share)

    def number(self, low: int, high: int) -> int:
        """A number from `low` to `high` inclusive."""
        return int(self.rng.integers(low, high + 1))

    def pick(self, values: list[Any]) -> Any:
        return values[self.number(0, len(values) - 1)]

    def fill(self) -> Iterator[Entry]:
        """Data from memory, so that the first instructions have something to work on."""
        count = min(self.options.fill, self.spec.capacity, self.options.memory_bytes)
        if self.options.transfers and count:
            yield Entry.of(Control.DMA_TO_VECTOR, 0, self.options.memory_base, count, 0)

    def groups(self) -> Iterator[list[Entry]]:
        kinds: list[Callable[[], list[Entry]]] = [self.plain] * 10
        kinds += [self.transfer] * 2 if self.options.transfers else []
        kinds += [self.masked] * 3 if self.options.masks else []
        kinds += [self.indexed] if self.options.indexed else []
        while True:
            yield self.wrong() if self.chance(self.options.wrong) else self.pick(kinds)()

    # --- operands -----------------------------------------------------------------------------------------------------

    def place(self, span: Span) -> int | None:
        """A base address for `span`, often close to others; None if the scratchpad is too small for it."""
        low, high = -span.low, self.spec.capacity - span.high
        if low > high:
            return None
        if self.chance(0.7):
            high = min(high, low + 12 * self.spec.row_bytes)
        base = self.number(low, high)
        if self.chance(0.4):
            aligned = base & -self.pick([4, self.spec.row_bytes])
            base = aligned if aligned >= low else base
        return base

    def step(self, length: int, size: int) -> int:
        """Bytes from row to row: dense, any, zero or negative."""
        dense, width = length << size, self.spec.row_bytes
        return self.pick([dense, dense, -dense, self.number(-3 * width, 3 * width), self.number(0, 2 * dense), 0])

    def scalar(self) -> int:
        special = [0, 1, 2, 3, 7, 8, 15, 31, 32, 0x7F, 0x80, 0x7FFF, 0x8000, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF]
        return self.pick(special) if self.chance(0.6) else self.number(0, 0xFFFFFFFF)

    def length(self) -> int:
        waves = self.spec.wave_elements(0)
        return self.pick([self.number(1, waves), self.number(1, waves * self.options.max_waves), waves,
                          self.number(1, 2 * self.spec.wave_elements(2)), self.number(1, 4)])

    def mode(self, ops: list[Op], **fixed: Any) -> Mode:
        """A legal mode of one of `ops`."""
        while True:
            same = self.chance(0.5)
            size = self.number(0, 2)
            mode = Mode(self.pick(ops), self.chance(0.5), size, size if same else self.number(0, 2),
                        enumerated=self.chance(0.15), scalar=self.chance(0.25), accumulate=self.chance(0.15),
                        dimensions=self.pick([0, 0, 0, 1, 1, 2]), absolute=self.chance(0.15))
            mode = replace(mode, **fixed)
            if self.spec.floats and self.chance(0.4):
                mode = self._with_floats(mode)
            if not check(mode, self.spec.float32, self.spec.bfloat16, self.spec.fma):
                return mode

    def _with_floats(self, mode: Mode) -> Mode:
        """Perhaps a legal mode on floating-point numbers."""
        sizes = self.pick([(FLOAT, FLOAT), (FLOAT, FLOAT), (FLOAT, mode.out_size), (mode.in_size, FLOAT)])
        half = self.spec.bfloat16 and (not self.spec.float32 or self.chance(0.5))
        found = replace(mode, in_size=sizes[0], out_size=sizes[1], accumulate=False, absolute=half)
        if self.spec.fma and not mode.op.indexed and sizes == (FLOAT, FLOAT) and self.chance(0.4):
            return replace(found, op=Op.VMULFXP)
        return found

    # --- groups of entries --------------------------------------------------------------------------------------------

    def plain(self) -> list[Entry]:
        """Shape and one to three instructions of that shape."""
        ops = [op for op in Op if not op.indexed]
        mode = self.mode(ops)
        if mode.sets_mask:
            return self.set_mask()
        entries, spans = self.shape(mode)
        for _ in range(self.number(1, 3)):
            instruction = self.instruction(mode, spans)
            entries += [instruction] if instruction else []
        return entries

    def shape(self, mode: Mode) -> tuple[list[Entry], dict[str, Span]]:
        length, sizes = self.length(), {"d": mode.out_element, "a": mode.in_element, "b": mode.in_element}
        if mode.op is Op.VSCATTER:
            sizes["a"] = mode.out_size
        rows = self.number(1, self.options.max_rows) if mode.dimensions else 1
        mats = self.number(1, self.options.max_rows) if mode.dimensions == 2 else 1
        spans = {}
        for name, size in sizes.items():
            elements = 1 if (mode.accumulate and name == "d") or (mode.repeats_b and name == "b") else length
            step = self.step(elements, size) if mode.dimensions else 0
            spans[name] = Span(0, size, elements, rows, mats, step,
                               self.step(elements * rows, size) if mode.dimensions == 2 else 0)
        return [Entry.of(Control.SET_VL, length), *self._setup(mode, spans)], spans

    @staticmethod
    def _setup(mode: Mode, spans: dict[str, Span]) -> Iterator[Entry]:
        d, a, b = spans["d"], spans["a"], spans["b"]
        if mode.dimensions:
            yield Entry.of(Control.SET_2D_ROWS, d.rows, d.step)
            yield Entry.of(Control.SET_2D_SOURCES, a.step, b.step)
        if mode.dimensions == 2:
            yield Entry.of(Control.SET_3D_MATS, d.mats, d.step3)
            yield Entry.of(Control.SET_3D_SOURCES, a.step3, b.step3)

    def instruction(self, mode: Mode, spans: dict[str, Span]) -> Entry | None:
        """One instruction of a shape, or None if its operands do not fit the scratchpad."""
        bases = {name: self.place(span) for name, span in spans.items()}
        if mode.scalar:
            bases["a"] = self.scalar()
        d, a, b = bases["d"], bases["a"], bases["b"]
        if d is None or a is None or b is None:
            return None
        if self.chance(0.15) and mode.reads_a and not mode.dimensions:
            a = min(max(0, d + self.number(-8, 8)), self.spec.capacity - spans["a"].row_bytes)
        return Entry.vector(mode, d, a, b)

    def set_mask(self) -> list[Entry]:
        size, length = self.number(0, 2), self.length()
        length = min(length, self.spec.mask_elements(size))
        mode = Mode(self.pick(_CONDITIONAL), self.chance(0.5), size, size, absolute=True, scalar=self.chance(0.3))
        base = self.place(Span(0, size, length))
        if base is None:
            return []
        self.mask = (size, length)
        entries = [Entry.of(Control.SET_VL, length), Entry.vector(mode, self.scalar(), self.scalar(), base)]
        if self.chance(0.3):
            again = replace(mode, masked=True, op=self.pick(_CONDITIONAL))
            second = self.place(Span(0, size, length))
            entries += [] if second is None else [Entry.vector(again, 0, 0, second)]
        return entries

    def masked(self) -> list[Entry]:
        """A mask, sometimes the one that is there, and instructions under it."""
        entries = self.set_mask() if self.mask is None or self.chance(0.5) else []
        if self.mask is None:
            return entries
        size, length = self.mask
        for _ in range(self.number(1, 3)):
            mode = self.mode([op for op in Op if not op.indexed], masked=True, dimensions=0)
            if mode.exec_size != size or mode.sets_mask:
                continue
            spans = {"d": Span(0, mode.out_element, 1 if mode.accumulate else length),
                     "a": Span(0, mode.in_element, length),
                     "b": Span(0, mode.in_element, 1 if mode.repeats_b else length)}
            instruction = self.instruction(mode, spans)
            entries += [instruction] if instruction else []
        if entries and self.chance(0.3):
            entries.insert(0, Entry.of(Control.SET_VL, self.length()))
            if entries[-1].mode.sets_mask:
                self.mask = None
        return entries

    def indexed(self) -> list[Entry]:
        """Indices cut to a range that mostly fits, and a gather or scatter with them."""
        mode = self.mode(_INDEXED, absolute=False, enumerated=False)
        if mode.op is Op.VGATHER:
            mode = replace(mode, scalar=True)
        entries, spans = self.shape(mode)
        span = spans["b"]
        base = self.place(span)
        instruction = self.instruction(mode, spans)
        if base is None or instruction is None:
            return []
        limit = self.pick([7, 63, (1 << (min(self.spec.capacity >> 1, 1 << (7 << mode.in_size)) - 1).bit_length()) - 1])
        bound = Mode(Op.VAND, False, mode.in_size, mode.in_size, scalar=True, dimensions=mode.dimensions)
        cut = [Entry.of(Control.SET_2D_ROWS, span.rows, span.step), Entry.of(Control.SET_2D_SOURCES, 0, span.step)]
        cut += [Entry.of(Control.SET_3D_MATS, span.mats, span.step3), Entry.of(Control.SET_3D_SOURCES, 0, span.step3)]
        cut += [entries[0], Entry.vector(bound, base, limit & 0xFFFFFFFF, base)]
        table = self.place(Span(0, mode.out_size, 8)) or 0
        a = table if mode.op is Op.VGATHER else instruction.a
        return [*cut, *entries, replace(instruction, a=a, b=base)]

    def transfer(self) -> list[Entry]:
        """One 1-D or 2-D transfer at any alignment."""
        width, options = self.spec.row_bytes, self.options
        count = self.pick([self.number(1, 4 * width), self.number(1, width), self.number(1, 8), 2 * width])
        rows = self.number(2, 5) if self.chance(0.4) else self.number(0, 1)
        steps = [self.pick([count, self.number(count, 2 * count + width), -count - self.number(0, width)])
                 for _ in range(2)]
        local = self.place(Span(0, 0, count, max(rows, 1), step=steps[0] if rows > 1 else 0))
        span = Span(0, 0, count, max(rows, 1), step=steps[1] if rows > 1 else 0)
        low, high = -span.low, options.memory_bytes - span.high
        if local is None or low > high:
            return []
        control = self.pick([Control.DMA_TO_VECTOR, Control.DMA_TO_HOST])
        entry = Entry.of(control, local, options.memory_base + self.number(low, high), count, rows)
        return [Entry.of(Control.SET_DMA_INC, *steps), entry]

    def wrong(self) -> list[Entry]:
        """Something that must be dropped, or that does nothing."""
        far = self.pick([self.spec.capacity - 1, self.spec.capacity, self.spec.capacity + 5, 0xFFFFFFFF, 0x80000000])
        vl = Entry.of(Control.SET_VL, self.length() + 1)
        kinds: list[Callable[[], list[Entry]]] = [
            lambda: [Entry(False, self.illegal(), self.scalar(), self.scalar(), self.scalar())],
            lambda: [vl, Entry.vector(Mode(Op.VADD), far, 0, 0)],
            lambda: [vl, Entry.vector(Mode(Op.VADD), 0, far, 0)],
            lambda: [vl, Entry.vector(Mode(Op.VADD, scalar=True), 0, far, far)],
            lambda: [Entry.of(Control.SET_VL, 0), Entry.vector(Mode(Op.VADD), far, far, far)],
            lambda: [Entry.of(Control.SET_VL, 0xFFFFFFFF), Entry.vector(Mode(Op.VMOV), 0, 0, 0)],
            lambda: [vl, Entry.of(Control.SET_2D_ROWS, 2, -1), Entry.vector(Mode(Op.VMOV, dimensions=1), 0, 0)],
            lambda: [Entry(True, self.number(8, 63), 1, 2, 3, 4)],
        ]
        if self.options.transfers:
            kinds += [lambda: [Entry.of(Control.DMA_TO_VECTOR, far, self.options.memory_base, 4, 0)],
                      lambda: [Entry.of(Control.DMA_TO_HOST, far, self.options.memory_base, 4, 1)],
                      lambda: [Entry.of(Control.DMA_TO_HOST, far, far, 0, 9)]]
        return self.pick(kinds)()

    def illegal(self) -> int:
        """A mode word that violates at least one rule by itself."""
        while True:
            word = self.number(0, (1 << 17) - 1)
            if check(word, self.spec.float32, self.spec.bfloat16, self.spec.fma):
                return word
