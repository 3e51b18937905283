"""The directive that cuts the outputs into tiles and computes for each tile all that it needs: overlap."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod

import islpy as isl

from compiler.analysis.affine import affine_form
from compiler.analysis.dependences import Dependence, flow, recurrences, topological_order
from compiler.ir import expr
from compiler.ir.expr import Apply, Const, Expr, with_children
from compiler.ir.names import check_name
from compiler.ir.program import Access, Array, Program, Statement
from compiler.ir.types import Int
from compiler.ir.verify import verify
from compiler.passes.directives.errors import TransformError
from compiler.passes.directives.instances import name_inputs
from compiler.passes.directives.place import Place, order_of_places, places

__all__ = ["overlap"]


def overlap(program: Program, sizes: Mapping[str, int]) -> Program:
    """Tiles of `sizes` iterations of the statements that write outputs, and all other statements inside the tile.

    The tiles of outputs lie side by side. What they need of earlier statements overlaps, as the halo of a stencil does,
    and is computed again for each tile: compute level and store level of all intermediate values are the tile, and
    tiles depend on nothing but inputs. Loops over tiles, named ``y_o`` for an iterator y, are the outermost of all
    statements, so that a tile's words can be moved while another one is computed. The last tiles are smaller where
    sizes do not divide the outputs.

    Raises `TransformError` if outputs are read or added to, if a read sees values of several statements, or where a
    tile needs a part of a statement that does not move evenly with the tiles (resampled by a factor that does not
    divide the size).
    """
    dependences = flow(program)
    _check(program, dependences, sizes)
    tiles = _Tiles.of(program, sizes)
    needed = _needed(program, dependences, tiles)
    moved = {s.name: _Moved.of(s, needed[s.name], tiles) for s in program.statements if s.name in needed}
    result = _Overlapped(program, tiles, moved, {(d.sink, d.read): d for d in dependences}).program_()
    verify(result)
    _check_flow(result, moved, dependences)
    return result


def _check(program: Program, dependences: Sequence[Dependence], sizes: Mapping[str, int]) -> None:
    if not sizes:
        raise TransformError("overlap needs the size of a tile for at least one iterator")
    for name, size in sizes.items():
        if size < 1:
            raise TransformError(f"tiles of {size} iterations of '{name}': there is at least 1")
    finals = {s.name for s in program.statements if program.array(s.write.array).role == "output"}
    for dependence in dependences:
        if dependence.source in finals:
            reader = program.statement(dependence.sink)
            raise TransformError(f"{reader.label(reader.reads[dependence.read])} reads output '{dependence.array}', "
                                 "which tiles write only once")
    back = recurrences(program, tuple(dependences))
    for dependence in dependences:
        if dependence.key in back:
            raise TransformError(f"{program.statement(dependence.sink)} depends on itself through "
                                 f"'{dependence.array}'; tiles that overlap compute values anew")
    for statement in program.statements:
        for read in range(len(statement.reads)):
            sources = [d.source for d in dependences if (d.sink, d.read) == (statement.name, read)]
            if len(sources) > 1:
                raise TransformError(f"{statement.label(statement.reads[read])} sees values of {', '.join(sources)}; "
                                     "tiles that overlap need one source for each read")


@dataclass(frozen=True)
class _Tiles:
    """Tiles of `sizes` iterations of `iterators`, `counts` of them, from iteration `firsts` on."""

    iterators: tuple[str, ...]
    sizes: tuple[int, ...]
    firsts: tuple[int, ...]
    counts: tuple[int, ...]

    @staticmethod
    def of(program: Program, sizes: Mapping[str, int]) -> _Tiles:
        """The tiles that cover all statements that write outputs. Raises `TransformError`."""
        bounds: dict[str, tuple[int, int]] = {}
        for statement in program.statements:
            if program.array(statement.write.array).role != "output":
                continue
            missing = [name for name in sizes if name not in statement.iterators]
            if missing:
                raise TransformError(f"{statement} writes an output and has no iterator '{missing[0]}'; it has: "
                                     f"{', '.join(statement.iterators) or 'none'}")
            for name in sizes:
                number = statement.iterators.index(name)
                low, high = (bound(number).to_python() for bound in
                             (statement.domain.dim_min_val, statement.domain.dim_max_val))
                before = bounds.get(name, (low, high))
                bounds[name] = min(low, before[0]), max(high, before[1])
        counts = tuple(-(-(bounds[name][1] - bounds[name][0] + 1) // size) for name, size in sizes.items())
        for name in sizes:
            check_name(f"{name}_o", "iterator over tiles")
        return _Tiles(tuple(sizes), tuple(sizes.values()), tuple(bounds[name][0] for name in sizes), counts)

    @property
    def names(self) -> tuple[str, ...]:
        """The iterators over tiles."""
        return tuple(f"{name}_o" for name in self.iterators)

    @property
    def depth(self) -> int:
        """Number of loops over tiles."""
        return len(self.iterators)

    def domain(self) -> isl.Set:
        """All tiles."""
        bounds = [f"0 <= {name} < {count}" for name, count in zip(self.names, self.counts, strict=True)]
        return isl.Set(f"{{ tile[{', '.join(self.names)}] : {' and '.join(bounds)} }}")

    def of_output(self, statement: Statement) -> isl.Map:
        """{tile -> the instances of a statement that writes an output in it}."""
        inside = [f"{first} + {size}*{tile} <= {name} < {first} + {size}*{tile} + {size}" for name, tile, first, size in
                  zip(self.iterators, self.names, self.firsts, self.sizes, strict=True)]
        relation = isl.Map(f"{{ tile[{', '.join(self.names)}] -> {statement.name}[{', '.join(statement.iterators)}] : "
                           f"{' and '.join(inside)} }}")
        return relation.intersect_domain(self.domain()).intersect_range(statement.domain)


@dataclass(frozen=True)
class _Need:
    """What tiles need of a statement: a box of its instances that moves with the tile. `low`: of each iterator the
    first value, coefficients of the tile's numbers and a constant; `extents`: how many values; `instances`: {tile ->
    instance}, those of the box that exist."""

    low: tuple[tuple[tuple[int, ...], int], ...]
    extents: tuple[int, ...]
    instances: isl.Map

    @staticmethod
    def around(statement: Statement, wanted: isl.Map, tiles: _Tiles) -> _Need:
        """The smallest box. Raises `TransformError` where none moves evenly."""
        lows, extents, bounds = [], [], []
        for number, name in enumerate(statement.iterators):
            low = affine_form(wanted.dim_min(number))
            if low is None:
                raise TransformError(f"{statement}: the values of '{name}' that a tile needs do not move evenly with "
                                     "the tiles; sizes that are multiples of all steps between the statements do")
            start = _affine(low, tiles.names)
            first = isl.PwAff(f"{{ tile[{', '.join(tiles.names)}] -> [{start}] }}")
            lows.append(low)
            extents.append(wanted.dim_max(number).sub(first).max_val().to_python() + 1)
            bounds.append(f"{start} <= {name} < {start} + {extents[-1]}")
        box = isl.Map(f"{{ tile[{', '.join(tiles.names)}] -> {statement.name}[{', '.join(statement.iterators)}] : "
                      f"{' and '.join(bounds) or 'true'} }}")
        box = box.intersect_domain(tiles.domain()).intersect_range(statement.domain)
        return _Need(tuple(lows), tuple(extents), box)


def _needed(program: Program, dependences: Sequence[Dependence], tiles: _Tiles) -> dict[str, _Need]:
    """What tiles need of every statement, of which they need something."""
    needed: dict[str, _Need] = {}
    for name in reversed(topological_order(program, tuple(dependences))):
        statement = program.statement(name)
        if program.array(statement.write.array).role == "output":
            needed[name] = _Need.around(statement, tiles.of_output(statement), tiles)
            continue
        parts = [needed[d.sink].instances.apply_range(d.relation) for d in dependences
                 if d.source == name and d.sink in needed]
        if parts:
            wanted = parts[0]
            for part in parts[1:]:
                wanted = wanted.union(part)
            needed[name] = _Need.around(statement, wanted.coalesce(), tiles)
    return needed


@dataclass(frozen=True)
class _Moved:
    """A statement in tiles. `low` and `extents` as in `_Need`; `back`: {new instance -> old instance}."""

    old: Statement
    iterators: tuple[str, ...]
    low: tuple[tuple[tuple[int, ...], int], ...]
    extents: tuple[int, ...]
    domain: isl.Set
    back: isl.Map = field(repr=False)

    @staticmethod
    def of(old: Statement, need: _Need, tiles: _Tiles) -> _Moved:
        """The part of `need` in every tile. Raises `TransformError` if an iterator's name is taken."""
        taken = [name for name in tiles.names if name in old.iterators]
        if taken:
            raise TransformError(f"{old} has an iterator '{taken[0]}' already")
        iterators = (*tiles.names, *old.iterators)
        head = f"{old.name}[{', '.join(iterators)}]"
        values = [f"{n} + {_affine(start, tiles.names)}" for n, start in zip(old.iterators, need.low, strict=True)]
        back = isl.Map(f"{{ {head} -> {old.name}[{', '.join(values)}] }}")
        inside = [f"0 <= {name} < {extent}" for name, extent in zip(old.iterators, need.extents, strict=True)]
        box = isl.Set(f"{{ {head} : {' and '.join(inside) or 'true'} }}")
        tile = isl.Map(f"{{ {head} -> tile[{', '.join(tiles.names)}] }}")
        wanted = tile.range_product(back).range_product(isl.Map.identity(box.get_space().map_from_set()))
        pairs = need.instances.wrap()
        domain = wanted.range_factor_domain().intersect_range(pairs).domain().intersect(box).coalesce()
        for position, name in enumerate(iterators):
            domain = domain.set_dim_name(isl.dim_type.set, position, name)
        return _Moved(old, iterators, need.low, need.extents, domain, back)


