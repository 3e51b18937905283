"""A core between streams as plain data, and the names of its ports."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from amaranth.hdl import Module, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hw.dataflow.registers import element_bytes
from hw.dataflow.spec import Word
from hw.errors import SluiceError

__all__ = ["StreamError", "StreamPort", "beat_layout", "check_ports", "connect_streams", "stream_members"]

_MOST_BYTES = 128


class StreamError(SluiceError):
    """Streams that cannot be, or a run over streams that went wrong."""


@dataclass(frozen=True)
class StreamPort:
    """An AXI4-Stream of one array.

    name: of the port, behind ``s_axis_`` (an input) or ``m_axis_``. word: an element. words: elements of a run, the
    last of which has TLAST. beat_bytes: bytes of TDATA, a power of two of 1 to 128; 0 for those of one element.
    Elements take a power of two of bytes, extended by their sign, the first one in the low bytes; of a last beat that
    is not full, TKEEP names the bytes that there are.
    """

    name: str
    word: Word
    words: int
    beat_bytes: int = 0

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[A-Za-z]\w*", self.name):
            raise StreamError(f"stream {self.name!r} is not a name that Verilog takes")
        if self.words < 1:
            raise StreamError(f"stream {self.name} has no words")
        size = self.beat_bytes
        if size and not (size >= self.element_bytes and size <= _MOST_BYTES and size & (size - 1) == 0):
            raise StreamError(f"stream {self.name} has beats of {8 * size} bits and elements of "
                              f"{8 * self.element_bytes}: a beat is a power of two of bytes, at least one element and "
                              f"at most {8 * _MOST_BYTES} bits")

    @property
    def element_bytes(self) -> int:
        """Bytes of an element."""
        return element_bytes(self.word.width)

    @property
    def bytes(self) -> int:
        """Bytes of TDATA."""
        return self.beat_bytes or self.element_bytes

    @property
    def elements(self) -> int:
        """Elements of a full beat."""
        return self.bytes // self.element_bytes

    @property
    def beats(self) -> int:
        """Beats of a run."""
        return -(-self.words // self.elements)

    @property
    def has_keep(self) -> bool:
        """Whether there is a TKEEP: the last beat may not be full."""
        return self.words % self.elements != 0


def beat_layout(port: StreamPort) -> data.StructLayout:
    """The payload of a stream: data, keep if there is one, last."""
    keep = {"keep": port.bytes} if port.has_keep else {}
    return data.StructLayout({"data": 8 * port.bytes, **keep, "last": 1})


def check_ports(inputs: Sequence[StreamPort], outputs: Sequence[StreamPort]) -> None:
    """Raise `StreamError` for two streams of one name."""
    names = [port.name for port in chain(inputs, outputs)]
    for name in names:
        if names.count(name) > 1:
            raise StreamError(f"there are two streams {name}")


def stream_members(inputs: Sequence[StreamPort], outputs: Sequence[StreamPort]) -> dict[str, wiring.Member]:
    """Members ``s_NAME`` and ``m_NAME`` of a component with these streams."""
    return {**{f"s_{port.name}": In(stream.Signature(beat_layout(port))) for port in inputs},
            **{f"m_{port.name}": Out(stream.Signature(beat_layout(port))) for port in outputs}}


def connect_streams(m: Module, core: wiring.Component, inputs: Sequence[StreamPort],
                    outputs: Sequence[StreamPort]) -> list[Signal]:
    """Tie the streams of `core` to new signals called ``s_axis_NAME_tdata`` and so on, and return those."""
    signals = []
    for letter, side in (("s", inputs), ("m", outputs)):
        for port in side:
            for name, value, given in _wires(getattr(core, f"{letter}_{port.name}"), letter == "m"):
                signal = Signal(len(Value.cast(value)), name=f"{letter}_axis_{port.name}_t{name}")
                m.d.comb += signal.eq(value) if given else value.eq(signal)
                signals.append(signal)
    return signals


def _wires(side: wiring.PureInterface, gives: bool) -> Iterator[tuple[str, Value, bool]]:
    """(name, value, whether the core drives it)."""
    for name in side.payload.shape().members:
        yield name, getattr(side.payload, name), gives
    yield "valid", side.valid, gives
    yield "ready", side.ready, not gives
