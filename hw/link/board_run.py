"""Runs of a design on a board: what a simulation would do, over the link."""

from __future__ import annotations

import time

from hw.designs.system import fingerprint_of
from hw.link.client import LinkClient, LinkError
from hw.sim.simulate import NO_STALLS, Job, JobResult

__all__ = ["run_on_board"]


def run_on_board(job: Job, client: LinkClient, seconds: float = 60.0) -> JobResult:
    """`job` on the board behind `client`: inputs into memory, the areas of the outputs cleared, the registers written,
    the end waited for, counters and outputs read. `cycles` of the result are counted on the board; beats are not
    counted there and are 0. Raises `LinkError`: no answer, another design, too little memory, no end within `seconds`
    of wall-clock time, something that only simulations have."""
    _check(job, client)
    began = time.perf_counter()
    for address, content in [*((address, bytes(length)) for address, length in job.dumps), *job.loads]:
        client.write_memory(address, content)
    for register, value in job.writes:
        client.write_register(register, value)
    cycles = _wait(job, client, seconds)
    registers = {register: client.read_register(register) for register in job.reads}
    dumps = tuple(client.read_memory(address, length) for address, length in job.dumps)
    elapsed = time.perf_counter() - began
    return JobResult(registers, dumps, cycles, cycles, 0, 0, elapsed, cycles / elapsed, 0.0, True, 0, None)


def _check(job: Job, client: LinkClient) -> None:
    if job.fault is not None or job.errors is not None or job.stall != NO_STALLS or job.waves:
        raise LinkError("a board has no stalls, faults or waveforms on request: simulate for those")
    greeting = client.greet(fingerprint_of(job.top, job.sources))
    last = max((address + length for address, length in
                [*job.dumps, *((address, len(content)) for address, content in job.loads)]), default=0)
    if last > greeting.memory_bytes:
        raise LinkError(f"the run needs {last} bytes of memory and the board has {greeting.memory_bytes}: build the "
                        f"bitstream with --memory-bytes {last}")


def _wait(job: Job, client: LinkClient, seconds: float) -> int:
    """Clock cycles of the run."""
    end = time.perf_counter() + seconds
    while not (progress := client.poll()).ended:
        if time.perf_counter() > end:
            values = {name: client.read_register(register) for name, register in job.status.items()}
            reason = job.explain(values) if job.explain is not None else f"registers {values}"
            raise LinkError(f"the run has not ended in {seconds:g} s: {reason}")
    return progress.cycles
