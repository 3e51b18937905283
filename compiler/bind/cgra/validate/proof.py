"""The proof that a configured array computes its program; see `compiler.bind.cgra.validate` for what is proven."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import islpy as isl
import numpy as np

from compiler.bind.cgra.mapping import Application
from compiler.bind.cgra.place_and_route import Physical
from compiler.bind.cgra.validate.addressed import AddressedProof, AddressStreams
from compiler.bind.cgra.validate.banks import BankProof, require_disjoint_arrays
from compiler.bind.cgra.validate.claims import Claims
from compiler.bind.cgra.validate.datapath import Datapath, Leaf, require_same_value, require_tables
from compiler.bind.cgra.validate.enumeration import Enumeration
from compiler.bind.cgra.validate.equivalent_reads import same_origins, same_values
from compiler.bind.cgra.validate.fabric import Fabric, Origin
from compiler.bind.cgra.validate.filled import filled_tables, stored_words
from compiler.bind.cgra.validate.memory import MemoryProof
from compiler.bind.cgra.validate.memory_enumerated import MemoryNumbers
from compiler.bind.cgra.validate.merge_ways import MergeWays
from compiler.ir.program import Array, Program, Statement
from compiler.sched.verify import (
    Difference,
    Origins,
    Source,
    ValidationError,
    bounded_effort,
    difference,
    final_origins,
    read_origins,
)
from compiler.sched.verify.relations import corner_points, first_point
from compiler.sched.verify.samples import SampleWords
from hw.fabric.config import ArrayConfig
from hw.fabric.driver import RunPlan
from hw.fabric.routing import CoreOutput, StreamSource
from hw.fabric.spec import GLB_INPUT_LATENCY, FabricSpec
from hw.memtile import AddressedConfig, DualPortConfig, PubConfig

__all__ = ["Proof", "ValidationReport"]

Describe = Callable[[tuple[int, ...]], str]
"""Who wants a word, in words, from a point of the domain that wants it."""


@dataclass
class ValidationReport:
    """What one validation has proven, in numbers. `tiles`: if that is for all tiles by the first ones, how many these
    are, which are counted."""

    statements: int = 0
    reads: int = 0
    memory_outputs: int = 0
    port_pairs: int = 0
    banks: int = 0
    elements: int = 0
    units: int = 0
    vectors: int = 0
    tiles: int = 0

    def __str__(self) -> str:
        window = f" of the first {self.tiles} tiles, which stand for all" if self.tiles else ""
        return (f"validated{window}: {self.reads} reads of {self.statements} statements see their values through "
                f"{self.memory_outputs} memory outputs, {self.port_pairs} pairs of controllers never share a port, "
                f"{self.units} units compute their expressions on {self.vectors} operand vectors, "
                f"{self.elements} output elements are captured by {self.banks} banks in time")


@dataclass(frozen=True)
class Demand:
    """Words that somebody needs: in the cycle ``cycles(x)`` the word named by ``origins`` for x, for all points x."""

    cycles: isl.Map
    origins: isl.Map
    describe: Describe
    few: bool = False

    def samples(self) -> Demand:
        """The demand at a few points of its domain only."""
        return self._only(corner_points(self.origins.domain()))

    def at(self, point: tuple[int, ...]) -> Demand:
        """The demand at one point."""
        domain = self.origins.domain()
        for position, value in enumerate(point):
            domain = domain.fix_val(isl.dim_type.set, position, isl.Val(value))
        return self._only(domain)

    def _only(self, some: isl.Set) -> Demand:
        return Demand(self.cycles.intersect_domain(some), self.origins.intersect_domain(some), self.describe, few=True)


@dataclass
class Proof:
    """Everything needed while proving one mapping. `addresses`: byte address of every array in main memory."""

    program: Program
    config: ArrayConfig
    plan: RunPlan
    addresses: Mapping[str, int]
    spec: FabricSpec
    claims: Claims
    report: ValidationReport = field(default_factory=ValidationReport)

    @classmethod
    def of(cls, program: Program, application: Application, physical: Physical, config: ArrayConfig, plan: RunPlan,
           addresses: Mapping[str, int], spec: FabricSpec) -> Proof:
        """A proof to be run of `program` mapped as `application` and `physical` say."""
        claims = Claims(program, application, physical, spec, plan.period)
        return cls(program, config, plan, addresses, spec, claims)

    def __post_init__(self) -> None:
        self.fabric = Fabric(self.config, self.spec)
        self._visible: dict[str, isl.Map] = {}
        self._wanted: list[str] = []
        self._banks: dict[int, BankProof] = {}
        self._filled = filled_tables(self.program)
        self._memories: dict[tuple[int, int], MemoryProof | AddressedProof] = {}
        self._enumeration = Enumeration(self.fabric, self.claims, self._banks, self._memories,
                                        lambda name: self._cycles(self.program.statement(name)))
        self._ways = MergeWays(self.fabric, self._memories)

    def run(self) -> ValidationReport:
        """Prove everything, from the outputs backwards. Raises `ValidationError` with a witness."""
        self.claims.require_own_sites()
        self._prove_banks()
        self._prove_memories()
        for array in self.program.outputs:
            self._prove_output(array)
        done = 0
        while done < len(self._wanted):
            self._prove_statement(self.program.statement(self._wanted[done]))
            done += 1
        self.report.statements = done
        return self.report

    # Units.

    def _prove_banks(self) -> None:
        if set(self.plan.banks) != set(self.config.banks):
            raise ValidationError(f"banks are configured in columns {sorted(self.config.banks)}, "
                                  f"DMA descriptors in {sorted(self.plan.banks)}")
        served: dict[int, Array] = {}
        application = self.claims.application
        for name in [*application.streams_in, *application.streams_out]:
            array, column = self.program.array(name), self.claims.bank(name)
            bank = self.config.banks.get(column)
            if bank is None or bank.direction != array.role:
                raise ValidationError(f"{array.role} {array.name} has no {array.role} bank in column {column}")
            self._banks[column] = BankProof(column, bank, self.plan.banks[column], array,
                                            self.addresses[name], self.plan, self.spec)
            last = self._banks[column].last_cycle
            if last >= self.plan.run_cycles:
                raise ValidationError(f"{array.role} {array.name} has its last word in cycle {last}, the run has "
                                      f"{self.plan.run_cycles} cycles")
            served[column] = array
        idle = sorted(set(self.config.banks) - set(served))
        if idle:
            raise ValidationError(f"the bank of column {idle[0]} is on, but serves no array")
        require_disjoint_arrays(list(served.values()), self.addresses)
        self.report.banks = len(served)

    def _prove_memories(self) -> None:
        streams = AddressStreams(self.fabric, self._last_cycle() + 1)
        for place, tile in self.config.tiles.items():
            if isinstance(tile.core, PubConfig | DualPortConfig | AddressedConfig) and not tile.core.rom:
                name = self.claims.names.get(place, f"the unused tile {place}")
                if isinstance(tile.core, AddressedConfig):
                    proof = AddressedProof(name, place, tile.core, streams)
                else:
                    proof = MemoryProof(name, tile.core, self.spec.mem_at(place[1]), self.plan.run_cycles)
                self._memories[place] = proof
                self.report.port_pairs += proof.port_pairs
                self.report.memory_outputs += sum(port is not None for port in tile.core.outputs)

    def _last_cycle(self) -> int:
        """The last cycle of the run, or of an instance behind its end: the values of such ones are not needed, but they
        are in the domains that are proven."""
        results = self.claims.application.results
        ends = [self.claims.visible(statement).range().dim_max_val(0).to_python()
                for statement in self.program.statements if statement.name in results]
        return max([self.plan.run_cycles - 1, *ends])

    def _prove_output(self, array: Array) -> None:
        """Every element that the program writes is captured, in time, from the statement that writes it last."""
        column = self.claims.bank(array.name)
        bank = self._banks[column]
        arrival = self.fabric.capture(column % self.spec.columns)
        cycles = bank.sent.apply_range(isl.Map(f"{{ [c] -> [c - {arrival.lag}] }}"))
        finals = final_origins(self.program, array.name)
        self._require_written(array, bank, finals)
        for source, relation in finals.items():
            captured = bank.elements.apply_range(relation)
            self._prove_all(arrival.origin, source, Demand(cycles, captured, self._capture_of(array, bank)))

    def _require_written(self, array: Array, bank: BankProof, finals: Origins) -> None:
        """The elements that the bank moves to main memory are those that the program writes."""
        written = isl.Set(f"{{ {array.name}[{', '.join(f'e{k}' for k in range(len(array.shape)))}] : 1 = 0 }}")
        for relation in finals.values():
            written = written.union(relation.domain())
        elements = bank.elements
        outside = bank.accesses.times.domain().subtract(elements.domain())
        if not outside.is_empty():
            raise ValidationError(f"output {array.name}: access {first_point(outside)} of the bank in column "
                                  f"{bank.column} goes to no element")
        strange = elements.range().subtract(written)
        if not strange.is_empty():
            raise ValidationError(f"element {list(first_point(strange))} of output {array.name} is captured, but the "
                                  "program does not write it")
        # As many different ones as the program writes, and no others: all of them.
        if bank.total != written.count_val().to_python() or not elements.is_injective():
            missing = written.subtract(elements.range())
            what = f"element {list(first_point(missing))} of" if not missing.is_empty() else "an element of"
            how = "never captured" if not missing.is_empty() else "captured twice"
            raise ValidationError(f"{what} output {array.name} is {how}")
        self.report.elements += bank.total

    def _capture_of(self, array: Array, bank: BankProof) -> Describe:
        def describe(point: tuple[int, ...]) -> str:
            text = isl.Set(f"{{ {bank.accesses.name}[{', '.join(map(str, point))}] }}")
            element = first_point(bank.elements.intersect_domain(text).range())
            return f"output {array.name}{list(element)} is captured"
        return describe

    # Statements.

    def _prove_statement(self, statement: Statement) -> None:
        """The unit that is claimed to carry a statement's values does."""
        statement, claims, name = stored_words(statement), self.claims, statement.name
        numbers = range(len(statement.reads))
        pins = {k: pin for k in numbers if (pin := claims.read(name, k)) is not None}
        datapath = Datapath(statement, self.fabric, claims.result(name), frozenset(pins.values()), self._held())
        sees = {leaf: self._seen(name, pins, leaf) for leaf in datapath.leaves}
        origins = {k: read_origins(self.program, statement, k) for k in numbers}
        for leaf, reads in sees.items():
            for place, k in enumerate(reads):
                if not any(same_origins(origins[k], origins[j]) for j in reads[:place]):
                    self._prove_leaf(statement, leaf, k, origins[k])
        require_tables(self.program, datapath)
        for leaf in datapath.filled:
            self._prove_filled(statement, leaf)
        classes = same_values(self.program, origins, sees.values())
        first = {leaf: reads[0] for leaf, reads in sees.items()}
        self.report.vectors += require_same_value(self.program, datapath, first, classes)
        self.report.units += len(datapath.units)

    def _held(self) -> dict[CoreOutput, np.ndarray]:
        """What memories hold that are filled, as samples."""
        words = SampleWords(self.program).words
        return {unit: words[memory] for unit, memory in self.claims.held.items()}

    def _prove_filled(self, statement: Statement, leaf: Leaf) -> None:
        """A memory in which `statement` looks words up holds them from the first one on."""
        unit = leaf.origin
        assert isinstance(unit, CoreOutput)
        memory, core = self.claims.held[unit], self.fabric.tile(unit.row, unit.column).core
        table, spec = self._filled.get(memory), self.spec.mem_at(unit.column)
        if table is None or not isinstance(core, PubConfig | DualPortConfig):
            raise ValidationError(f"{statement}: no statement fills memory '{memory}'")
        table.require_before(self.program, statement)
        first = self._cycles(statement).range().dim_min_val(0).to_python() - leaf.lag - spec.ROM_LATENCY
        port, cycles = table.cycles(MemoryNumbers(core, spec), first)
        arrival = self.fabric.arrival(unit.row, unit.column, f"in{port}")
        self._cycles(table.statement)
        right = self._enumeration.right(arrival.origin, Source(table.statement.name, computed=True),
                                        cycles - arrival.lag, table.instances[table.known])
        if not right.all():
            word = int(np.flatnonzero(table.known)[np.argmin(right)])
            raise ValidationError(f"{statement} looks up '{table.memory.label}', but word {word} in its memory tile "
                                  f"at ({unit.row}, {unit.column}) is not what {table.statement} stores")
        self.report.memory_outputs += 1

    def _seen(self, name: str, pins: Mapping[int, Origin], leaf: Leaf) -> list[int]:
        """The reads of a statement that a leaf is. It is several only if a closed guard leaves open what some deliver:
        else reads of one word at one time have the same origins."""
        late = {k: abs(self.claims.lag(name, k) - leaf.lag) for k, pin in pins.items() if pin == leaf.origin}
        return [k for k, cycles in late.items() if cycles == min(late.values())]

    def _prove_leaf(self, statement: Statement, leaf: Leaf, index: int, origins: Origins) -> None:
        """The word that enters a statement's arithmetic is the value that its read means, for every instance."""
        cycles = self._cycles(statement).apply_range(isl.Map(f"{{ [c] -> [c - {leaf.lag}] }}"))
        for source, relation in origins.items():
            demand = Demand(cycles, relation, _reader(statement, index))
            self._prove_all(leaf.origin, source, demand)
        self.report.reads += 1

    def _prove_all(self, origin: Origin, source: Source, demand: Demand) -> None:
        """One instance after the other while they are few; else by relations, which are quick through delay lines but
        see no word that an output holds."""
        enumeration, domain = self._enumeration, demand.origins.domain()
        if source.computed and enumeration.is_result(origin, source):
            self._prove(origin, source, demand)
        elif enumeration.cheap(domain) or (enumeration.is_merge(origin) and enumeration.quick(domain)):
            self._prove_each(origin, source, demand)
        elif enumeration.is_merge(origin):
            self._prove_or_each(origin, source, demand, lambda: self._prove_merge(origin, source, demand))
        elif enumeration.even(origin, source):
            self._prove_or_each(origin, source, demand, lambda: self._prove(origin, source, demand))
        elif enumeration.quick(domain):
            self._prove_each(origin, source, demand)
        else:
            # A wrong mapping mostly shows at once; the proof for all instances can be long then.
            self._prove_or_each(origin, source, demand.samples(), lambda: self._prove(origin, source, demand.samples()))
            self._prove_or_each(origin, source, demand, lambda: self._prove(origin, source, demand))

    def _prove_or_each(self, origin: Origin, source: Source, demand: Demand, prove: Callable[[], None]) -> None:
        """By relations, or where these do not prove it one instance after the other, if they are not too many."""
        try:
            with bounded_effort():
                prove()
        except ValidationError:
            if not self._enumeration.affordable(demand.origins.domain()):
                raise
            self._prove_each(origin, source, demand)

    def _prove_merge(self, origin: Origin, source: Source, demand: Demand) -> None:
        """The words come by the way that the bit of each cycle selects."""
        cycles = demand.cycles.intersect_domain(demand.origins.domain())
        ways = self._ways.of(origin, cycles.range())
        if ways is None:
            raise ValidationError(f"{demand.describe(self._first(cycles))} from {self.claims.name(origin)}, of which "
                                  "it is not known which of its inputs it passes on")
        left = cycles.domain()
        for way in ways:
            here = cycles.intersect_range(way.cycles).domain()
            if here.is_empty():
                continue
            left = left.subtract(here)
            part = Demand(cycles.intersect_domain(here).apply_range(isl.Map(f"{{ [c] -> [c - {way.lag}] }}")),
                          demand.origins.intersect_domain(here), demand.describe, demand.few)
            if way.origin is not None:
                self._prove_all(way.origin, source, part)
            elif way.constant is None or not (source.computed
                                              and self._enumeration.is_constant(source.name, way.constant)):
                raise self._strange(origin, demand, here)
        if not left.is_empty():
            raise self._strange(origin, demand, left)

    def _strange(self, origin: Origin, demand: Demand, points: isl.Set) -> ValidationError:
        point = first_point(points)
        return ValidationError(f"{demand.describe(point)}, but {self.claims.name(origin)} delivers another word")

    def _prove_each(self, origin: Origin, source: Source, demand: Demand) -> None:
        wrong = self._enumeration.first_wrong(origin, source, demand.cycles, demand.origins)
        if wrong is not None:
            if self.fabric.fed_back(origin) is None:
                self._prove(origin, source, demand.at(wrong))
            raise ValidationError(f"{demand.describe(wrong)}, but {self.claims.name(origin)} delivers another word")

    def _cycles(self, statement: Statement) -> isl.Map:
        """{instance -> [cycle]} in which its value is visible, as claimed; the statement is then to be proven."""
        if statement.name not in self._visible:
            self._visible[statement.name] = self.claims.visible(statement)
            self._wanted.append(statement.name)
        return self._visible[statement.name]

    # Words.

    def _prove(self, origin: Origin, source: Source, demand: Demand) -> None:
        """The words of `demand`, values of `source`, are visible at `origin` when they are needed."""
        cycles = demand.cycles.intersect_domain(demand.origins.domain())
        passed = self.fabric.passed(origin)
        if source.computed and self.claims.result(source.name) == origin:
            self._prove_result(origin, source.name, demand, cycles)
        elif passed is not None:
            earlier = demand.cycles.apply_range(isl.Map(f"{{ [c] -> [c - {passed.lag}] }}"))
            self._prove(passed.origin, source, replace(demand, cycles=earlier))
        elif isinstance(origin, StreamSource):
            self._prove_stream(origin, source, demand, cycles)
        elif self._enumeration.is_merge(origin):
            self._prove_merge(origin, source, demand)
        else:
            self._prove_memory(origin, source, demand, cycles)

    def _prove_result(self, origin: Origin, source: str, demand: Demand, cycles: isl.Map) -> None:
        """At the output of the producer: the cycle is the one in which the instance's value is visible."""
        visible = self._cycles(self.program.statement(source))
        expected = demand.origins.apply_range(visible)
        wrong = difference(cycles, expected)
        if wrong is not None:
            raise self._witness(origin, demand, wrong, self._at(visible, wrong.actual), wrong.actual)

    def _prove_stream(self, origin: StreamSource, source: Source, demand: Demand, cycles: isl.Map) -> None:
        """At a bank: the access that shows its word in the cycle has the element."""
        bank = self._banks.get(origin.column)
        if bank is None or source != Source(bank.array.name, computed=False) or bank.bank.direction != "input":
            raise ValidationError(f"{demand.describe(self._first(cycles))} from {self.claims.name(origin)}, "
                                  f"which does not carry values of {source}")
        read = cycles.apply_range(isl.Map(f"{{ [c] -> [c - {GLB_INPUT_LATENCY}] }}"))
        delivered = bank.elements_of(read.apply_range(bank.sent.reverse()))
        wrong = difference(delivered, demand.origins)
        if wrong is not None:
            seen = None if wrong.actual is None else f"{bank.array.name}{list(wrong.actual)}"
            raise self._witness(origin, demand, wrong, seen, self._image(cycles, wrong.point))

    def _prove_memory(self, origin: CoreOutput, source: Source, demand: Demand, cycles: isl.Map) -> None:
        """At a memory: back to the cycles in which the words were at its inputs, and to their drivers."""
        memory = self._memories.get((origin.row, origin.column))
        if memory is None:
            raise ValidationError(f"{demand.describe(self._first(cycles))} from {self.claims.name(origin)}, "
                                  f"which does not carry values of {source}")
        uncovered = cycles.domain()
        output = int(origin.port.removeprefix("out"))
        for port, shown in memory.shown_in(output, cycles.range()) if demand.few else memory.shown(output):
            at_input = cycles.apply_range(shown)
            if at_input.is_empty():
                continue
            uncovered = uncovered.subtract(at_input.domain())
            arrival = self.fabric.arrival(origin.row, origin.column, port)
            earlier = at_input.apply_range(isl.Map(f"{{ [c] -> [c - {arrival.lag}] }}")).coalesce()
            describe = self._through(origin, demand.describe, cycles)
            part = demand.origins.intersect_domain(at_input.domain())
            self._prove(arrival.origin, source, Demand(earlier, part, describe, demand.few))
        if not uncovered.is_empty():
            point = first_point(uncovered)
            raise ValidationError(f"{demand.describe(point)} from {self.claims.name(origin)}, which delivers no "
                                  f"word that was written (cycle {self._image(cycles, point)[0]})")

    def _through(self, origin: Origin, describe: Describe, cycles: isl.Map) -> Describe:
        def text(point: tuple[int, ...]) -> str:
            return f"{describe(point)} from {self.claims.name(origin)} (cycle {self._image(cycles, point)[0]})"
        return text

    # Witnesses.

    def _witness(self, origin: Origin, demand: Demand, wrong: Difference, seen: str | None,
                 cycle: tuple[int, ...] | None) -> ValidationError:
        when = "" if cycle is None else f" in cycle {cycle[0]}"
        what = "no word of the program" if seen is None else f"the word of {seen}"
        return ValidationError(f"{demand.describe(wrong.point)}, but {self.claims.name(origin)} delivers {what}{when}")

    @staticmethod
    def _at(visible: isl.Map, cycle: tuple[int, ...] | None) -> str | None:
        """The statement instance whose value is visible in a cycle."""
        if cycle is None:
            return None
        points = visible.intersect_range(isl.Set(f"{{ [{cycle[0]}] }}")).domain()
        if points.is_empty():
            return None
        return f"{points.get_tuple_name()}{list(first_point(points))}"

    @staticmethod
    def _first(cycles: isl.Map) -> tuple[int, ...]:
        return first_point(cycles.domain())

    @staticmethod
    def _image(relation: isl.Map, point: tuple[int, ...]) -> tuple[int, ...]:
        fixed = relation
        for position, value in enumerate(point):
            fixed = fixed.fix_val(isl.dim_type.in_, position, isl.Val(value))
        return first_point(fixed.range())


def _reader(statement: Statement, index: int) -> Describe:
    """Words for one read, from the statement instance that does it."""
    access = statement.reads[index]

    def describe(point: tuple[int, ...]) -> str:
        where = ", ".join(f"{n} = {v}" for n, v in zip(statement.iterators, point, strict=True))
        instance = isl.Set(f"{{ {statement.name}[{', '.join(map(str, point))}] }}")
        element = first_point(access.map.intersect_domain(instance).range())
        return f"{statement} reads {access.array}{list(element)} at {where}"

    return describe
