"""Lower bounds of a run that hold for every schedule: bytes over the memory port, chains of dependences."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import prod

import islpy as isl

from compiler.analysis.dependences import flow
from compiler.analysis.instance_budget import count_instances
from compiler.analysis.isl_effort import EffortError, bounded_operations
from compiler.ir.program import Array, Program
from hw.dataflow.registers import element_bytes
from hw.main_memory import MainMemory

__all__ = ["Bounds", "Traffic", "array_bytes", "dependence_steps", "full_beats", "overlapped_cycles", "program_traffic",
           "traffic_text"]

_START = 16
"""Cycles from the start bit to the first address and from the last answer to done, about."""


_EFFORT = 1_000_000
"""Steps of isl that the longest path of a statement may take."""


@dataclass(frozen=True)
class Bounds:
    """Clock cycles that no run of a program can be shorter than, by what they come from.

    `operations`: of the statement (or the unit) with most to do, at one per unit and cycle. `transfers`: bytes over
    the memory port; reads and writes are separate channels, so it is the larger of bytes in and bytes out.
    `dependences`: the longest known chain of operations that wait for each other, a cycle each.
    """

    operations: int
    transfers: int
    dependences: int = 0

    @property
    def cycles(self) -> int:
        """The greatest of the three."""
        return max(self.operations, self.transfers, self.dependences)

    @property
    def binding(self) -> str:
        """The name of the greatest term."""
        terms = {"operations": self.operations, "transfers": self.transfers, "dependences": self.dependences}
        return max(terms, key=lambda name: terms[name])

    def __str__(self) -> str:
        return f"operations {self.operations}, transfers {self.transfers}, dependences {self.dependences}"


@dataclass(frozen=True)
class Traffic:
    """Bytes that have to come from main memory, and bytes that have to go there, at least."""

    bytes_in: int
    bytes_out: int

    def cycles(self, memory: MainMemory) -> int:
        """Cycles that the port is busy at least."""
        return memory.beats(self.bytes_in, self.bytes_out)


def overlapped_cycles(unstalled: int, traffic: Traffic, memory: MainMemory) -> int:
    """A model of a run from start to done in which transfers and `unstalled` cycles overlap: the latency of the first
    burst and the answer of the last one come on top."""
    return max(unstalled, traffic.cycles(memory)) + 2 * memory.latency + _START


def array_bytes(array: Array) -> int:
    """Bytes of an array in memory; elements take a power of two of them."""
    return prod(array.shape) * element_bytes(array.type.width)


def full_beats(array: Array, bus_bits: int) -> int:
    """Beats that hold all of an array."""
    return -(-8 * array_bytes(array) // bus_bits)


def traffic_text(array: Array, bytes_: int, beats: int, bus_bits: int) -> str:
    """The bytes and beats in which an array moves, over those that it has."""
    return f"{bytes_} / {array_bytes(array)} bytes, {beats} / {full_beats(array, bus_bits)} beats"


def program_traffic(program: Program, factors: Mapping[str, int] | None = None) -> Traffic:
    """Each element of an input that is read comes once, each element of an output that is written goes once; elements
    take a power of two of bytes, or as many of them together as `factors` says, by array."""
    reads = [(access.array, access.map.intersect_domain(s.domain)) for s in program.statements for access in s.reads]
    writes = [(s.write.array, s.write.map.intersect_domain(s.domain)) for s in program.statements]
    return Traffic(_bytes(program.inputs, reads, factors or {}), _bytes(program.outputs, writes, factors or {}))


def _bytes(arrays: Iterable[Array], accesses: list[tuple[str, isl.Map]], factors: Mapping[str, int]) -> int:
    bits = 0
    for array in arrays:
        touched = [access.range() for name, access in accesses if name == array.name]
        together = factors.get(array.name, 1)
        bits += _elements(array, touched) * 8 * element_bytes(together * array.type.width) // together
    return -(-bits // 8)


def _elements(array: Array, touched: list[isl.Set]) -> int:
    """Elements that accesses touch; without counting them one by one where they are a box."""
    if not touched:
        return 0
    found = touched[0]
    for more in touched[1:]:
        found = found.union(more)
    return count_instances(found.coalesce())


def dependence_steps(program: Program) -> int:
    """Operations in the longest chain of one statement that goes on from its own values; 0 if none is known. Longer
    chains that pass several statements are not looked for, nor those whose length isl does not say exactly: this is a
    lower bound."""
    carried: dict[str, isl.Map] = {}
    for dependence in flow(program):
        if dependence.source == dependence.sink:
            known = carried.get(dependence.sink, dependence.relation)
            carried[dependence.sink] = known.union(dependence.relation).coalesce()
    return max(map(_longest_chain, carried.values()), default=0)


def _longest_chain(relation: isl.Map) -> int:
    """Instances on the longest path along `relation`, which takes each to those before it."""
    if relation.is_empty():
        return 0
    try:
        with bounded_operations(_EFFORT):
            lengths, exact = relation.reverse().reaching_path_lengths()
            longest = lengths.range().dim_max_val(0)
    except EffortError:  # the longest path would take isl longer to find than it is worth
        return 0
    return longest.to_python() + 1 if exact and longest.is_int() else 0
