"""A streaming kernel as plain data: what the compiler hands over and the hardware is built from.

Time is counted in *ticks*: the kernel's counters step through one vector per tick, and everything else happens a fixed
number of ticks later. When a stream is not ready the whole kernel stands still: ticks are cycles that are not stalls.
All sizes are in words, all widths in bits (Bok 2018, sections 3.3 and 6.1).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal, Protocol

from amaranth.hdl import Shape

from hw.errors import SluiceError

__all__ = ["LOAD_TICKS", "STORE_TICKS", "Affine", "ChannelSpec", "Constraint", "Counter", "Exit", "Floor",
           "KernelError", "KernelPorts", "KernelSpec", "MemorySpec", "NodeSpec", "Operator", "Piece", "Predicate",
           "ReadSpec", "SizeSpec", "Source", "StreamPorts", "StreamSpec", "Word"]


class KernelError(SluiceError):
    """A kernel that cannot be built or run."""


@dataclass(frozen=True)
class Affine:
    """``constant + sum(coefficient * counter) + sum(floors)``; coefficients from the outermost counter on."""

    coefficients: tuple[int, ...]
    constant: int = 0
    floors: tuple[Floor, ...] = ()


@dataclass(frozen=True)
class Floor:
    """``weight * floor(inner / divisor)``."""

    weight: int
    inner: Affine
    divisor: int


@dataclass(frozen=True)
class Constraint:
    """``value == 0`` if `equality`, else ``value >= 0``."""

    value: Affine
    equality: bool


Predicate = tuple[tuple[Constraint, ...], ...]
"""An or of ands; ``((),)`` always holds, ``()`` never."""

Piece = tuple[Predicate, Affine]
"""A function where the predicate holds. Of several pieces the last one's predicate is not looked at."""


@dataclass(frozen=True)
class Counter:
    """Counts from `low` to `high`, functions of the counters outside it; its values lie in `minimum`..`maximum`."""

    low: tuple[Piece, ...]
    high: tuple[Piece, ...]
    minimum: int
    maximum: int

    @property
    def shape(self) -> Shape:
        """Holds every value."""
        return Shape.cast(range(min(0, self.minimum), max(self.maximum, 0) + 1))


@dataclass(frozen=True)
class Word:
    """An integer of `width` bits; with an `exponent`, a floating-point number that has so many exponent bits, a sign
    and the rest as its fraction (IEEE 754's order of bits), whose word is not `signed`."""

    width: int
    signed: bool
    exponent: int = 0

    @property
    def shape(self) -> Shape:
        """As Amaranth's shape."""
        return Shape(self.width, self.signed)


@dataclass(frozen=True)
class Operator:
    """One step of a node's computation; `operands` are earlier steps.

    `op`: an operation of `hw.ops` (on floating-point words one of `hw.dataflow.floating`), or ``read`` (`value`: its
    number), ``const`` (`value`), ``index`` (`value`: its number among the node's indices), ``cast``, ``table``
    (`value`: its number among the kernel's tables), ``load`` or ``store`` (`value`: the number of the memory). `start`:
    ticks from the firing of the node to the arrival of the operands; the result is there `latency` ticks later.

    The operands of ``load`` are an index and what it comes after, those of ``store`` an index, a word, the bit that
    enables it, whose value it gives, and what it comes after. A load takes 1 tick, or 2 with a register behind the
    memory's, a store 1. What a load comes after may be there `MemorySpec.forwarded` ticks after `start`.
    """

    op: str
    operands: tuple[int, ...]
    word: Word
    latency: int = 0
    start: int = 0
    value: int = 0

    @property
    def done(self) -> int:
        """Ticks from the firing to the result."""
        return self.start + self.latency


LOAD_TICKS, STORE_TICKS = (1, 2), 1
"""Latencies that loads can have, and that of stores."""


@dataclass(frozen=True)
class MemorySpec:
    """`words` words whose addresses are data. `trap`: a load or an enabled store outside ends the run.

    `forwarded`: a load sees stores that begin less than so many ticks after it: with 1 those of the same tick, with 2
    those of the next one, too. All loads take at least as many ticks, so no later store can be among them. `initial`:
    what all words hold when a run begins, as a word's bits; anything without.
    """

    word: Word
    words: int
    trap: bool = False
    forwarded: int = 0
    initial: int | None = None


