"""Instructions on the ideal dispatcher in RTL simulation."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from hw.sim.simulate import NO_STALLS, Job, JobResult, StallProfile, run_job
from hw.soc.dispatcher import DISPATCHER_ENTRIES, DISPATCHER_MODULE, emit_dispatcher_system
from hw.soc.entry_loader import ENTRY_BYTES
from hw.soc.errors import ProgramError
from hw.soc.program import DEFAULT_MEMORY_BYTES
from hw.soc.registers import host_registers
from hw.soc.results import COUNTER_REGISTERS, DRAM_LATENCY, Counters, counters_of, describe_wait, status_names
from hw.soc.status import RunError
from hw.vector_lanes.isa import Entry
from hw.vector_lanes.spec import VectorSpec

__all__ = ["EntriesResult", "run_entries"]

_READ = ("STATUS", "CYCLES", "CYCLES_HIGH", "VECTOR_STATUS", *COUNTER_REGISTERS)


@dataclass(frozen=True)
class EntriesResult:
    """What a list of instructions left.

    `cycles`: clock cycles from the dispatch of the first entry until nothing was under way any more. `vector_status`:
    names of the status bits that the vector unit has set. `dumps`: regions of main memory, as asked for.
    """

    cycles: int
    error: RunError
    vector_status: tuple[str, ...]
    counters: Counters
    dumps: tuple[bytes, ...]
    job: JobResult


def run_entries(
    entries: Sequence[Entry],
    spec: VectorSpec,
    *,
    memory: Mapping[int, bytes] | None = None,
    dumps: Sequence[tuple[int, int]] = (),
    memory_bytes: int = DEFAULT_MEMORY_BYTES,
    depth: int = DISPATCHER_ENTRIES,
    simulator: str = "verilator",
    seed: int | None = None,
    stall: StallProfile = NO_STALLS,
    latency: int = DRAM_LATENCY,
    bandwidth: str = "shared",
    cycle_limit: int = 20_000_000,
    check: bool = True,
    **settings: Any,
) -> EntriesResult:
    """Play `entries` on the ideal dispatcher.

    `memory`: contents of main memory by byte address. `dumps`: (byte address, length) to read back. The program itself
    lies at the end of main memory. The other settings are those of `hw.sim.simulate.Job`; `check` raises
    `ProgramError` if memory refused something (the vector unit's own status is for the caller to look at).

    Raises `ProgramError` for programs that are empty or do not fit, and what `hw.sim.simulate.run_job` raises.
    """
    address = _place(entries, memory_bytes, depth)
    registers = host_registers(spec)
    job = Job(
        _sources(spec, depth), DISPATCHER_MODULE, memory_bytes,
        loads=[*(memory or {}).items(), (address, b"".join(struct.pack("<8I", *entry.pack()) for entry in entries))],
        writes=[
            (registers.address("PROGRAM"), address),
            (registers.address("ENTRIES"), len(entries)),
            (registers.address("CONTROL"), registers.encode("CONTROL", start=1)),
        ],
        reads=[registers.address(name) for name in _READ], dumps=dumps,
        status={"DETAIL": registers.address("DETAIL")}, explain=lambda values: describe_wait(registers, values),
        seed=seed, stall=stall, latency=latency, bandwidth=bandwidth, cycle_limit=cycle_limit, simulator=simulator,
        **settings,
    )  # fmt: skip
    result = run_job(job)
    value = {name: result.registers[registers.address(name)] for name in _READ}
    error = RunError(registers.decode("STATUS", value["STATUS"])["error"])
    if check and error is not RunError.NONE:
        raise ProgramError(f"the run ended with error {error.name}")
    return EntriesResult(
        cycles=value["CYCLES"] | value["CYCLES_HIGH"] << 32, error=error,
        vector_status=status_names(registers, value["VECTOR_STATUS"]), counters=counters_of(value),
        dumps=result.dumps, job=result,
    )  # fmt: skip


def _place(entries: Sequence[Entry], memory_bytes: int, depth: int) -> int:
    """Byte address of the program."""
    if not 1 <= len(entries) <= depth:
        raise ProgramError(f"the ideal dispatcher takes 1 to {depth} entries, not {len(entries)}")
    address = memory_bytes - ENTRY_BYTES * len(entries)
    if address < 0:
        raise ProgramError(f"{len(entries)} entries do not fit into {memory_bytes} bytes of main memory")
    return address & -ENTRY_BYTES


@lru_cache(maxsize=16)
def _sources(spec: VectorSpec, depth: int) -> dict[str, str]:
    return emit_dispatcher_system(spec, depth)
