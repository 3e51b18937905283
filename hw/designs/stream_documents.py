"""Files of a design between AXI4-Streams: Verilog, descriptions for other tools, words of streams."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hw.axi_stream.spec import StreamPort
from hw.axi_stream.system import STREAM_MODULE
from hw.drivers.fusesoc import fusesoc_core
from hw.drivers.ipxact import stream_component

__all__ = ["STREAMS", "stream_documents", "stream_words"]

STREAMS = "streams"
"""What `DesignImage.parameters` call the system."""


def stream_documents(sources: Mapping[str, str], inputs: Sequence[StreamPort], outputs: Sequence[StreamPort], *,
                     core: Mapping[str, str]) -> dict[str, str]:
    """Files by paths in the design directory. `core`: Verilog of the core alone."""
    about = f"{STREAM_MODULE}: {len(inputs)} AXI4-Stream slaves, {len(outputs)} AXI4-Stream masters"
    names = [f"s_axis_{port.name}" for port in inputs], [f"m_axis_{port.name}" for port in outputs]
    return {**{f"rtl/{name}": text for name, text in {**sources, **core}.items()},
            "component.xml": stream_component(STREAM_MODULE, sources, *names, about=about),
            f"{STREAM_MODULE}.core": fusesoc_core(STREAM_MODULE, sources, about=about)}


def stream_words(port: StreamPort, words: Sequence[int]) -> str:
    """Words of a stream, one per line in hexadecimal, as they are in TDATA."""
    digits, mask = 2 * port.element_bytes, (1 << 8 * port.element_bytes) - 1
    return "".join(f"{word & mask:0{digits}x}\n" for word in words)