@dataclass(frozen=True)
class Source:
    """Channel number `channel` delivers a read whenever `select` holds (of the last source it is not looked at)."""

    channel: int
    select: Predicate


@dataclass(frozen=True)
class ReadSpec:
    """One operand of a node: it is taken from its sources `offset` ticks after the firing."""

    word: Word
    offset: int
    sources: tuple[Source, ...]


@dataclass(frozen=True)
class NodeSpec:
    """A node. It fires `delay` ticks after a tick in which `fires` holds; its result comes with the last operator.

    `stream`: number of the input or output stream that it takes words from or gives words to, by `kind`.
    `indices`: functions of the counters that operators use. `source`: its place in the user's program (`Label`).
    """

    name: str
    kind: Literal["input", "compute", "output"]
    delay: int
    fires: Predicate
    reads: tuple[ReadSpec, ...] = ()
    operators: tuple[Operator, ...] = ()
    indices: tuple[tuple[Piece, ...], ...] = ()
    stream: int = 0
    source: str = ""

    @property
    def latency(self) -> int:
        """Ticks from the firing to the result."""
        return self.operators[-1].done if self.operators else 0


@dataclass(frozen=True)
class ChannelSpec:
    """Words from node `source` (its result, or its operand number `operand` if that is not None), in one of five ways.

    ``delay``: every word `depth` ticks later. ``register``: one word until the next. ``fifo``: `depth` words in order.
    ``reorder``: `depth` words at addresses. `written` and `read` are the ticks from the tick of a word's counters to
    its writing and its reading. `push` says when words are written, `pop` when they are read; the addresses are
    functions of the same counters, taken modulo `depth` where `depth` is a power of two.

    ``line``: a part of a line that several reads share. It takes a word in every firing of the source (`push`), from
    the part of channel `after` or, if None, from the source, `written` ticks after the firing's counters, and gives
    one in every firing, `left` ticks after them: that of `ahead` firings ago. `depth` words are inside at most. The
    word that is to be given next is read `later` ticks after it is there. Raises `KernelError` for a depth that cannot
    be.
    """

    name: str
    kind: Literal["delay", "register", "fifo", "reorder", "line"]
    word: Word
    source: int
    operand: int | None
    depth: int
    written: int
    read: int
    push: Predicate = ((),)
    pop: Predicate = ((),)
    write_address: tuple[Piece, ...] = ()
    read_address: tuple[Piece, ...] = ()
    after: int | None = None
    ahead: int = 0
    later: int = 0

    @property
    def left(self) -> int:
        """Ticks from the tick of a firing's counters until the part of a line gives a word."""
        return self.read - self.later

    @property
    def queued(self) -> bool:
        """Whether the words wait in a queue."""
        return self.kind == "fifo" or (self.kind == "line" and self.written != self.left)

    def __post_init__(self) -> None:
        if self.depth < (self.kind not in ("delay", "line")) or self.depth < self.ahead:
            reason = "would deliver words before they are written" if self.kind == "delay" else "holds nothing"
            raise KernelError(f"channel {self.name} ({self.kind}) of depth {self.depth} {reason}")


@dataclass(frozen=True)
class StreamSpec:
    """`words` words of a run go through the stream: with run-time sizes the most there can be."""

    name: str
    word: Word
    words: int


@dataclass(frozen=True)
class SizeSpec:
    """A size that is known when a run starts: `minimum` to `maximum`, not negative."""

    name: str
    minimum: int
    maximum: int


@dataclass(frozen=True)
class KernelPorts:
    """What a host has to know of a kernel: its run-time sizes, its streams, and whether it has `traps`."""

    sizes: tuple[SizeSpec, ...]
    inputs: tuple[StreamSpec, ...]
    outputs: tuple[StreamSpec, ...]
    traps: bool = False


