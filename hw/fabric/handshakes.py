"""Ready and valid between the global buffer and the array: which ports there are."""

from __future__ import annotations

from amaranth.lib.wiring import In, Member, Out

from hw.fabric.spec import FabricSpec

__all__ = ["handshakes"]


def handshakes(spec: FabricSpec) -> dict[str, Member]:
    """The ports that a ready-valid array has besides those of a static one, a bit for each column; from the global
    buffer's side. None for a static array."""
    if spec.protocol == "static":
        return {}
    return {
        "i_stream_valid": Out(spec.columns),
        "o_stream_ready": In(spec.columns),
        "o_stream_valid": In(spec.columns),
        "i_stream_ready": Out(spec.columns),
    }