def _affine(form: tuple[tuple[int, ...], int], names: Sequence[str]) -> str:
    coefficients, constant = form
    return " + ".join([*(f"{c}*{n}" for c, n in zip(coefficients, names, strict=True) if c), f"({constant})"])


@dataclass(frozen=True)
class _Overlapped:
    """The program in tiles, from its statements in tiles."""

    old: Program
    tiles: _Tiles
    moved: Mapping[str, _Moved]
    sources: Mapping[tuple[str, int], Dependence]

    def program_(self) -> Program:
        """The new program."""
        where = places(self.old)
        statements = tuple(self._statement(self.moved[s.name]) for s in self.old.statements if s.name in self.moved)
        names = {s.name: s for s in statements}
        found = {name: self._place(where[name], names[name]) for name in names}
        shared = tuple(kept for group in self.old.shared if len(kept := tuple(n for n in group if n in names)) > 1)
        kept = [array for array in self.old.arrays if array.role != "intermediate"]
        stored = [self._array(m) for m in self.moved.values() if self._is_kept(m.old)]
        return replace(self.old, arrays=(*kept, *stored), statements=statements, shared=shared,
                       order=order_of_places(statements, found))

    def _is_kept(self, statement: Statement) -> bool:
        return self.old.array(statement.write.array).role == "intermediate"

    def _array_name(self, statement: Statement) -> str:
        writers = [s for s in self.old.statements if s.write.array == statement.write.array and s.name in self.moved]
        return statement.write.array if len(writers) == 1 else f"{statement.write.array}_{statement.name}"

    def _array(self, moved: _Moved) -> Array:
        shape = (*self.tiles.counts, *moved.extents)
        assert prod(shape) > 0
        return Array(self._array_name(moved.old), shape, self.old.array(moved.old.write.array).type, "intermediate")

    def _statement(self, moved: _Moved) -> Statement:
        old = moved.old
        reads = tuple(self._read(moved, k) for k in range(len(old.reads)))
        if self._is_kept(old):
            name = self._array_name(old)
            instance = isl.Map.identity(moved.domain.get_space().map_from_set()).set_tuple_name(isl.dim_type.out, name)
            write = replace(old.write, array=name, map=name_inputs(instance, moved.iterators))
        else:
            write = replace(old.write, map=self._through(moved, old.write.map))
        value = expr.fold(old.value, lambda node, parts: self._node(moved, node, parts))
        return replace(old, iterators=moved.iterators, domain=moved.domain, reads=reads, write=write, value=value)

    def _through(self, moved: _Moved, relation: isl.Map) -> isl.Map:
        return name_inputs(moved.back.apply_range(relation).coalesce(), moved.iterators)

    def _read(self, moved: _Moved, number: int) -> Access:
        access = moved.old.reads[number]
        dependence = self.sources.get((moved.old.name, number))
        if dependence is None:
            return replace(access, map=self._through(moved, access.map))
        source = self.moved[dependence.source]
        name = self._array_name(source.old)
        back = moved.back.apply_range(dependence.relation)
        tile = isl.Map(f"{{ {moved.old.name}[{', '.join(moved.iterators)}] -> tile[{', '.join(self.tiles.names)}] }}")
        local = [f"{n} - ({_affine(start, self.tiles.names)})" for n, start in
                 zip(source.old.iterators, source.low, strict=True)]
        instance = f"{source.old.name}[{', '.join(source.old.iterators)}]"
        shift = isl.Map(f"{{ [tile[{', '.join(self.tiles.names)}] -> {instance}] -> "
                        f"{name}[{', '.join([*self.tiles.names, *local])}] }}")
        relation = tile.range_product(back).apply_range(shift).intersect_domain(moved.domain).coalesce()
        return replace(access, array=name, map=name_inputs(relation.gist_domain(moved.domain), moved.iterators))

    def _node(self, moved: _Moved, node: Expr, arguments: list[Expr]) -> Expr:
        """Old values of iterators, from the new ones."""
        if not isinstance(node, expr.Iterator):
            return with_children(node, arguments)
        type = node.type
        if not isinstance(type, Int):
            raise TransformError(f"{moved.old}: iterator '{node.name}' has type {type}, not an integer")
        coefficients, constant = moved.low[moved.old.iterators.index(node.name)]
        total: Expr = Apply("add", (node, Const(type.wrap(constant), type)), type)
        for tile, step in zip(self.tiles.names, coefficients, strict=True):
            if step:
                part = Apply("mul", (expr.Iterator(tile, type), Const(type.wrap(step), type)), type)
                total = Apply("add", (total, part), type)
        return total

    def _place(self, place: Place, new: Statement) -> Place:
        """Inside the loops over tiles, as before."""
        local = isl.LocalSpace.from_space(new.domain.get_space())
        tiles = [isl.Aff.var_on_domain(local, isl.dim_type.set, k) for k in range(self.tiles.depth)]
        back = isl.PwMultiAff.from_map(self.moved[new.name].back).as_multi_aff()
        loops = [loop.pullback_multi_aff(back) for loop in place.loops]
        return Place((*[0] * self.tiles.depth, *place.positions), (*tiles, *loops))


def _check_flow(result: Program, moved: Mapping[str, _Moved], before: Sequence[Dependence]) -> None:
    """Every read sees the value of the old instance that it saw before."""
    old = {(d.sink, d.read, d.source): d.relation for d in before}
    for dependence in flow(result):
        sink, source = moved[dependence.sink], moved[dependence.source]
        wanted = sink.back.intersect_domain(sink.domain).apply_range(old[dependence.key])
        found = dependence.relation.apply_range(source.back)
        if not found.is_subset(wanted):
            raise TransformError(f"overlapping tiles would change what {sink.old} reads of {source.old}")
