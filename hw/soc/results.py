"""What runs leave in the registers, as Python values and in words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from hw.dma.registers import RegisterMap
from hw.soc.status import Phase

__all__ = ["COUNTER_REGISTERS", "DRAM_LATENCY", "Counters", "Trap", "counters_of", "describe_wait", "status_names"]

DRAM_LATENCY = 20
"""Cycles from an address to the first beat in main memory, unless a run asks for another latency."""

COUNTER_REGISTERS = ("VECTOR_INSTRUCTIONS", "VECTOR_BUSY", "VECTOR_BUBBLES", "DMA_CYCLES")
"""Registers that `counters_of` needs."""

_TRAPS = {
    0: "misaligned program counter", 1: "instruction access fault", 2: "illegal instruction", 3: "breakpoint",
    4: "misaligned load", 5: "load access fault", 6: "misaligned store", 7: "store access fault",
    8: "environment call", 11: "environment call",
}  # fmt: skip


@dataclass(frozen=True)
class Trap:
    """Why the core stopped: `cause` (mcause), `pc` (address of the instruction), `value` (mtval)."""

    cause: int
    pc: int
    value: int

    def __str__(self) -> str:
        name = _TRAPS.get(self.cause, f"cause {self.cause}")
        return f"{name} at {self.pc:#x} (value {self.value:#x})"


@dataclass(frozen=True)
class Counters:
    """Counters of the vector unit over the whole run: `instructions` executed; clock cycles in which the lanes took a
    wavefront (`busy`), in which a hazard held them (`bubbles`), and in which a transfer was under way (`dma_cycles`).
    """

    instructions: int
    busy: int
    bubbles: int
    dma_cycles: int


def status_names(registers: RegisterMap, word: int) -> tuple[str, ...]:
    """The bits of register VECTOR_STATUS that are set."""
    return tuple(name.upper() for name, bit in registers.decode("VECTOR_STATUS", word).items() if bit)


def counters_of(values: Mapping[str, int]) -> Counters:
    """The counters of the vector unit among the values of registers."""
    return Counters(values["VECTOR_INSTRUCTIONS"], values["VECTOR_BUSY"], values["VECTOR_BUBBLES"],
                    values["DMA_CYCLES"])


def describe_wait(registers: RegisterMap, values: Mapping[str, int]) -> str:
    """What registers DETAIL and FETCH say about a run that has not ended, as half a sentence."""
    state = registers.decode("DETAIL", values.get("DETAIL", 0))
    waits = {
        "command": "the core waits for the vector unit to take an instruction",
        "data": "the core waits for its data bus",
        "fetch": "the core waits for an instruction",
        "vector": "the vector unit is busy",
        "dma": "transfers are under way",
        "memory": "memory transactions are outstanding",
    }
    parts = [text for name, text in waits.items() if state[name]] or ["the core runs"]
    place = f", last cache line fetched {values.get('FETCH', 0):#x}"
    return f"phase {Phase(state['phase']).name}, {', '.join(parts)}{place}"
