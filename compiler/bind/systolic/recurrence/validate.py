"""Translation validation of a finished array: every word is the value that the program means, and nothing gets stuck.

The array is run as a network of processes (`model`), whose words carry the names of values. What each statement
instance must see comes from value-based flow and the access maps of the program, the last writer of each element of a
result from going through all instances in the program's order.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NoReturn

import islpy as isl
import numpy as np

from compiler.analysis.dependences import flow
from compiler.bind.systolic.recurrence.mapping import ArrayMapping
from compiler.bind.systolic.recurrence.model import Network, Token, build_network
from compiler.bind.systolic.recurrence.validate_words import validate_words
from compiler.ir.points import Columns, enumerate_points, evaluate_map
from compiler.ir.program import Access, Program, Statement
from compiler.sched.space_time.errors import SpaceTimeError

__all__ = ["validate_array"]

Value = tuple[object, ...]
"""("in", array, element) or ("node", statement, instance)."""


def validate_array(mapping: ArrayMapping) -> Network:
    """The finished run of the array's network. Raises `SpaceTimeError` unless everything in it is right."""
    validate_words(mapping)
    network = build_network(mapping.spec)
    stuck = network.run()
    if stuck:
        raise SpaceTimeError(f"array {mapping.spec.name}: it would get stuck: {stuck[0]}")
    for channel in network.channels:
        if channel.left and not channel.name.startswith("memory after"):
            raise SpaceTimeError(f"array {mapping.spec.name}: {channel.left} words stay in {channel.name}")
    _Check(mapping, network).run()
    return network


class _Check:
    def __init__(self, mapping: ArrayMapping, network: Network) -> None:
        self.mapping = mapping
        self.network = network
        self.program: Program = mapping.recurrence.program
        self.instances = {s.name: self._by_step(s) for s in self.program.statements}

    def run(self) -> None:
        """Every operand of every firing, then every word of the results."""
        wanted = {s.name: _expected(self.program, s) for s in self.program.statements}
        seen: dict[str, set[tuple[int, ...]]] = {s.name: set() for s in self.program.statements}
        for name, step, operands in self.network.fired:
            instance = self.instances[name].get(step)
            if instance is None or instance in seen[name]:
                self._fail(f"statement '{name}' fires at {step}, which is none of its instances or one that has fired")
            seen[name].add(instance)
            for number, (token, value) in enumerate(zip(operands, wanted[name][instance], strict=True)):
                if self._value(token) != value:
                    self._fail(f"operand {number} of {name}{list(instance)} is {self._value(token)}, not {value}")
        for name, instances in seen.items():
            if len(instances) != len(self.instances[name]):
                self._fail(f"statement '{name}' fires {len(instances)} times, not {len(self.instances[name])}")
        self._results()

    def _fail(self, reason: str) -> NoReturn:
        raise SpaceTimeError(f"array {self.mapping.spec.name}: {reason}")

    def _by_step(self, statement: Statement) -> dict[tuple[int, ...], tuple[int, ...]]:
        """{coordinates and counters of a step -> instance}."""
        recurrence = self.mapping.recurrence
        count, columns = enumerate_points(statement.domain)
        place = evaluate_map(recurrence.places[statement.name], statement.domain, columns, count)
        place = [np.broadcast_to(column, count) for column in place]
        first = [recurrence.loops.index(name) for name in self.mapping.space]
        order = first + [k for k in range(len(place)) if k not in first]
        return dict(zip(_rows([place[k] for k in order]), _rows(columns), strict=True))

    def _value(self, token: Token) -> Value:
        match token:
            case ("in", int(stream), int(number)):
                source = self.mapping.inputs[stream]
                return "in", source.array, int(source.elements[number])
            case ("node", str(name), tuple(step)):
                return "node", name, self.instances[name][step]
        return token

    def _results(self) -> None:
        writers = _last_writers(self.program)
        found: dict[tuple[str, int], Value] = {}
        for stream, number in zip(self.mapping.outputs, self.network.ends["out"], strict=True):
            tokens = self.network.channels[number].tokens
            for element, token in zip(stream.elements, tokens, strict=True):
                found[stream.array, int(element)] = self._value(token)
        if found != writers:
            key = next(k for k in sorted({*found, *writers}) if found.get(k) != writers.get(k))
            self._fail(f"element {key[1]} of result '{key[0]}' is {found.get(key)}, not {writers.get(key)}")


def _rows(columns: Columns) -> list[tuple[int, ...]]:
    return [tuple(row) for row in np.stack(columns).T.tolist()] if columns else [()]


def _flat(program: Program, access: Access, statement: Statement) -> np.ndarray:
    """Row-major numbers of the elements that the instances access."""
    return _flat_map(program, access.array, access.map, statement.domain)


def _flat_map(program: Program, array: str, subscripts: isl.Map, domain: isl.Set) -> np.ndarray:
    count, columns = enumerate_points(domain)
    flat = np.zeros(count, np.int64)
    for size, index in zip(program.array(array).shape, evaluate_map(subscripts, domain, columns, count), strict=True):
        flat = flat * size + index
    return flat


def _expected(program: Program, statement: Statement) -> dict[tuple[int, ...], list[Value | None]]:
    """{instance -> what each of its reads has to see}."""
    _, columns = enumerate_points(statement.domain)
    rows = _rows(columns)
    found: dict[tuple[int, ...], list[Value | None]] = {row: [None] * len(statement.reads) for row in rows}
    for number, access in enumerate(statement.reads):
        if program.array(access.array).role == "input":
            for row, element in zip(rows, _flat(program, access, statement).tolist(), strict=True):
                found[row][number] = "in", access.array, element
    for dependence in flow(program):
        if dependence.sink == statement.name:
            domain = dependence.relation.domain()
            count, columns = enumerate_points(domain)
            images = evaluate_map(dependence.relation, domain, columns, count)
            makers = _rows([np.broadcast_to(c, count) for c in images])
            for row, maker in zip(_rows(columns), makers, strict=True):
                found[row][dependence.read] = "node", dependence.source, maker
    return found


def _last_writers(program: Program) -> dict[tuple[str, int], Value]:
    """{(output, element) -> the instance that writes it last}."""
    latest: dict[tuple[str, int], tuple[tuple[int, ...], Value]] = {}
    for name, time, row, array, element in _writes(program):
        key = array, element
        if key not in latest or latest[key][0] < time:
            latest[key] = time, ("node", name, row)
    return {key: value for key, (_, value) in latest.items()}


def _writes(program: Program) -> Iterator[tuple[str, tuple[int, ...], tuple[int, ...], str, int]]:
    """Statement, time, instance, array, element of every write to an output."""
    for statement in program.statements:
        if program.array(statement.write.array).role == "output":
            count, columns = enumerate_points(statement.domain)
            times = evaluate_map(program.order_of(statement.name), statement.domain, columns, count)
            times = _rows([np.broadcast_to(column, count) for column in times])
            elements = _flat(program, statement.write, statement).tolist()
            for time, row, element in zip(times, _rows(columns), elements, strict=True):
                yield statement.name, time, row, statement.write.array, element
