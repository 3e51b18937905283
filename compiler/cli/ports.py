"""``--ports``: what a design has in place of an AXI4 manager and AXI4-Lite registers."""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np

from compiler.bind.design import Design
from compiler.bind.ported_design import PortedDesign
from compiler.bind.streamed_design import StreamedDesign
from compiler.cli.settings import UsageError
from hw.ports.spec import SystemPorts

__all__ = ["stream_lines", "with_ports"]

_STREAM = re.compile(r"stream(?:=(\d+))?")


def with_ports(text: str | None, design: Design) -> Design | StreamedDesign | PortedDesign:
    """`design` with the ports that `text` asks for. Raises `UsageError`, `StreamError`, `PortError`."""
    if text is None:
        return design
    if found := _STREAM.fullmatch(text):
        return design.with_streams(int(found[1] or 0))
    if text.startswith("stream"):
        raise UsageError(f"--ports {text}: write stream, or stream=BITS for beats of so many")
    return PortedDesign(design, SystemPorts.parse(text))


def stream_lines(design: Design | StreamedDesign | PortedDesign, inputs: Mapping[str, np.ndarray] | None) -> list[str]:
    """What a design between streams says of them; nothing of another one."""
    if not isinstance(design, StreamedDesign):
        return []
    streams = [f"{stream.describe()['port']} ({stream.port.words} words in {stream.port.beats} beats)"
               for stream in (*design.inputs, *design.outputs)]
    lines = [f"streams: {', '.join(streams)}"]
    if inputs is not None:
        lines.append(f"from run to run, if no stream waits: {design.predicted_cycles(inputs)} cycles")
    return lines
