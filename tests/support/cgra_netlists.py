"""Netlists for tests of the array's back end: two typical ones and random ones."""

from __future__ import annotations

from random import Random

from compiler.bind.cgra.netlist import Edge, MemNode, Netlist, Node, PeNode, Pin, SkewBound, StreamIn, StreamOut
from hw.pe.config import PeConfig

Operand = tuple[Pin, int]
"""An output pin and the distance at which its value is used."""


class Builder:
    """Builds a netlist unit by unit."""

    def __init__(self) -> None:
        self.nodes: dict[str, Node] = {}
        self.edges: list[Edge] = []
        self.separations: list[SkewBound] = []

    def stream_in(self, name: str) -> Pin:
        self.nodes[name] = StreamIn(name)
        return Pin(name, "out")

    def stream_out(self, name: str, source: Pin) -> None:
        self.nodes[name] = StreamOut(name)
        self.edges.append(Edge(source, Pin(name, "in"), "word"))

    def pe(self, op: str, *words: Operand, bits: tuple[Operand, ...] = (), table: int = 0b11101000) -> Pin:
        """A PE whose first operands come from pins; the other operands of the operation are constants."""
        constants = tuple(None if i < len(words) else i + 3 for i in range(3))
        bit_constants = tuple(None if i < len(bits) else 0 for i in range(3))
        needed = PeConfig(op).inputs
        config = PeConfig(
            op,
            constants=tuple(c if f"word{i}" in needed else None for i, c in enumerate(constants)),
            bit_constants=tuple(c if f"bit{i}" in needed else None for i, c in enumerate(bit_constants)),
            table=table if op == "lut3" else 0,
        )
        name = f"{op}{len(self.nodes)}"
        self.nodes[name] = PeNode(name, config)
        self.edges += [Edge(pin, Pin(name, f"word{i}"), "word", d) for i, (pin, d) in enumerate(words)]
        self.edges += [Edge(pin, Pin(name, f"bit{i}"), "bit", d) for i, (pin, d) in enumerate(bits)]
        return Pin(name, config.output)

    def line_buffer(self, name: str, source: Pin, minimum: int = 1, maximum: int = 4000) -> tuple[Pin, Pin]:
        """A memory with one input and two outputs."""
        self.nodes[name] = MemNode(name)
        self.edges.append(Edge(source, Pin(name, "in0"), "word"))
        outputs = Pin(name, "out0"), Pin(name, "out1")
        self.separations += [SkewBound(output, Pin(name, "in0"), minimum, maximum) for output in outputs]
        return outputs

    def window(self, name: str, source: Pin) -> list[list[Operand]]:
        """The taps of a 3x3 window: rows from the oldest to the newest, columns likewise."""
        newer, older = self.line_buffer(name, source)
        return [[(row, d) for d in (2, 1, 0)] for row in (older, newer, source)]

    def reduce(self, op: str, operands: list[Operand]) -> Pin:
        """A chain of two-operand PEs."""
        result = operands[0]
        for operand in operands[1:]:
            result = self.pe(op, result, operand), 0
        return result[0]

    def build(self) -> Netlist:
        netlist = Netlist(self.nodes, tuple(self.edges), tuple(self.separations))
        netlist.verify()
        return netlist


def gaussian(newest_first: bool = True) -> Netlist:
    """Nine multiply-adds in a chain and a shift; one memory delays two rows of the window."""
    b = Builder()
    rows = b.window("lines", b.stream_in("input"))
    total: Pin | None = None
    for row in reversed(rows) if newest_first else rows:
        for pin, distance in row:
            total = b.pe("mul", (pin, distance)) if total is None else _mad(b, pin, distance, total)
    assert total is not None
    b.stream_out("output", b.pe("shr", (total, 0)))
    return b.build()


def _mad(b: Builder, pin: Pin, distance: int, total: Pin) -> Pin:
    """``pin * constant + total``."""
    name = f"mad{len(b.nodes)}"
    b.nodes[name] = PeNode(name, PeConfig("mad", constants=(None, 24, None)))
    b.edges += [Edge(pin, Pin(name, "word0"), "word", distance), Edge(total, Pin(name, "word2"), "word")]
    return Pin(name, "word0")


def harris() -> Netlist:
    """The corner detector: wide reconvergence, five memories, a bit network."""
    b = Builder()
    gray = b.window("gray", b.stream_in("input"))
    gx = _gradient(b, gray)
    gy = _gradient(b, [list(column) for column in zip(*gray, strict=True)])
    sums = []
    for name, (left, right) in {"xx": (gx, gx), "xy": (gx, gy), "yy": (gy, gy)}.items():
        product = b.pe("shr", (b.pe("mul", (left, 0), (right, 0)), 0))
        taps = [tap for row in b.window(name, product) for tap in row]
        sums.append(b.pe("shr", (b.reduce("add", taps), 0)))
    xx, xy, yy = sums
    determinant = b.pe("sub", (b.pe("mul", (xx, 0), (yy, 0)), 0), (b.pe("mul", (xy, 0), (xy, 0)), 0))
    trace = b.pe("add", (xx, 0), (yy, 0))
    response = b.pe("sub", (determinant, 0), (b.pe("shr", (b.pe("mul", (trace, 0), (trace, 0)), 0)), 0))
    rows = b.window("corner", response)
    centre = rows[1][1]
    larger = [(b.pe("lt", tap, centre), 0) for row in rows for tap in row if tap != centre]
    larger.append((b.pe("ge", centre), 0))
    while len(larger) > 1:
        larger = [(b.pe("lut3", bits=tuple(larger[i : i + 3])), 0) for i in range(0, len(larger), 3)]
    b.stream_out("output", b.pe("select", bits=(larger[0],)))
    return b.build()


def _gradient(b: Builder, window: list[list[Operand]]) -> Pin:
    sides = []
    for row in (window[0], window[2]):
        sides.append((b.pe("add", (b.pe("mad", row[1], row[0]), 0), row[2]), 0))
    return b.pe("max", (b.pe("min", (b.pe("sub", *sides), 0)), 0))


def random_netlist(seed: int, pes: int, memories: int = 3, streams: int = 2, distance: int = 8) -> Netlist:
    """A connected netlist of `pes` PEs whose operands are mostly recent results."""
    random, b = Random(seed), Builder()
    words = [b.stream_in(f"input{i}") for i in range(random.randint(1, streams))]
    bits: list[Pin] = []

    def word() -> Operand:
        pin = random.choice(words[-6:] if random.random() < 0.7 else words)
        return pin, random.randint(0, distance) if random.random() < 0.3 else 0

    def bit() -> Operand:
        return random.choice(bits), random.randint(0, 2)

    for i in range(pes):
        if memories and random.random() < 0.1:
            memories -= 1
            words += b.line_buffer(f"memory{i}", random.choice(words[-6:]), random.randint(-20, 3))
        kind = random.random()
        if kind < 0.15:
            bits.append(b.pe("lt", word(), word()))
        elif kind < 0.3 and bits:
            words.append(b.pe("select", word(), word(), bits=(bit(),)))
        elif kind < 0.35 and bits:
            bits.append(b.pe("lut3", bits=(bit(), bit(), bit())))
        else:
            words.append(b.pe("mad", word(), word(), word()) if kind < 0.5 else b.pe("add", word(), word()))
    for i in range(random.randint(1, streams)):
        b.stream_out(f"output{i}", words[-1 - i % len(words)])
    return b.build()
