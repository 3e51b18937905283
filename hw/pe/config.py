"""What a processing element can be told to do: its parameters, its configuration and how that is encoded."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import NoReturn

from hw.lib.configuration import ConfigurationError, Field, Layout, Words
from hw.ops import OPERATIONS, Kind, Operation
from hw.pe.bfloat16 import BFLOAT16, BFLOAT16_OPERATIONS, LONGEST_STEP

__all__ = ["COUNT", "DEFAULT_PE", "FACTORS", "PE_FEATURE", "PE_LATENCY", "PRODUCTS", "RESTART", "PeConfig", "PeSpec",
           "pe_layout"]

PE_FEATURE = 0
"""Feature of the configuration bus that holds a processing element's registers."""

PE_LATENCY = 2
"""Cycles from operands at the inputs to the result at the output: operand registers, then result registers. Arithmetic
on floating-point numbers takes some more (`PeSpec.latency`)."""

OPERANDS = 3
"""Word operands and bit operands that a processing element has, each."""

RESTART = "bit2"
"""Input that tells where an operand is not the own result; no operation with a word operand reads it."""

PRODUCTS = frozenset({"mul", "mul_mid", "mul_high", "mad"})
"""Operations whose first two operands go through the multiplier, before which there is no time for a choice."""

FACTORS = 2
"""How many operands those are."""

_TABLE_BITS = 8


def _no_value(*_: object) -> NoReturn:
    raise AssertionError("what a counter gives depends on the cycle, not on operands")


COUNT = Operation("count", 48, (Kind.WORD, Kind.WORD, Kind.WORD), Kind.WORD, _no_value, _no_value)
"""A counter: after a flush its word is the first constant, then in every cycle the second one more, but 0 after the
third; its bit is 1 while the word is the third. Only elements with `PeSpec.counter` have it; it has no inputs."""

_OPERATIONS = OPERATIONS | {COUNT.name: COUNT} | BFLOAT16_OPERATIONS
_NAMES = {entry.code: entry.name for entry in _OPERATIONS.values()}


@dataclass(frozen=True)
class PeSpec:
    """Parameters of a processing element. `width`: bits of a data word, 2 to 32. `counter`: it has the operation
    `COUNT` (Liu 2023, section 7.2.2). `bfloat16`: it has those of `BFLOAT16_OPERATIONS`, on words of 16 bits;
    `add_cycles` and `multiply_cycles`, 1 to 8 each, are the cycles of their adder and conversions and of their
    multiplier, and mean nothing without it."""

    width: int = 16
    counter: bool = False
    bfloat16: bool = False
    add_cycles: int = 2
    multiply_cycles: int = 2

    def __post_init__(self) -> None:
        if not 2 <= self.width <= 32:
            raise ConfigurationError(f"a processing element has words of 2 to 32 bits, not {self.width}")
        if self.bfloat16 and self.width != BFLOAT16.width:
            raise ConfigurationError(f"processing elements with bfloat16 have words of {BFLOAT16.width} bits, not "
                                     f"{self.width}")
        for name, cycles in (("add_cycles", self.add_cycles), ("multiply_cycles", self.multiply_cycles)):
            if not 1 <= cycles <= LONGEST_STEP:
                raise ConfigurationError(f"{name} of a processing element is 1 to {LONGEST_STEP}, not {cycles}")

    def latency(self, op: str) -> int:
        """Cycles from the operands of operation `op` at the inputs to its result at the output."""
        product = self.multiply_cycles if op in ("fmul", "fmad") else 0
        return PE_LATENCY + product + (self.add_cycles if op in ("fadd", "fsub", "fmad", "itof", "ftoi") else 0)


DEFAULT_PE = PeSpec()
"""Integers of 16 bits."""


