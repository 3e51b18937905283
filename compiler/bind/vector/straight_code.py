"""Code without loops as work on the scratchpad: every instruction with its shape, no settings between them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from compiler.bind.vector.access_ranges import Span, Touched, span, touched
from compiler.bind.vector.ir import Instruction, Setting, Statement, Transfer
from compiler.bind.vector.shapes import Settings
from hw.vector_lanes.isa import FLOAT, Mode, Op

__all__ = ["Move", "Rows", "Work", "copy_of", "is_copy", "stated", "worked"]

_KINDS = ("rows", "matrices")


@dataclass(frozen=True)
class Rows:
    """`count` rows of `size` bytes, `step` bytes from each other, from `base` on."""

    base: int
    size: int
    count: int = 1
    step: int = 0

    @classmethod
    def of(cls, base: int, size: int, count: int, step: int) -> Rows:
        """The same as one row where nothing lies between them."""
        return cls(base, size * count) if count == 1 or step == size else cls(base, size, count, step)

    @property
    def joined(self) -> Rows:
        """The same as one row, if nothing lies between them."""
        return Rows.of(self.base, self.size, self.count, self.step)

    @property
    def span(self) -> Span:
        """The bytes from the first to the last one."""
        return span(self.base, self.size, [(self.count, self.step)])

    def holds(self, base: int, size: int, steps: Sequence[tuple[int, int]]) -> bool:
        """Whether rows of `size` bytes, repeated as `steps` say, are parts of these."""
        low, high = span(base, size, steps)
        if low < self.span[0] or high > self.span[1]:
            return False
        if self.count == 1:
            return True
        inside = all(step % self.step == 0 for count, step in steps if count > 1)
        return inside and (base - self.base) % self.step + size <= self.size


@dataclass(frozen=True)
class Work:
    """A vector instruction, and the length, rows and matrices that it takes."""

    code: Instruction
    length: int
    shape: tuple[tuple[int, ...], ...] = ()

    @property
    def mode(self) -> Mode:
        """Its mode."""
        return self.code.mode

    def touched(self) -> Touched:
        """The bytes that it reads and writes."""
        return touched(self.code, {"length": (self.length,), **dict(zip(_KINDS, self.shape, strict=False))})

    def steps(self, operand: str) -> list[tuple[int, int]]:
        """How often and by how many bytes the rows of an operand repeat: "D", "A" or "B"."""
        place = "_DAB".index(operand)
        return [(values[0], values[place]) for values in self.shape]

    def row_bytes(self, operand: str) -> int:
        """Bytes of a row of an operand."""
        mode = self.mode
        if operand == "D":
            return (1 if mode.accumulate else self.length) << mode.out_element
        return (1 if operand == "B" and mode.repeats_b else self.length) << mode.in_element

    def base(self, operand: str) -> int:
        """The first address of an operand."""
        value = {"D": self.code.d, "A": self.code.a, "B": self.code.b}[operand]
        assert isinstance(value, int)
        return value

    def place(self, operand: str) -> tuple[int, int, list[tuple[int, int]]]:
        """Where an operand lies, and its rows."""
        return self.base(operand), self.row_bytes(operand), self.steps(operand)

    def moved(self, operand: str, by: int) -> Work:
        """The same with an operand so many bytes farther."""
        return replace(self, code=replace(self.code, **{operand.lower(): self.base(operand) + by}))

    @property
    def operands(self) -> list[str]:
        """The vectors that it reads at known places."""
        mode = self.mode
        return [name for name, reads in (("A", mode.reads_a and mode.op is not Op.VSCATTER), ("B", mode.reads_b)) if
                reads]

    @property
    def keeps(self) -> bool:
        """Whether its results depend on what was there."""
        mode = self.mode
        return mode.reads_d or mode.op.conditional or mode.op.indexed or mode.masked

    @property
    def is_plain(self) -> bool:
        """Whether it does nothing but to write its target, from operands at known places."""
        return not (self.mode.op.indexed or self.mode.masked or self.mode.sets_mask)

    def target(self) -> Rows | None:
        """The bytes that it writes, if they are rows with one step; all of them are written."""
        if len(self.shape) > 1:
            return None
        ((count, step),) = self.steps("D") or [(1, 0)]
        return Rows.of(self.base("D"), self.row_bytes("D"), count, step)


@dataclass(frozen=True)
class Move:
    """A transfer, and the steps of scratchpad and memory that it takes."""

    code: Transfer
    steps: tuple[int, int] = (0, 0)

    def local(self) -> Rows:
        """Its bytes in the scratchpad."""
        return self._rows(self.code.scratchpad, self.steps[0])

    def memory(self) -> Rows:
        """Its bytes of the array."""
        return self._rows(self.code.offset, self.steps[1])

    def _rows(self, base: object, step: int) -> Rows:
        size, rows = self.code.bytes, self.code.rows
        assert isinstance(base, int) and isinstance(size, int) and isinstance(rows, int)
        return Rows(base, size, rows, step)


def worked(body: Iterable[Statement]) -> list[Work | Move]:
    """Statements without loops and counters as work; notes are left out."""
    given: dict[str, tuple[int, ...]] = {}
    found: list[Work | Move] = []
    for statement in body:
        match statement:
            case Setting(kind, values):
                given[kind] = tuple(v for v in values if isinstance(v, int))
            case Instruction(mode):
                shape = tuple(given[kind] for kind in _KINDS[:mode.dimensions])
                found.append(Work(statement, given["length"][0], shape))
            case Transfer(rows=int(rows)):
                steps = given["transfer"] if rows > 1 else (0, 0)
                found.append(Move(statement, (steps[0], steps[1])))
    return found


def stated(work: Iterable[Work | Move]) -> Iterator[Statement]:
    """The statements of work, with the settings that it needs."""
    settings = Settings()
    for one in work:
        if isinstance(one, Move):
            if one.code.rows != 1:
                yield from settings.change("transfer", *one.steps)
        else:
            yield from settings.change("length", one.length)
            for kind, values in zip(_KINDS, one.shape, strict=False):
                yield from settings.change(kind, *values)
        yield one.code


def copy_of(target: Rows, source: Rows) -> Work:
    """The instruction that copies bytes; both have as many rows of as many bytes."""
    if target.step == source.step == target.size:
        target, source = target.joined, source.joined
    rows = target.count > 1
    mode = Mode(Op.VMOV, False, 0, 0, dimensions=int(rows))
    shape = ((target.count, target.step, source.step, 0),) if rows else ()
    return Work(Instruction(mode, target.base, source.base, 0), target.size, shape)


def is_copy(work: Work) -> bool:
    """Whether it copies bytes as they are."""
    mode = work.mode
    return (mode.op is Op.VMOV and mode.reads_a and mode.in_size == mode.out_size != FLOAT and work.is_plain
            and not (mode.accumulate or mode.absolute or mode.enumerated))