class StreamPorts(Protocol):
    """Hardware with streams, which the manager runs: `KernelSpec` is one kind."""

    @property
    def sizes(self) -> tuple[SizeSpec, ...]:
        """Run-time sizes."""
        ...

    @property
    def inputs(self) -> tuple[StreamSpec, ...]:
        """Streams of words it takes."""
        ...

    @property
    def outputs(self) -> tuple[StreamSpec, ...]:
        """Streams of words it gives."""
        ...

    @property
    def ports(self) -> KernelPorts:
        """All of these."""
        ...


@dataclass(frozen=True)
class Exit:
    """A loop that ends early: that of counter number `level`, over the vectors in `where`. When node number `node` has
    fired in one of these that is in `looks`, and its results `wait` ticks ago, and `back` ticks before that, were all
    zero, the counter's next step there, from a tick later on, is to `target`, which is more than all values in `where`.
    `repeats`: the loop is inside others, for each of whose iterations that holds anew; a vector that is not in `where`
    is then between those of one iteration and those of the next.
    """

    node: int
    where: Predicate
    looks: Predicate
    level: int
    target: int
    wait: int
    back: tuple[int, ...] = ()
    repeats: bool = False


@dataclass(frozen=True)
class KernelSpec:
    """A kernel. Nodes are ordered so that words within one tick go from earlier to later nodes.

    `sizes`: run-time sizes (Bok 2018: parameters). They are the values of the outermost counters, one each, which do
    not count; the others walk, for each value, the vectors that have it. `ticks`: vectors that the counters step
    through, at most if there are sizes. Raises `KernelError` if there are no counters (other than sizes), no outputs,
    or accesses to memories that there are not or with latencies that they do not have. With an `exit`, runs may have
    fewer ticks.
    """

    name: str
    counters: tuple[Counter, ...]
    ticks: int
    nodes: tuple[NodeSpec, ...]
    channels: tuple[ChannelSpec, ...]
    inputs: tuple[StreamSpec, ...]
    outputs: tuple[StreamSpec, ...]
    tables: tuple[tuple[int, ...], ...] = ()
    sizes: tuple[SizeSpec, ...] = ()
    memories: tuple[MemorySpec, ...] = ()
    exit: Exit | None = None

    def __post_init__(self) -> None:
        if len(self.counters) <= len(self.sizes) or not self.outputs:
            raise KernelError(f"kernel {self.name} needs at least one counter and one output")
        for node, number in self.accesses:
            operator = self.nodes[node].operators[number]
            if not self._can_be(operator):
                raise KernelError(f"kernel {self.name}: operator {number} of node {self.nodes[node].name} is a "
                                  f"{operator.op} of memory {operator.value} of {len(self.memories)} in "
                                  f"{operator.latency} ticks")

    def _can_be(self, operator: Operator) -> bool:
        """Whether there are the memory and the latency of an access."""
        if not 0 <= operator.value < len(self.memories):
            return False
        if operator.op == "store":
            return operator.latency == STORE_TICKS
        return operator.latency in LOAD_TICKS and operator.latency >= self.memories[operator.value].forwarded

    @cached_property
    def accesses(self) -> tuple[tuple[int, int], ...]:
        """Numbers of the node and of its operator, of all loads and stores."""
        return tuple((k, number) for k, node in enumerate(self.nodes) for number, operator in enumerate(node.operators)
                     if operator.op in ("load", "store"))

    @property
    def traps(self) -> bool:
        """Whether some access may be outside of its memory."""
        return any(memory.trap for memory in self.memories)

    @property
    def ports(self) -> KernelPorts:
        """What a host has to know."""
        return KernelPorts(self.sizes, self.inputs, self.outputs, self.traps)

    @cached_property
    def depth(self) -> int:
        """Ticks from the last vector of the counters until everything has left the kernel, and no access that could be
        outside of its memory is to come."""
        watched = [self.nodes[node].delay + operator.start for node, number in self.accesses
                   if self.memories[(operator := self.nodes[node].operators[number]).value].trap]
        return max(*watched, *(node.delay for node in self.nodes if node.kind == "output"), 0)

    @property
    def total_ticks(self) -> int:
        """Ticks of a run, the longest one if there are sizes."""
        return self.ticks + self.depth
