"""Dependences of all kinds as distances in one space of loops (Wang 2021, sections 3.2 and 6.1).

* **flow**: by value, from the write to the reads that see it. A value that many instances read goes to the first and
  from there on in steps (its other readers depend on the first by reads).
* **read**: between uses of one element that nobody writes in between, in the directions in which the access repeats it.
* **output**, **anti**: by memory, between a write and what comes before it at the same element. They order instances
  but move no data: every processing element has memory of its own.

Reductions count as order-free: their flow goes along the loops that their result does not depend on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

import islpy as isl

from compiler.analysis.affine import maps
from compiler.analysis.dependences import Dependence, flow
from compiler.ir.last_writes import last_writes
from compiler.ir.program import Access, Program, Statement
from compiler.ir.relations import coordinates
from compiler.passes.recurrence.shorten_recurrences import Reduction, reduction
from compiler.sched.space_time.errors import SpaceTimeError
from compiler.sched.space_time.nests import Nest, common_loops, identity
from compiler.sched.space_time.places import PlaceSearch, Values, place_choices
from compiler.sched.space_time.reuse import null_directions, subscripts

__all__ = ["Analysis", "Kind", "UniformDependence", "analyse"]

Kind = Literal["flow", "read", "anti", "output"]


@dataclass(frozen=True)
class UniformDependence:
    """`sink` (of statement `sink`, through its read number `access`, None for its write) comes `distance` after its
    source in the loops of the nest.

    Distances of anti and output dependences may vary: they lie between `distance` and `furthest`, loop by loop.
    """

    kind: Kind
    array: str
    source: str
    sink: str
    access: int | None
    distance: tuple[int, ...]
    furthest: tuple[int, ...] | None = None

    def __str__(self) -> str:
        reach = "" if self.furthest in (None, self.distance) else f" to {self.furthest}"
        return f"{self.kind} {self.array}: {self.source} -> {self.sink} {self.distance}{reach}"


@dataclass(frozen=True)
class Analysis:
    """What space-time mapping knows of a program: its loops, dependences and reductions (by statement)."""

    program: Program
    nest: Nest
    dependences: tuple[UniformDependence, ...]
    reductions: dict[str, Reduction] = field(default_factory=dict)

    @property
    def loops(self) -> tuple[str, ...]:
        """Loop names, outermost first."""
        return self.nest.loops


_Accumulation = Callable[[Program, Statement], Reduction | None]


def analyse(program: Program, accumulation: _Accumulation = reduction) -> Analysis:
    """All dependences of `program`, uniform; `accumulation` says how a statement accumulates. Raises `SpaceTimeError`
    for those that are not, with a witness, and for subscripts that are not affine; `DependenceError` for values that
    are read before they are written."""
    for statement in program.statements:
        for access in (*statement.reads, statement.write):
            subscripts(statement, access)
    every = [_Flow(d.sink, d.read, d.source, d.array, d.relation, _firsts(program, d)) for d in flow(program)]
    reductions = _reductions(program, every, accumulation)
    flows = [item for item in every if not _own(item, reductions)]
    nest = _nest(program, flows)
    found: list[UniformDependence] = []
    for item in flows:
        found += _flow_distances(program, nest, item)
    for name, one in reductions.items():
        found += _reduction_distances(program, nest, program.statement(name), one)
    for statement in program.statements:
        for number in range(len(statement.reads)):
            found += _read_distances(program, nest, statement, number, every)
        found += _memory_distances(program, nest, statement, reductions)
    return Analysis(program, nest, tuple(dict.fromkeys(found)), reductions)


@dataclass(frozen=True)
class _Flow:
    """{reader -> writer} of one read; `firsts`: the part in which the reader is the first one of its value in every
    direction in which the access repeats elements."""

    sink: str
    read: int
    source: str
    array: str
    relation: isl.Map
    firsts: isl.Map


def _reductions(program: Program, flows: Sequence[_Flow], accumulation: _Accumulation) -> dict[str, Reduction]:
    """Statements that accumulate, as long as nothing else looks at the accumulator in between."""
    found = {}
    for statement in program.statements:
        one = accumulation(program, statement)
        if one is not None and _undisturbed(statement, one, flows):
            found[statement.name] = one
    return found


def _undisturbed(statement: Statement, one: Reduction, flows: Sequence[_Flow]) -> bool:
    """Whether all updates of an element form one chain, and only its end is read by others."""
    ends = heads = statement.domain
    for item in flows:
        if item.sink == item.source == statement.name and item.read == one.read:
            heads, ends = heads.subtract(item.relation.domain()), ends.subtract(item.relation.range())
    if not statement.write.map.intersect_domain(heads).is_injective():
        return False
    others = [item for item in flows if item.source == statement.name and
              (item.sink != statement.name or item.read != one.read)]
    return all(item.relation.range().is_subset(ends) for item in others)


def _own(item: _Flow, reductions: dict[str, Reduction]) -> bool:
    """Whether a flow is between updates of one reduction."""
    return item.sink == item.source and item.sink in reductions and reductions[item.sink].read == item.read


# The space of loops.


def _nest(program: Program, flows: Sequence[_Flow]) -> Nest:
    loops = common_loops(program)
    places = {s.name: place for s in program.statements if (place := identity(s, loops)) is not None}
    bounds = {name: _bounds([program.statement(s) for s in places], k) for k, name in enumerate(loops)}
    rest = sorted((s for s in program.statements if s.name not in places), key=lambda s: -len(s.iterators))
    for statement in rest:
        places[statement.name] = _place(statement, loops, bounds, places, flows)
    return Nest(loops, places)


_VARYING = 1 << 40
"""What a distance that is not uniform counts: more than all that are."""


def _place(statement: Statement, loops: tuple[str, ...], bounds: dict[str, tuple[int, int]],
           places: dict[str, isl.Map], flows: Sequence[_Flow]) -> isl.Map:
    """The place with the shortest distances, uniform ones that do not run backwards if there is one."""
    known = {*places, statement.name}
    near = [Values(item.firsts, places.get(item.sink), places.get(item.source)) for item in flows
            if statement.name in (item.sink, item.source) and item.sink in known and item.source in known]
    search, choices = PlaceSearch(statement, loops, near), place_choices(statement, loops, bounds)
    found = next(search.offers(choices, uneven=_VARYING, once=True), None)
    if found is None or found.distance >= _VARYING:
        found = next(search.offers(choices, forward=False, uneven=_VARYING, once=True))
    return found.place


def _bounds(statements: Sequence[Statement], position: int) -> tuple[int, int]:
    low = min(s.domain.dim_min_val(position).to_python() for s in statements)
    return low, max(s.domain.dim_max_val(position).to_python() for s in statements)


# Flow.


def _deltas(nest: Nest, sink: str, source: str, relation: isl.Map) -> isl.Set:
    """Distances, as a set, of {sink -> source}."""
    placed = relation.apply_domain(nest.place(sink)).apply_range(nest.place(source))
    return placed.reverse().deltas().coalesce()


def _firsts(program: Program, item: Dependence) -> isl.Map:
    statement = program.statement(item.sink)
    firsts = item.relation
    for direction in _own_directions(statement, statement.reads[item.read]):
        shift = _shift(statement, direction)
        again = shift.apply_range(item.relation).intersect(item.relation).domain()
        firsts = firsts.subtract_domain(again)
    return firsts


def _own_directions(statement: Statement, access: Access) -> tuple[tuple[int, ...], ...]:
    """Directions of repetition over the iterators of the statement."""
    rows = tuple(s.coefficients for s in subscripts(statement, access))
    return null_directions(rows, len(statement.iterators)) if statement.iterators else ()


def _shift(statement: Statement, direction: Sequence[int]) -> isl.Map:
    """{instance -> the one `direction` before it}."""
    before = ", ".join(f"{n} - ({d})" for n, d in zip(statement.iterators, direction, strict=True))
    names = ", ".join(statement.iterators)
    shift = isl.Map(f"{{ {statement.name}[{names}] -> {statement.name}[{before}] }}")
    return shift.intersect_domain(statement.domain).intersect_range(statement.domain)


def _first_distance(nest: Nest, item: _Flow) -> tuple[int, ...] | None:
    deltas = _deltas(nest, item.sink, item.source, item.firsts)
    return _point(deltas.lexmin()) if deltas.is_singleton() else None


def _flow_distances(program: Program, nest: Nest, item: _Flow) -> list[UniformDependence]:
    distance = _first_distance(nest, item)
    if distance is None:
        raise _not_uniform(program, nest, item)
    backwards = next((d < 0 for d in distance if d), False)
    if backwards:
        raise SpaceTimeError(f"{program.statement(item.sink)}: it would read '{item.array}' of statement "
                             f"'{item.source}' {distance} after it in loops {', '.join(nest.loops)}, which is before; "
                             "legal are nests whose statements are one after the other in the innermost loops")
    return [UniformDependence("flow", item.array, item.source, item.sink, item.read, distance)]


def _not_uniform(program: Program, nest: Nest, item: _Flow) -> SpaceTimeError:
    """Names two instances that see values of different ages."""
    statement = program.statement(item.sink)
    deltas = _deltas(nest, item.sink, item.source, item.firsts)
    seen = []
    for distance in (_point(deltas.lexmin()), _point(deltas.lexmax())):
        fixed = isl.Set(f"{{ [{', '.join(map(str, distance))}] }}")
        placed = nest.place(item.sink).reverse().apply_range(item.firsts).apply_range(nest.place(item.source))
        between = placed.reverse().intersect(isl.Map.from_domain_and_range(
            placed.range(), placed.domain())).deltas_map().intersect_range(fixed).domain().unwrap().reverse()
        sink = _point(between.domain().lexmin())
        source = _point(between.intersect_domain(_set(sink)).range().lexmin())
        seen.append((sink, source, distance))
    (a, b, first), (c, d, second) = seen
    loops = ", ".join(nest.loops)
    return SpaceTimeError(
        f"{statement.label(statement.reads[item.read])}: its read of '{item.array}' is not uniform: over ({loops}), "
        f"{item.sink}{list(a)} needs what {item.source}{list(b)} wrote, distance {first}, but {item.sink}{list(c)} "
        f"that of {item.source}{list(d)}, distance {second}; legal are reads at a constant distance from the write")


# Reductions, reads.


def _reduction_distances(program: Program, nest: Nest, statement: Statement, found: Reduction
                         ) -> list[UniformDependence]:
    """Partial results go along the loops that the result does not depend on."""
    array = statement.write.array
    kinds: tuple[tuple[Kind, int | None], ...] = (("flow", found.read), ("output", None), ("anti", None))
    return [UniformDependence(kind, array, statement.name, statement.name, access, _placed(nest, statement, direction))
            for direction in _own_directions(statement, statement.write)
            for kind, access in kinds]


def _placed(nest: Nest, statement: Statement, direction: tuple[int, ...]) -> tuple[int, ...]:
    """A direction over the iterators of a statement as one over the nest's loops; the place is affine."""
    function = isl.PwMultiAff.from_map(nest.place(statement.name)).gist(statement.domain)
    parts: list[tuple[int, ...]] = []

    def piece(_: isl.Set, affine: isl.MultiAff) -> None:
        rows = [affine.get_aff(k) for k in range(len(nest.loops))]
        parts.append(tuple(sum(row.get_coefficient_val(isl.dim_type.in_, n).to_python() * d
                               for n, d in enumerate(direction)) for row in rows))

    function.foreach_piece(piece)
    return parts[0]


