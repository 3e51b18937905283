"""What a window machine is built from: nodes, in order, whose operands are nodes before them.

Arrays lie in memory as the host packs them (Hammes 2000, section 6.2.1): elements of 1, 2, 4, 8, 16 or 32 bits in words
of 32, the first element in the lowest bits, each row (the last dimension) from a word of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

__all__ = [
    "WORD", "Accumulators", "ArgumentWord", "Carry", "Constant", "Counters", "Element", "FinalValue", "Node", "Operand",
    "Operator", "Output", "Reduction", "Table", "Tile", "WindowSpec", "Windows", "element_bits",
]

WORD = 32


@dataclass(frozen=True)
class Constant:
    """A number of `width` bits, not negative."""

    value: int
    width: int


@dataclass(frozen=True)
class ArgumentWord:
    """The word at address `number`, of which the machine keeps the low bits that `WindowSpec.arguments` says."""

    number: int


@dataclass(frozen=True)
class Output:
    """Output `port` of node `node`."""

    node: int
    port: int = 0


Operand = Constant | ArgumentWord | Output


@dataclass(frozen=True)
class Windows:
    """A generator: windows of `sizes` elements of `width` bits in an array at `address` with `extents`.

    `steps`: of the windows in each dimension, 0 for those that a window takes whole. Outputs: the elements of a window,
    the last dimension fastest, then where it begins in each dimension that has a step (32 bits each).
    """

    address: Operand
    extents: tuple[Operand, ...]
    sizes: tuple[int, ...]
    steps: tuple[int, ...]
    width: int

    @property
    def rows(self) -> int:
        """Rows of the array that a window stands on."""
        return prod(self.sizes[:-1])

    @property
    def widths(self) -> tuple[int, ...]:
        """Bits of the outputs."""
        return (self.width,) * prod(self.sizes) + (WORD,) * sum(step > 0 for step in self.steps)


@dataclass(frozen=True)
class Counters:
    """A generator of numbers: in each dimension of the loop from `lows` on in `steps`; outputs have `widths`."""

    lows: tuple[Operand, ...]
    steps: tuple[Operand, ...]
    widths: tuple[int, ...]


class _OneOutput:
    width: int

    @property
    def widths(self) -> tuple[int, ...]:
        """Bits of the output."""
        return (self.width,)


@dataclass(frozen=True)
class Operator(_OneOutput):
    """A combinational operation (`hw.window.operators`) with one output of `width` bits."""

    kind: str
    operands: tuple[Operand, ...]
    width: int


@dataclass(frozen=True)
class Table:
    """An array of `extents` elements of `width` bits at `address`, of which the machine has a copy on chip."""

    address: Operand
    extents: tuple[int, ...]
    width: int

    @property
    def row_words(self) -> int:
        """Words of a row."""
        return -(-self.extents[-1] * element_bits(self.width) // WORD)

    @property
    def words(self) -> int:
        """Words of all rows."""
        return prod(self.extents[:-1]) * self.row_words


@dataclass(frozen=True)
class Element(_OneOutput):
    """The element of table `table` that `indices` (32 bits each) name, of `width` bits; 0 outside of it."""

    table: int
    indices: tuple[Operand, ...]
    width: int


@dataclass(frozen=True)
class Carry:
    """A register of `width` bits that holds `first` in the first iteration, and after each the `following` of it. Its
    outputs are the value in an iteration and the last one of all, which is the same register after the loop."""

    first: Operand
    following: Operand
    width: int

    @property
    def widths(self) -> tuple[int, ...]:
        """Bits of the outputs."""
        return (self.width, self.width)


@dataclass(frozen=True)
class Tile:
    """A writer: `values` of `width` bits, a tile of `extents` in each iteration, beside those of the other iterations.
    Where ranks of loop and tile differ, ones stand at the left of the lesser."""

    values: tuple[Operand, ...]
    address: Operand
    extents: tuple[int, ...]
    width: int

    widths = (1,)


@dataclass(frozen=True)
class Reduction:
    """A writer: the reduction of `value` over the iterations in which `mask` is 1, `kind` one of those of
    `hw.window.operators.reduce_pair`, written at the end."""

    kind: str
    value: Operand
    mask: Operand
    address: Operand
    bits: int
    width: int

    widths = (1,)


@dataclass(frozen=True)
class Accumulators:
    """A writer: reductions of `value` by label, one of `bits` bits for each of `extents` in memory on chip, of
    iterations in which `mask` is 1 and all `labels` (32 bits each) are below `extents`. Their `width` bits that are
    results are written at the end, packed as arrays are."""

    kind: str
    value: Operand
    labels: tuple[Operand, ...]
    mask: Operand
    address: Operand
    extents: tuple[int, ...]
    bits: int
    width: int

    widths = (1,)


@dataclass(frozen=True)
class FinalValue:
    """A writer: `value`, of `width` bits, as it is after the last iteration."""

    value: Operand
    address: Operand
    width: int

    widths = (1,)


Node = Windows | Counters | Operator | Element | Carry | Tile | Reduction | Accumulators | FinalValue


@dataclass(frozen=True)
class WindowSpec:
    """A machine. `arguments`: bits of each argument word; `loop`: extents of the loop; `iterations`: their product.

    `memories`: 1, or 2 of which the second takes the results. `tables`: arrays that values index, beside those of
    generators, in the order in which they are filled. `address_bits` of a memory's addresses, which are those
    of words; `count_bits` of extents.
    """

    arguments: tuple[int, ...]
    loop: tuple[Operand, ...]
    iterations: Operand
    nodes: tuple[Node, ...]
    memories: int = 1
    tables: tuple[Table, ...] = ()
    address_bits: int = 18
    count_bits: int = 16

    def width(self, operand: Operand) -> int:
        """Bits of an operand."""
        if isinstance(operand, Constant):
            return operand.width
        if isinstance(operand, ArgumentWord):
            return self.arguments[operand.number]
        return self.nodes[operand.node].widths[operand.port]


def element_bits(width: int) -> int:
    """Bits of an element of `width` bits in memory."""
    return 1 << (width - 1).bit_length()
