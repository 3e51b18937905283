"""The processing elements of one statement: what they compute from which words, against the statement's expression.

The graph is followed in the decoded configuration from the statement's result back to the outputs that carry its
reads, so opcodes, constants, signedness, truth tables and operand order are those of the configuration. It is
evaluated with the operation table's reference meaning on corner and random operands. That compares arithmetic on
examples; tables are compared entry by entry, and everything about time and place is proven elsewhere for all instances.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from compiler.bind.cgra.validate.equivalent_reads import operand_types
from compiler.bind.cgra.validate.fabric import Fabric, Origin, operand
from compiler.bind.cgra.validate.operands import expected_values, with_numbers
from compiler.ir.expr import Lookup, postorder
from compiler.ir.program import Program, Statement
from compiler.ir.types import Int
from compiler.sched.verify import ValidationError, operand_vectors
from hw.fabric.routing import CoreOutput, StreamSource
from hw.memtile import AddressedConfig, DualPortConfig, PubConfig
from hw.ops import Kind
from hw.pe.config import PeConfig

__all__ = ["Datapath", "Leaf", "operation_evaluator", "require_same_value", "require_tables"]


@dataclass(frozen=True, order=True)
class Leaf:
    """The word that was visible at `origin` `lag` cycles before the statement's result is visible."""

    origin: Origin
    lag: int


Vectors = Mapping[Leaf, np.ndarray]
Evaluator = Callable[[Vectors], np.ndarray]
Found = tuple[Evaluator, Kind]


@dataclass
class Datapath:
    """The units between the result of `statement` at `root` and the outputs in `stops`, which carry its reads.

    `held`: what memories that are filled hold, as claimed. `leaves`, `units`, the contents of its `roms` and the leaves
    that are words of memories that are `filled` are there after construction. Raises `ValidationError` for
    anything else that feeds it, and for units that are off.
    """

    statement: Statement
    fabric: Fabric
    root: Origin
    stops: frozenset[Origin]
    held: Mapping[CoreOutput, np.ndarray] = field(default_factory=dict)
    leaves: dict[Leaf, None] = field(default_factory=dict)
    units: set[Origin] = field(default_factory=set)
    roms: dict[CoreOutput, np.ndarray] = field(default_factory=dict)
    filled: dict[Leaf, CoreOutput] = field(default_factory=dict)
    _known: dict[Leaf, Found] = field(default_factory=dict)
    _path: list[Origin] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._evaluate, kind = self._at(self.root, 0)
        if kind is not Kind.WORD:
            raise self._fail(f"its result at {self.root} is a bit")

    def _fail(self, reason: str) -> ValidationError:
        return ValidationError(f"{self.statement}: {reason}")

    def words(self, operands: Vectors) -> np.ndarray:
        """Result patterns (0 to 2**width - 1) for operand patterns."""
        return self._evaluate(operands)

    def _at(self, origin: Origin, lag: int) -> Found:
        place = Leaf(origin, lag)
        if origin in self.stops:
            self.leaves[place] = None
            return (lambda vectors: vectors[place]), Kind.WORD
        if place not in self._known:
            if origin in self._path:
                raise self._fail(f"its value depends on itself through {origin}")
            self._path.append(origin)
            evaluator, kind = self._unit(origin, lag)
            self._known[place] = _once(evaluator), kind
            self._path.pop()
        return self._known[place]

    def _unit(self, origin: Origin, lag: int) -> Found:
        if isinstance(origin, StreamSource):
            raise self._fail(f"it takes the {origin}, which none of its reads is")
        core = self.fabric.tile(origin.row, origin.column).core
        if self.fabric.fed_back(origin) is not None:
            raise self._fail(f"its value depends on itself: {origin} is a result, which none of its reads is")
        if isinstance(core, PeConfig):
            self.units.add(origin)
            return self._pe(origin, core, lag)
        if isinstance(core, PubConfig | DualPortConfig | AddressedConfig) and core.rom and origin.port == "out0":
            self.units.add(origin)
            return self._rom(origin, core, lag)
        raise self._fail(f"it takes {origin}, which none of its reads is")

    def _operand(self, unit: CoreOutput, port: str, lag: int, kind: Kind) -> Evaluator:
        arrival = self.fabric.arrival(unit.row, unit.column, port)
        value, found = self._at(arrival.origin, lag + arrival.lag)
        if found is not kind:
            raise self._fail(f"input {port} of the unit at ({unit.row}, {unit.column}) gets a {found.value}")
        return value

    def _pe(self, unit: CoreOutput, config: PeConfig, lag: int) -> Found:
        entry = config.operation
        if unit.port != config.output:
            raise self._fail(f"it takes {unit}, but '{config.op}' has its result at {config.output}")
        count, before = {Kind.WORD: 0, Kind.BIT: 0}, lag + self.fabric.steps(config)
        operands = []
        for kind in entry.operands:
            index = count[kind]
            count[kind] += 1
            if kind is Kind.WORD and index == config.feedback:
                operands.append(self._at(operand(unit, index), before)[0])
                continue
            constant = (config.constants if kind is Kind.WORD else config.bit_constants)[index]
            operands.append(_constant(constant) if constant is not None else
                            self._operand(unit, f"{kind.value}{index}", before, kind))
        return operation_evaluator(config, operands, self.fabric.spec.width), entry.result

    def _rom(self, unit: CoreOutput, config: PubConfig | DualPortConfig | AddressedConfig,
             lag: int) -> Found:
        spec = self.fabric.spec.mem_at(unit.column)
        address = self._operand(unit, "in0", lag + spec.ROM_LATENCY, Kind.WORD)
        table = np.zeros(spec.capacity_words, dtype=np.int64)
        if any(config.inputs):
            words = self.held.get(unit)
            if words is None:
                raise self._fail(f"{unit} looks words up in a memory that holds no table")
            table[: len(words)] = words & ((1 << self.fabric.spec.width) - 1)
            self.filled[Leaf(unit, lag)] = unit
        else:
            table[: len(config.contents)] = config.contents
            self.roms[unit] = table
        return (lambda vectors: table[address(vectors) % len(table)]), Kind.WORD