def _read_distances(program: Program, nest: Nest, statement: Statement, number: int, flows: Sequence[_Flow]
                    ) -> list[UniformDependence]:
    """Repeated uses of one element: of inputs, and of one value that several instances see."""
    access = statement.reads[number]
    own = [item for item in flows if item.sink == statement.name and item.read == number]
    return [UniformDependence("read", access.array, statement.name, statement.name, number,
                              _forward(_placed(nest, statement, direction)))
            for direction in _own_directions(statement, access)
            if program.array(access.array).role == "input" or _repeated(statement, direction, own)]


def _repeated(statement: Statement, direction: tuple[int, ...], flows: Sequence[_Flow]) -> bool:
    """Whether some value is seen again one step of `direction` later."""
    shift = _shift(statement, direction)
    return any(not shift.apply_range(item.relation).intersect(item.relation).is_empty() for item in flows)


def _forward(vector: tuple[int, ...]) -> tuple[int, ...]:
    first = next((v for v in vector if v), 0)
    return tuple(-v for v in vector) if first < 0 else vector


# Dependences by memory.


def _memory_distances(program: Program, nest: Nest, sink: Statement, reductions: dict[str, Reduction]
                      ) -> list[UniformDependence]:
    """What comes last before each write at the same element: a read (anti) or another write (output)."""
    found: list[UniformDependence] = []
    kinds: tuple[Kind, ...] = ("anti", "output")
    for kind in kinds:
        for source, relation in _before(program, sink, kind).items():
            if source == sink.name and source in reductions:
                continue
            deltas = _deltas(nest, sink.name, source, relation)
            low, high = _corner(deltas, least=True), _corner(deltas, least=False)
            found.append(UniformDependence(kind, sink.write.array, source, sink.name, None, low,
                                           None if low == high else high))
    return found


def _before(program: Program, sink: Statement, kind: str) -> dict[str, isl.Map]:
    """{write -> what comes last before it}, by statement."""
    writes = isl.UnionMap.from_map(sink.write.map.intersect_domain(sink.domain))
    sources = isl.UnionMap.empty(writes.get_space().params())
    for statement in program.statements:
        accesses = statement.reads if kind == "anti" else (statement.write,)
        for access in accesses:
            if access.array == sink.write.array:
                sources = sources.union(isl.UnionMap.from_map(access.map.intersect_domain(statement.domain)))
    result = last_writes(writes, sources, program.order)
    return {m.get_tuple_name(isl.dim_type.out): m.coalesce() for m in maps(result)}


# Points of sets.


def _point(points: isl.Set) -> tuple[int, ...]:
    return coordinates(points.sample_point())


def _set(values: tuple[int, ...]) -> isl.Set:
    return isl.Set(f"{{ [{', '.join(map(str, values))}] }}")


def _corner(points: isl.Set, *, least: bool) -> tuple[int, ...]:
    side = points.dim_min_val if least else points.dim_max_val
    return tuple(side(k).to_python() for k in range(points.dim(isl.dim_type.set)))
