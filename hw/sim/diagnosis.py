"""From what a failed run reports to one sentence that says who waits for whom."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from hw.sim.process import SimulationError

__all__ = ["SimulationTimeout", "explain_failure"]

# Bits of the harness's `channels`, most significant first.
_FLAGS = (
    "awvalid", "awready", "wvalid", "wready", "bvalid", "bready", "arvalid", "arready", "rvalid", "rready", "reading",
    "writing", "answering", "irq", "rst", "busy",
)  # fmt: skip

# Codes of `violation` in memory.v.
_VIOLATIONS = (
    "",
    "a write address changed or went away before it was taken",
    "write data changed or went away before it was taken",
    "a read address changed or went away before it was taken",
    "a burst crosses a 4 KiB boundary",
    "a transfer is wider than the data bus",
    "the burst type is reserved",
    "wlast came before the last word of a burst",
    "wlast was missing on the last word of a burst",
)

# The first state that holds names the party that everything else waits for.
_WAITS: tuple[tuple[Callable[[Mapping[str, bool]], bool], str], ...] = (
    (lambda on: on["rvalid"] and not on["rready"], "the design does not take the read data that memory offers"),
    (
        lambda on: on["bvalid"] and not on["bready"],
        "the design does not take the write response that memory offers",
    ),
    (lambda on: on["arvalid"] and not on["arready"], "memory does not take the read address"),
    (lambda on: on["awvalid"] and not on["awready"], "memory does not take the write address"),
    (lambda on: on["reading"], "the design waits for read data from memory"),
    (lambda on: on["writing"] and not on["wvalid"], "memory waits for write data from the design"),
    (lambda on: on["wvalid"] and not on["wready"] and on["writing"], "memory does not take the write data"),
    (lambda on: on["wvalid"] and not on["wready"], "the design offers write data without a write address"),
    (lambda on: on["answering"], "the design waits for a write response from memory"),
    (lambda on: True, "the memory bus is idle, the design waits inside"),
)


class SimulationTimeout(SimulationError):
    """The design did not raise its interrupt within the cycle limit; the message names what waits."""


def explain_failure(
    report: Mapping[str, Any], top: str, seed: int, limit: int, explain: Callable[[Mapping[str, int]], str] | None
) -> None:
    """Raise the error that `report` (of `hw.sim.job_driver`) calls for, or return if the run succeeded."""
    problem = report["problem"]
    if problem is None:
        return
    where = f"simulation of '{top}' (seed {seed:#x})"
    if problem == "access":
        raise SimulationError(f"{where}: {_access(report)}")
    if problem == "violation":
        rule = _VIOLATIONS[report["violation"]]
        raise SimulationError(f"{where} broke the AXI protocol in cycle {report['total_cycles']}: {rule}")
    status = report["status"]
    waiting = _channel_state(report)
    told = "" if explain is None or not status else f"{explain(status)}; "
    values = ", ".join(f"{name}={value:#x}" for name, value in status.items()) or "none read"
    raise SimulationTimeout(f"{where} did not finish in {limit} cycles: {told}{waiting}; registers: {values}")


def _access(report: Mapping[str, Any]) -> str:
    access = report["access"]
    verb = "write" if access["write"] else "read"
    outcome = "was not answered" if access["status"] == "hung" else "was refused with an error response"
    return f"register {verb} at {access['address']:#x} {outcome}"


def _channel_state(report: Mapping[str, Any]) -> str:
    bits = report["channels"]
    on = {name: bool(bits >> (len(_FLAGS) - 1 - index) & 1) for index, name in enumerate(_FLAGS)}
    sentence = next(text for holds, text in _WAITS if holds(on))
    channels = ("aw", "w", "b", "ar", "r")
    levels = " ".join(f"{name}={on[name + 'valid']:d}{on[name + 'ready']:d}" for name in channels)
    reads, writes = report["outstanding"] >> 8, report["outstanding"] & 0xFF
    return f"{sentence} (valid and ready: {levels}; bursts outstanding: {reads} read, {writes} write)"
