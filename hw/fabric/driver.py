"""How a host runs the array: the register writes of a run, and what the status registers say in words.

Nothing here touches hardware; a simulation job, a C driver or a debugger carries out the writes. The
configuration image that a plan points to comes from `hw.fabric.image.configuration_image`.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from hw.dma.descriptor import DmaDescriptor
from hw.dma.registers import RegisterMap
from hw.errors import SluiceError
from hw.fabric.control_registers import BANK_REGISTERS, NO_BANK
from hw.fabric.status import Phase, RunError, Waiting

__all__ = ["MOST_CYCLES", "MOST_PERIOD", "RunFailure", "RunPlan", "RunPlanError", "check_status", "describe_wait"]


class RunPlanError(SluiceError):
    """A run that the array at hand cannot carry out."""


class RunFailure(SluiceError):
    """The hardware ended a run with an error code."""


_LIMITS = {"config_address": 32, "config_words": 32, "period": 24, "tiles": 16, "run_cycles": 32}

MOST_CYCLES = (1 << _LIMITS["run_cycles"]) - 1
"""Most cycles of a run."""

MOST_PERIOD = (1 << _LIMITS["period"]) - 1
"""Most cycles from tile to tile."""


@dataclass(frozen=True)
class RunPlan:
    """Everything a host has to write to run one configuration once.

    config_address: byte address of the configuration image; config_words: its length in 32-bit words, 0 to
    keep the configuration of the run before. period: unstalled cycles from tile to tile. tiles: number of
    tiles. run_cycles: unstalled cycles of the whole run. banks: descriptor by number of the
    bank (`FabricSpec.bank_slots`): its column, if columns have one bank.
    """

    config_address: int
    config_words: int
    period: int
    tiles: int
    run_cycles: int
    banks: dict[int, DmaDescriptor] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, width in _LIMITS.items():
            value = getattr(self, name)
            least = 0 if name.startswith("config") else 1
            if not least <= value < 1 << width:
                raise RunPlanError(f"{name} of a run is {value}, outside {least}..{(1 << width) - 1}")

    def writes(self, registers: RegisterMap) -> list[tuple[int, int]]:
        """(byte offset, value) pairs in the order in which to write them; the last one starts the run."""
        names = {name.upper(): getattr(self, name) for name in _LIMITS}
        named = [(registers.address(name), value) for name, value in names.items()]
        start = (registers.address("CONTROL"), registers.encode("CONTROL", start=1))
        return [*named, *self._descriptor_writes(registers), start]

    def _descriptor_writes(self, registers: RegisterMap) -> list[tuple[int, int]]:
        pairs = []
        for number, descriptor in sorted(self.banks.items()):
            if number >= registers.window("BANK").count:
                raise RunPlanError(f"there is no bank in column {number}")
            for register, value in zip(BANK_REGISTERS, descriptor.words(), strict=True):
                pairs.append((registers.address(f"BANK[{number}].{register.name}"), value))
        return pairs


def check_status(registers: RegisterMap, status: int, detail: int) -> None:
    """Raise `RunFailure` if register STATUS says that the run failed or has not ended."""
    state = registers.decode("STATUS", status)
    if not state["done"]:
        raise RunFailure(f"the run has not ended: {describe_wait(registers, detail)}")
    if state["error"]:
        fields = registers.decode("DETAIL", detail)
        bank = "" if fields["bank"] == NO_BANK else f" (column {_column(registers, fields['bank'])})"
        error = state["error"]
        name = error.name if isinstance(error, RunError) else f"number {error}"
        raise RunFailure(f"the run ended with error {name}{bank}")


def describe_wait(registers: RegisterMap, detail: int) -> str:
    """What register DETAIL says the run waits for, as half a sentence."""
    fields = registers.decode("DETAIL", detail)
    phase, waiting = Phase(fields["phase"]), Waiting(fields["waiting"])
    bank = _column(registers, fields["bank"])
    texts = {
        Waiting.NOTHING: "it waits for nothing",
        Waiting.CONFIGURATION: "memory has not delivered the next configuration word",
        Waiting.INPUT_BANK: f"the input bank in column {bank} has no filled band",
        Waiting.OUTPUT_BANK: f"the output bank in column {bank} has no free band",
        Waiting.WRITE_BACK: f"results of the bank in column {bank} are not in memory yet",
        Waiting.MEMORY: "memory transactions are outstanding",
    }
    return f"phase {phase.name}, {texts[waiting]}"


def _column(registers: RegisterMap, number: int) -> int:
    """Column of a bank, by its number; of no bank its number."""
    return number if number == NO_BANK else number % (registers.register("GEOMETRY").reset >> 16)