def _once(evaluator: Evaluator) -> Evaluator:
    """The same, evaluated once for the same vectors: values that many units use would be computed again for each way
    from them to the result."""
    last: list[tuple[Vectors, np.ndarray]] = []

    def remembered(vectors: Vectors) -> np.ndarray:
        if not last or last[0][0] is not vectors:
            last[:] = [(vectors, evaluator(vectors))]
        return last[0][1]

    return remembered


def _constant(value: int) -> Evaluator:
    return lambda vectors: np.array([value], dtype=np.int64)


def operation_evaluator(config: PeConfig, operands: Sequence[Evaluator], width: int) -> Evaluator:
    """The pattern that a processing element computes from the patterns of its operands."""
    word = Int(width, config.signed)
    mask = (1 << width) - 1 if config.operation.result is Kind.WORD else 1
    table = [config.table] if config.op == "lut3" else []

    def evaluator(vectors: Vectors) -> np.ndarray:
        values = [operand(vectors) for operand in operands]
        read = [word.wrap(v) if kind is Kind.WORD else v
                for v, kind in zip(values, config.operation.operands, strict=True)]
        return np.asarray(config.operation.evaluate(width, *table, *read)) & mask

    return evaluator


def require_tables(program: Program, datapath: Datapath) -> None:
    """Raise `ValidationError` unless every ROM holds, entry by entry, a table that the statement looks up."""
    mask = (1 << datapath.fabric.spec.width) - 1
    names = dict.fromkeys(node.table for node in postorder(datapath.statement.value) if isinstance(node, Lookup))
    tables = {name: np.array(program.table(name).values, dtype=np.int64) & mask for name in names}
    for unit, contents in datapath.roms.items():
        wrong = {name: np.flatnonzero(contents[: len(values)] != values) for name, values in tables.items()
                 if len(values) <= len(contents)}
        if all(places.size for places in wrong.values()):
            name = min(wrong, key=lambda n: wrong[n].size, default=None)
            what = "no table" if name is None else f"not table '{name}' (entry {wrong[name][0]} differs)"
            raise ValidationError(f"{datapath.statement}: the memory at ({unit.row}, {unit.column}) holds {what}")


def require_same_value(program: Program, datapath: Datapath, sees: Mapping[Leaf, int],
                       classes: Mapping[int, int]) -> int:
    """Compare on operand vectors, and return their number. Raises `ValidationError` with the operands.

    `sees` tells which read each leaf is; `classes` maps every read to the first one that sees the same values.
    """
    statement = datapath.statement
    types = operand_types(program, statement, classes)
    columns = dict(zip(types, operand_vectors(list(types.values())), strict=True)) if types else {}
    columns = with_numbers(statement, types, columns)
    values, expected = expected_values(program, statement, columns, classes)
    mask = (1 << datapath.fabric.spec.width) - 1
    operands = {leaf: values[classes[k]].astype(np.int64) & mask for leaf, k in sees.items()}
    size = max([1, *(len(v) for v in values.values())])
    expected, actual = (np.broadcast_to(v, (size,)) for v in (expected & mask, datapath.words(operands)))
    wrong = np.flatnonzero(expected != actual)
    if wrong.size:
        first = int(wrong[0])
        row = ", ".join(f"{statement.reads[k].array} = {v[first]}" for k, v in values.items())
        raise ValidationError(f"{statement} computes {expected[first]} from operands {row or 'of its own'}; "
                              f"its processing elements compute {actual[first]}")
    return size

