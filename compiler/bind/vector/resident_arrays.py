"""Arrays that stay in the scratchpad while a program runs whose loops carry values from turn to turn.

A piece of such a program is small, and what one turn writes the next one reads: through memory that takes some fifty
cycles, on chip less than ten. Arrays that fit lie in one half of the scratchpad, from the first address to the last;
inputs and constants are loaded before, outputs are stored behind everything else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from compiler.bind.vector.access_ranges import Span
from compiler.bind.vector.copy_elimination import without_copies
from compiler.bind.vector.ir import Loop, MemoryArray, Statement, Transfer
from compiler.bind.vector.straight_code import Move, Work, copy_of, stated, worked

__all__ = ["ResidentArrays"]

ALIGNMENT = 32
"""Of arrays, as beats of memory are."""


@dataclass
class ResidentArrays:
    """Arrays in the bytes from `low` to `high` of the scratchpad. `places`: where they begin, `sizes` their bytes;
    those `elsewhere` stay in memory."""

    low: int
    high: int
    places: dict[str, int] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)
    elsewhere: set[str] = field(default_factory=set)

    @property
    def used(self) -> int:
        """Bytes up to the end of the last array."""
        return max((place + self.sizes[name] - self.low for name, place in self.places.items()), default=0)

    def place(self, name: str, size: int) -> bool:
        """Whether an array of so many bytes is on chip; takes it there if there is room."""
        if name in self.places or name in self.elsewhere:
            return name in self.places
        start = self.low + -(-self.used // ALIGNMENT) * ALIGNMENT
        if start + size > self.high:
            self.elsewhere.add(name)
            return False
        self.places[name], self.sizes[name] = start, size
        return True

    def code(self, body: Sequence[Statement], size_of: Callable[[str], int],
             given: Callable[[str], bool]) -> tuple[Statement, ...]:
        """The code of a piece whose arrays are in memory, with those that fit on chip. `given`: whether nothing writes
        an array."""
        if any(isinstance(statement, Loop) for statement in body):
            return self._around(body, given)
        lowered = [self._lowered(one, size_of) for one in worked(body)]
        return tuple(stated(without_copies(lowered, self.array_at)))

    def _lowered(self, one: Work | Move, size_of: Callable[[str], int]) -> Work | Move:
        if isinstance(one, Work) or not self.place(one.code.array, size_of(one.code.array)):
            return one
        local, memory = one.local(), one.memory()
        inside = replace(memory, base=memory.base + self.places[one.code.array])
        return copy_of(inside, local) if one.code.to_host else copy_of(local, inside)

    def _around(self, body: Sequence[Statement], given: Callable[[str], bool]) -> tuple[Statement, ...]:
        """The code of a piece that loads and stores, between transfers that bring its arrays to memory and back."""
        moved = {name: to_host for to_host in (False, True) for name in _arrays(body, to_host) if name in self.places}
        before = [self._whole(name, True) for name in moved if not given(name)]
        behind = [self._whole(name, False) for name, written in moved.items() if written]
        return (*before, *body, *behind)

    def _whole(self, name: str, to_host: bool) -> Transfer:
        return Transfer(to_host, self.places[name], name, 0, self.sizes[name], 1)

    def array_at(self, span: Span) -> str | None:
        """The array that bytes lie in."""
        if span[0] < self.low:
            return None
        return next((name for name, p in self.places.items() if p <= span[0] < p + self.sizes[name]), None)

    def around(self, arrays: Sequence[MemoryArray], body: Sequence[Statement]) -> tuple[Statement, ...]:
        """The whole program: `body` between loads and stores of arrays."""
        here = [array for array in arrays if array.name in self.places]
        return (*(self._whole(a.name, False) for a in here if a.role in ("input", "constant")), *body,
                *(self._whole(a.name, True) for a in here if a.role == "output"))


def _arrays(body: Sequence[Statement], to_host: bool) -> Iterator[str]:
    for statement in body:
        if isinstance(statement, Loop):
            yield from _arrays(statement.body, to_host)
        elif isinstance(statement, Transfer) and statement.to_host == to_host:
            yield statement.array