@dataclass(frozen=True)
class PeConfig:
    """One operation of a processing element.

    `op` names an entry of `hw.ops.OPERATIONS` or of `hw.pe.bfloat16.BFLOAT16_OPERATIONS`; its word operands are, in
    their order, inputs word0, word1, word2 and its bit operands bit0, bit1, bit2. `signed` selects how words are
    extended. `constants` and `bit_constants` replace an input by a constant where they are not None; a word constant is
    a bit pattern, 0 to 2**width - 1. `table` is the truth table of lut3: bit ``p | q << 1 | r << 2`` is the result.

    `feedback` numbers the word operand that is the element's own result of the cycle before, None for none; factors
    cannot be (`PRODUCTS`). With `restart` it is that only where the bit at input bit2 is 0: where it is 1, the operand
    is the input or the constant of that number, as of the first step of a sum.
    """

    op: str
    signed: bool = False
    constants: tuple[int | None, int | None, int | None] = (None, None, None)
    bit_constants: tuple[int | None, int | None, int | None] = (None, None, None)
    table: int = 0
    feedback: int | None = None
    restart: bool = False

    @property
    def operation(self) -> Operation:
        """The operation's entry in the table. Raises `ConfigurationError` if there is none of that name."""
        if self.op not in _OPERATIONS:
            raise ConfigurationError(f"processing element: there is no operation '{self.op}'")
        return _OPERATIONS[self.op]

    @property
    def inputs(self) -> tuple[str, ...]:
        """Input ports that the operation reads and that are not constant, in the order of its operands; then that of
        `restart`."""
        count = {Kind.WORD: 0, Kind.BIT: 0}
        ports: list[str] = []
        for kind in self.operation.operands:
            index = count[kind]
            count[kind] += 1
            own = kind is Kind.WORD and index == self.feedback and not self.restart
            if not own and (self.constants if kind is Kind.WORD else self.bit_constants)[index] is None:
                ports.append(f"{kind.value}{index}")
        return (*ports, RESTART) if self.restart else tuple(ports)

    @property
    def output(self) -> str:
        """Output port of the result: "word0" or "bit0"."""
        return f"{self.operation.result.value}0"

    def words(self, spec: PeSpec) -> dict[tuple[int, int], int]:
        """Configuration words. Raises `ConfigurationError` for an unknown operation or a value that is too wide."""
        if self.op == COUNT.name:
            self._check_count(spec)
        if self.op in BFLOAT16_OPERATIONS and not spec.bfloat16:
            raise ConfigurationError(f"processing element: '{self.op}' needs bfloat16, which it does not have")
        self._check_feedback()
        values = {"enable": 1, "op": self.operation.code, "signed": int(self.signed), "table": self.table}
        for index, constant in enumerate(self.constants):
            if constant is not None:
                values |= {f"constant{index}_used": 1, f"constant{index}": constant}
        for index, constant in enumerate(self.bit_constants):
            if constant is not None:
                values |= {f"bit_constant{index}_used": 1, f"bit_constant{index}": constant}
        if self.feedback is not None:
            values |= {f"feedback{self.feedback}": 1, "restart": int(self.restart)}
        return pe_layout(spec).encode(values)

    def _check_count(self, spec: PeSpec) -> None:
        if not spec.counter:
            raise ConfigurationError("processing element: it has no counter")
        if None in self.constants:
            raise ConfigurationError("processing element: a counter takes three constants and no input")

    def _check_feedback(self) -> None:
        if self.feedback is None:
            if self.restart:
                raise ConfigurationError("processing element: nothing restarts without feedback")
            return
        words = self.operation.operands.count(Kind.WORD) if self.op not in BFLOAT16_OPERATIONS else 0
        if self.operation.result is not Kind.WORD or self.op == COUNT.name or not 0 <= self.feedback < words:
            raise ConfigurationError(f"processing element: '{self.op}' has no word operand {self.feedback} that its "
                                     "own result can be")
        if self.op in PRODUCTS and self.feedback < FACTORS:
            raise ConfigurationError(f"processing element: the own result is no factor of '{self.op}'")
        if self.restart and self.bit_constants[-1] is not None:
            raise ConfigurationError(f"processing element: the bit that restarts is no constant; leave {RESTART} to it")
        if not self.restart and self.constants[self.feedback] is not None:
            raise ConfigurationError("processing element: an operand is a constant and the own result")

    @classmethod
    def decode(cls, words: Words, spec: PeSpec) -> PeConfig | None:
        """The configuration that `words` encode; None if they leave the processing element off.

        Raises `ConfigurationError` for words that no configuration encodes to.
        """
        values = pe_layout(spec).decode(words)
        if not any(values.values()):
            return None
        if values["op"] not in _NAMES:
            raise ConfigurationError(f"processing element: there is no operation with code {values['op']}")
        config = cls(
            op=_NAMES[values["op"]],
            signed=bool(values["signed"]),
            constants=_optional(values, "constant"),
            bit_constants=_optional(values, "bit_constant"),
            table=values["table"],
            feedback=_feedback(values),
            restart=bool(values["restart"]),
        )
        if config.words(spec) != pe_layout(spec).encode(values):
            raise ConfigurationError("processing element: a constant or operation is set that is not in use")
        return config


def _optional(values: dict[str, int], name: str) -> tuple[int | None, int | None, int | None]:
    first, second, third = (
        values[f"{name}{index}"] if values[f"{name}{index}_used"] else None for index in range(OPERANDS)
    )
    return first, second, third


def _feedback(values: dict[str, int]) -> int | None:
    """The operand that the own result is; the first one of several, which no configuration has."""
    return next((index for index in range(OPERANDS) if values[f"feedback{index}"]), None)


@lru_cache
def pe_layout(spec: PeSpec) -> Layout:
    """Registers of a processing element."""
    fields = [Field("enable", 1), Field("op", 6), Field("signed", 1), Field("table", _TABLE_BITS)]
    fields += [Field(f"constant{index}_used", 1) for index in range(OPERANDS)]
    for index in range(OPERANDS):
        fields += [Field(f"bit_constant{index}_used", 1), Field(f"bit_constant{index}", 1)]
    fields += [*(Field(f"feedback{index}", 1) for index in range(OPERANDS)), Field("restart", 1)]
    fields += [Field(f"constant{index}", spec.width) for index in range(OPERANDS)]
    return Layout("processing element", PE_FEATURE, tuple(fields))
