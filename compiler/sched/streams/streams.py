"""Making main-memory traffic explicit: streams in and out of the array, one tile of the image at a time.

`stage_streams` is a program transform: every input array is first copied, tile by tile, by a *load* statement
into an intermediate array that the other statements read instead. What remains is a program in which each
statement instance that touches main memory is visible to the scheduler (Liu 2023, sections 4.2.4 and 5.4).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod

import islpy as isl

from compiler.analysis.affine import affine_form, maps
from compiler.analysis.dependences import constant_bounds, flow
from compiler.analysis.driving_loops import inner_trips
from compiler.ir.expr import Read
from compiler.ir.names import fresh_name
from compiler.ir.program import Access, Array, Program, Statement, shared_depth
from compiler.ir.roots import asserts
from compiler.sched.streams.load_nest import LoadLoop, build_load_nest
from compiler.sched.streams.window_unfolding import Window, match_window, unfold_loops
from hw.errors import SluiceError

__all__ = ["Footprint", "StagedProgram", "StreamError", "choose_tile_depth", "passes_sooner",
           "require_room", "require_tile_depth", "row_major",
           "stage_streams"]


_WORTH = 0.95
"""Part of the steps of tiles that fit the global buffer for which one that does not is taken."""


class StreamError(SluiceError):
    """An array cannot be streamed tile by tile: its footprint is not a box that moves affinely."""


@dataclass(frozen=True)
class Footprint:
    """The box of `array` that one tile touches: ``low(tile) + [0, extents)`` in every dimension.

    `low` holds per array dimension the coefficients of the tile iterators' values (outermost first) and a constant.
    `statement` is the statement that moves it; with the box packed row by row, its first instance of a tile moves
    word `first`, and each step of one of its inner iterators (outermost first) advances by `steps` words.
    """

    array: str
    statement: str
    low: tuple[tuple[tuple[int, ...], int], ...]
    extents: tuple[int, ...]
    steps: tuple[int, ...]
    first: int = 0

    @property
    def words(self) -> int:
        """Elements that one tile moves."""
        return prod(self.extents)

    def low_at(self, tile: tuple[int, ...]) -> tuple[int, ...]:
        """First element of the box for one tile, given by the values of its iterators."""
        return tuple(sum(c * t for c, t in zip(parts, tile, strict=True)) + k for parts, k in self.low)


@dataclass(frozen=True)
class StagedProgram:
    """A program whose first `tile_depth` iterators of every statement enumerate tiles, with its streams.

    `tile_starts` are the first values of these iterators, `tile_counts` how many values they take. Arrays `in_order`
    are moved row by row, whatever the order of their readers and writers.
    """

    program: Program
    tile_depth: int
    tile_starts: tuple[int, ...]
    tile_counts: tuple[int, ...]
    inputs: tuple[Footprint, ...]
    outputs: tuple[Footprint, ...]
    in_order: frozenset[str] = frozenset()

    @property
    def tiles(self) -> int:
        """Number of tiles."""
        return prod(self.tile_counts)

    @cached_property
    def roots(self) -> tuple[str, ...]:
        """The statements that give words to outputs or assert something: a run ends after the last of them."""
        asserting = (s.name for s in self.program.statements if asserts(self.program, s))
        return tuple(dict.fromkeys((*(footprint.statement for footprint in self.outputs), *asserting)))

    @property
    def steps(self) -> int:
        """Instances of the statement that has the most."""
        return self.tiles * max(prod(inner_trips(s, self.tile_depth)) for s in self.program.statements)

    def passes(self, half_words: int) -> bool:
        """Whether the only tile is moved in the order of memory, but for a window of a fraction of `half_words`."""
        footprints = (*self.inputs, *self.outputs)
        return self.tiles == 1 and all(f.words <= half_words or self._in_order(f, half_words // 2) for f in footprints)

    def _in_order(self, footprint: Footprint, window: int) -> bool:
        """Whether a stream moves forward, but for inner loops that stay within `window` words."""
        trips = inner_trips(self.program.statement(footprint.statement), self.tile_depth)
        loops = [(step, n) for step, n in zip(footprint.steps, trips, strict=True) if n > 1]
        while loops and abs(loops[-1][0]) * (loops[-1][1] - 1) < window:
            step, n = loops.pop()
            window -= abs(step) * (n - 1)
        spans = [step * (n - 1) for step, n in loops[1:]] + [0]
        return all(step > 0 and step >= span for (step, _), span in zip(loops, spans, strict=False))

    def label(self, footprint: Footprint) -> str:
        """What messages call an array: with a statement that reads what its loads bring, or the one that writes it."""
        mover = self.program.statement(footprint.statement)
        if footprint in self.outputs:
            return f"array {footprint.array}, which {mover.label(mover.write)} writes"
        users = (s.label(read) for s in self.program.statements for read in s.reads if read.array == mover.write.array)
        return next((f"array {footprint.array}, which {user} reads" for user in users), f"array {footprint.array}")

    def tile_iterators(self, statement: Statement) -> tuple[str, ...]:
        """Names of the iterators of `statement` that enumerate tiles."""
        return statement.iterators[: self.tile_depth]

    def inner_iterators(self, statement: Statement) -> tuple[str, ...]:
        """Names of the iterators of `statement` inside one tile."""
        return statement.iterators[self.tile_depth:]


def choose_tile_depth(program: Program, half_words: int) -> int:
    """The fewest shared outer loops that must enumerate tiles so that each stream's tile fits `half_words`.

    Only loops that no dependence crosses can do so. Raises `StreamError` naming the stream that does not fit.
    """
    deepest = _deepest_tile_depth(program)
    problem: StreamError | None = None
    for depth in range(deepest + 1):
        try:
            staged = stage_streams(program, depth)
        except StreamError as error:
            problem = problem or error
            continue
        try:
            require_room(staged, half_words)
        except StreamError as error:
            problem = error
            continue
        return depth
    raise problem or StreamError("the program has no streams")


def passes_sooner(program: Program, half_words: int) -> bool:
    """Whether the program as one tile, which passes the global buffer in the order of memory, takes fewer steps than in
    tiles that fit it: these read what they share again."""
    try:
        whole = stage_streams(program, 0)
    except StreamError:
        return False
    if not whole.passes(half_words):
        return False
    try:
        depth = choose_tile_depth(program, half_words)
    except StreamError:
        return True
    return depth > 0 and whole.steps < _WORTH * stage_streams(program, depth).steps


def require_room(staged: StagedProgram, half_words: int) -> None:
    """Raise `StreamError` naming the largest stream if its tile does not fit `half_words`."""
    largest = max((*staged.inputs, *staged.outputs), key=lambda f: f.words)
    if largest.words > half_words:
        raise StreamError(f"{staged.label(largest)}: a tile of {largest.words} words does not fit the global buffer's "
                          f"{half_words} words per half; add tile loops around all statements")


def require_tile_depth(program: Program, tile_depth: int, half_words: int | None = None) -> None:
    """Raise `StreamError` if the first `tile_depth` loops of all statements cannot enumerate tiles, or if each stream's
    tile does not fit `half_words`, where these are given, nor passes them in order."""
    deepest = _deepest_tile_depth(program)
    if not 0 <= tile_depth <= deepest:
        raise StreamError(f"{tile_depth} tile loops were asked for, but statements share {deepest} independent outer "
                          "loops (not counting the innermost)")
    if half_words is not None:
        staged = stage_streams(program, tile_depth)
        if not staged.passes(half_words):
            require_room(staged, half_words)


def _deepest_tile_depth(program: Program) -> int:
    """How many outer loops all statements share, with the same bounds, that no dependence crosses."""
    depth = max(0, min(shared_depth(program), *(len(s.iterators) - 1 for s in program.statements)))
    bounds = [list(constant_bounds(s).values()) for s in program.statements]
    while any(b[:depth] != bounds[0][:depth] for b in bounds):
        depth -= 1
    for dependence in flow(program):
        while depth and not _within_tile(dependence.relation, depth):
            depth -= 1
    return depth


def _within_tile(relation: isl.Map, depth: int) -> bool:
    same = relation
    for k in range(depth):
        same = same.equate(isl.dim_type.in_, k, isl.dim_type.out, k)
    return relation.is_subset(same)


def stage_streams(program: Program, tile_depth: int, windows: bool = False,
                  in_order: Collection[str] = ()) -> StagedProgram:
    """Copy every input array through a load statement; describe what each output statement writes per tile.

    `windows`: rows that a window moves over are loaded once for each step of the window, if there is the time
    (`compiler.sched.streams.window_unfolding`). `in_order`: arrays that are moved row by row, each element of a tile
    once, whatever the order of their readers or writers: inputs by their load statement, outputs by a *store* statement
    that copies them from an intermediate array.

    Raises `StreamError` if `tile_depth` loops are not shared by all statements, if a dependence crosses tiles,
    or if a footprint is not a box that moves affinely with the tile iterators.
    """
    require_tile_depth(program, tile_depth)
    tiles = _Tiles.of(program, tile_depth)
    staged = program
    inputs = []
    for array in program.inputs:
        readers = [s for s in staged.statements if any(r.array == array.name for r in s.reads)]
        if readers:
            load = _input_load(program, array, readers, tiles, windows, array.name in in_order)
            staged = _insert_load(staged, array, load, tiles)
            inputs.append(load.footprint)
    staged = _load_first(program, staged)
    outputs = []
    for array in program.outputs:
        footprint = _output_footprint(program, array, tile_depth)
        if array.name in in_order:
            staged, footprint = _with_store(staged, array, footprint, tiles)
        outputs.append(footprint)
    return StagedProgram(staged, tile_depth, tiles.starts, tiles.counts, tuple(inputs), tuple(outputs),
                         frozenset(in_order))


@dataclass(frozen=True)
class _Tiles:
    """The loops over tiles, outermost first."""

    names: tuple[str, ...]
    starts: tuple[int, ...]
    counts: tuple[int, ...]

    @staticmethod
    def of(program: Program, depth: int) -> _Tiles:
        """The first `depth` loops, which all statements share."""
        bounds = list(constant_bounds(program.statements[0]).items())[:depth]
        return _Tiles(tuple(name for name, _ in bounds), tuple(low for _, (low, _) in bounds),
                      tuple(high - low + 1 for _, (low, high) in bounds))

    @property
    def depth(self) -> int:
        """Number of loops."""
        return len(self.names)

    @property
    def bounds(self) -> list[str]:
        """Constraints on the iterators, as isl's text."""
        return [f"{start} <= {name} < {start + count}"
                for name, start, count in zip(self.names, self.starts, self.counts, strict=True)]

    def numbers(self, names: Iterable[str]) -> list[str]:
        """Tile numbers, from 0 in every loop, of the tile whose iterators are called `names`."""
        return [f"{name} - ({start})" for name, start in zip(names, self.starts, strict=True)]


def _tile_map(statement: Statement, depth: int) -> isl.Map:
    """Instances of `statement` to their tile."""
    names = ", ".join(statement.iterators)
    tile = ", ".join(statement.iterators[:depth])
    return isl.Map(f"{{ {statement.name}[{names}] -> tile[{tile}] }}").intersect_domain(statement.domain)


def _footprint_map(accesses: Iterable[tuple[Statement, Access]], depth: int) -> isl.Map:
    """Tile to the elements that the accesses touch in it."""
    total: isl.Map | None = None
    for statement, access in accesses:
        part = _tile_map(statement, depth).reverse().apply_range(access.map)
        total = part if total is None else total.union(part)
    assert total is not None
    return total.coalesce()


def _corner(array: str, footprint: isl.Map, dimension: int) -> tuple[tuple[tuple[int, ...], int], int]:
    """Affine lower corner (coefficients, constant) and extent of a footprint in one dimension."""
    low = affine_form(footprint.dim_min(dimension))
    if low is None:
        raise StreamError(f"array {array}: the part that a tile touches does not move affinely with the tile loops")
    distances = footprint.dim_max(dimension).sub(footprint.dim_min(dimension))
    return low, distances.max_val().to_python() + 1


def _corners(array: Array, footprint: isl.Map) -> tuple[tuple[tuple[tuple[int, ...], int], ...], tuple[int, ...]]:
    found = [_corner(array.name, footprint, k) for k in range(len(array.shape))]
    return tuple(low for low, _ in found), tuple(extent for _, extent in found)


@dataclass(frozen=True)
class _Load:
    """What a tile reads of an array, the loops that load it, and the windows for which these repeat words: each is in
    two dimensions of the buffer, by dimension of the array."""

    footprint: Footprint
    loops: list[LoadLoop]
    windows: dict[int, Window]

    @property
    def shape(self) -> tuple[int, ...]:
        """Extents of one tile of the buffer."""
        return tuple(size for k, extent in enumerate(self.footprint.extents)
                     for size in ([loop.trips for loop in self.windows[k].loops] if k in self.windows else [extent]))


def _rows(extents: Sequence[int]) -> list[LoadLoop]:
    """Loops over a box row by row."""
    return [LoadLoop(dimension, extent) for dimension, extent in enumerate(extents) if extent > 1]


def _input_load(program: Program, array: Array, readers: list[Statement], tiles: _Tiles, windows: bool,
                in_order: bool) -> _Load:
    """How `array` is loaded."""
    accesses = [(s, r) for s in readers for r in s.reads if r.array == array.name]
    low, extents = _corners(array, _footprint_map(accesses, tiles.depth))
    loops = build_load_nest(extents, [constant for _, constant in low], accesses, tiles.depth)
    if in_order:
        loops = _rows(extents)
    found: dict[int, Window] = {}
    for loop in loops if windows and not in_order else []:
        window = match_window(loop.dimension, low[loop.dimension], accesses, tiles.depth)
        if window is not None and loop == loops[-1] == LoadLoop(loop.dimension, extents[loop.dimension]):
            found[loop.dimension] = window
    repeated = unfold_loops(loops, list(found.values()))
    busiest = max(prod(inner_trips(s, tiles.depth)) for s in program.statements)
    if prod(loop.trips for loop in repeated) <= busiest:
        loops = repeated
    else:
        found = {}
    words = row_major(extents)
    steps = tuple(words[loop.dimension] * loop.step for loop in loops)
    footprint = Footprint(array.name, fresh_name(f"load_{array.name}", _names(program)), low, extents, steps)
    return _Load(footprint, loops, found)


def row_major(extents: tuple[int, ...]) -> tuple[int, ...]:
    """Words from one index to the next in each dimension of a box that is packed with the last dimension fastest."""
    return tuple(prod(extents[k + 1:]) for k in range(len(extents)))


def _output_footprint(program: Program, array: Array, depth: int) -> Footprint:
    writers = [s for s in program.statements if s.write.array == array.name]
    if len(writers) != 1:
        names = ", ".join(s.name for s in writers)
        raise StreamError(f"output {array.name} must be written by one statement, not {len(writers)} ({names})")
    writer = writers[0]
    footprint = _footprint_map([(writer, writer.write)], depth)
    low, extents = _corners(array, footprint)
    bounds = constant_bounds(writer).values()
    trips = prod(last - first + 1 for first, last in list(bounds)[depth:])
    if trips != prod(extents) or not _is_box(footprint, low, extents):
        raise StreamError(f"output {array.name}: {writer.label(writer.write)} does not write each element of a box "
                          "exactly once per tile")
    steps, constant = _packed_write(array, writer, extents)
    start = sum(step * first for step, (first, _) in zip(steps, bounds, strict=True)) + constant
    corner = Footprint(array.name, writer.name, low, extents, ()).low_at(tuple(first for first, _ in bounds)[:depth])
    first = start - sum(c * words for c, words in zip(corner, row_major(extents), strict=True))
    return Footprint(array.name, writer.name, low, extents, steps[depth:], first)


def _is_box(footprint: isl.Map, low: tuple[tuple[tuple[int, ...], int], ...], extents: tuple[int, ...]) -> bool:
    """Whether every tile touches all elements of its box."""
    tile = tuple(f"t{k}" for k in range(footprint.dim(isl.dim_type.in_)))
    corners = [_affine_text(*corner, tile) for corner in low]
    names = [f"a{k}" for k in range(len(extents))]
    bounds = [f"{c} <= {a} < {c} + {n}" for a, c, n in zip(names, corners, extents, strict=True)]
    array = footprint.get_tuple_name(isl.dim_type.out)
    box = isl.Map(f"{{ tile[{', '.join(tile)}] -> {array}[{', '.join(names)}] : {' and '.join(bounds or ['true'])} }}")
    return footprint.is_equal(box.intersect_domain(footprint.domain()))


def _packed_write(array: Array, writer: Statement, extents: tuple[int, ...]) -> tuple[tuple[int, ...], int]:
    """Words by which each iterator of an output's writer advances in the packed box, and a constant."""
    written = isl.PwMultiAff.from_map(writer.write.map.intersect_domain(writer.domain))
    total, constant = [0] * len(writer.iterators), 0
    for dimension, words in enumerate(row_major(extents)):
        form = affine_form(written.get_pw_aff(dimension))
        if form is None:
            raise StreamError(f"output {array.name}: {writer.label(writer.write)} must walk it affinely")
        total = [have + words * step for have, step in zip(total, form[0], strict=True)]
        constant += words * form[1]
    return tuple(total), constant


def _affine_text(coefficients: tuple[int, ...], constant: int, names: tuple[str, ...]) -> str:
    return " + ".join([*(f"{c}*{n}" for c, n in zip(coefficients, names, strict=True) if c), str(constant)])


def _insert_load(program: Program, array: Array, load: _Load, tiles: _Tiles) -> Program:
    """Add the load statement and its buffer, and let every reader of `array` read the buffer."""
    name = fresh_name(f"{array.name}__tile", (item.name for item in (*program.arrays, *program.tables)))
    buffer = Array(name, tiles.counts + load.shape, array.type, "intermediate", array.level)
    statement = _load_statement(array, buffer, load, tiles)
    readers = _redirected(program.statements, array, buffer, load, tiles)
    return replace(program, arrays=(*program.arrays, buffer), statements=(statement, *readers))


def _load_statement(array: Array, buffer: Array, load: _Load, tiles: _Tiles) -> Statement:
    """A copy of the box in `loops`; the loop over blocks of a dimension is called like the dimension's."""
    footprint, loops = load.footprint, load.loops
    inner = [fresh_name(f"i{loop.dimension}" + "_" * sum(other.dimension == loop.dimension for other in loops[:k]),
                    tiles.names) for k, loop in enumerate(loops)]
    names = (*tiles.names, *inner)
    bounds = [*tiles.bounds, *(f"0 <= {name} < {loop.trips}" for name, loop in zip(inner, loops, strict=True))]
    head = f"{footprint.statement}[{', '.join(names)}]"
    local = [" + ".join(f"{loop.step}*{name}" for name, loop in zip(inner, loops, strict=True)
                        if loop.dimension == k) or "0" for k in range(len(array.shape))]
    source = [f"{n} + {_affine_text(*low, tiles.names)}" for n, low in zip(local, footprint.low, strict=True)]
    target = tiles.numbers(tiles.names)
    for k, place in enumerate(local):
        mine = [name for name, loop in zip(inner, loops, strict=True) if loop.dimension == k]
        target += mine if k in load.windows else [place]
    return Statement(
        name=footprint.statement, iterators=names,
        domain=isl.Set(f"{{ {head} : {' and '.join(bounds or ['true'])} }}"),
        reads=(Access(array.name, isl.Map(f"{{ {head} -> {array.name}[{', '.join(source)}] }}")),),
        write=Access(buffer.name, isl.Map(f"{{ {head} -> {buffer.name}[{', '.join(target)}] }}")),
        value=Read(0, array.type), location=None,
    )


def _with_store(program: Program, array: Array, written: Footprint, tiles: _Tiles) -> tuple[Program, Footprint]:
    """`program` with an intermediate array in place of output `array`, which a store statement copies row by row in the
    end; and what that moves."""
    loops = _rows(written.extents)
    words = row_major(written.extents)
    name = fresh_name(f"store_{array.name}", _names(program))
    footprint = Footprint(array.name, name, written.low, written.extents,
                          tuple(words[loop.dimension] for loop in loops))
    buffer = Array(fresh_name(f"{array.name}__tile", (item.name for item in (*program.arrays, *program.tables))),
                   tiles.counts + written.extents, array.type, "intermediate", array.level)
    redirected = _redirected(program.statements, array, buffer, _Load(footprint, loops, {}), tiles)
    writers = tuple(replace(s, write=_redirect_access(s, s.write, buffer, footprint, tiles, {}))
                    if s.write.array == array.name else s for s in redirected)
    load = _load_statement(array, buffer, _Load(footprint, loops, {}), tiles)
    [source] = load.reads
    store = replace(load, reads=(load.write,), write=source)
    changed = replace(program, arrays=(*program.arrays, buffer), statements=(*writers, store))
    return replace(changed, order=_ordered_last(program.order, store)), footprint


def _ordered_last(order: isl.UnionMap, statement: Statement) -> isl.UnionMap:
    """`order` with all instances of `statement` behind all others."""
    relations = maps(order)
    width = max([m.dim(isl.dim_type.out) for m in relations] + [len(statement.iterators)])
    found = isl.UnionMap.empty(order.get_space().params())
    for relation in relations:
        vector = [f"o{k}" for k in range(relation.dim(isl.dim_type.out))]
        lift = isl.Map(f"{{ [{', '.join(vector)}] -> [{_padded(['0', *vector], width + 1)}] }}")
        found = found.union(isl.UnionMap.from_map(relation.apply_range(lift)))
    last = f"{statement.name}[{', '.join(statement.iterators)}] -> [{_padded(['1', *statement.iterators], width + 1)}]"
    return found.union(isl.UnionMap.from_map(isl.Map(f"{{ {last} }}")))


def _redirected(statements: Sequence[Statement], array: Array, buffer: Array, load: _Load,
                tiles: _Tiles) -> tuple[Statement, ...]:
    """The statements with reads of the buffer in place of those of `array`."""
    found, number = [], 0
    for statement in statements:
        reads = list(statement.reads)
        for k, read in enumerate(reads):
            if read.array == array.name:
                steps = {d: window.iterators[number] for d, window in load.windows.items()}
                reads[k] = _redirect_access(statement, read, buffer, load.footprint, tiles, steps)
                number += 1
        found.append(replace(statement, reads=tuple(reads)))
    return tuple(found)


def _redirect_access(statement: Statement, access: Access, buffer: Array, footprint: Footprint, tiles: _Tiles,
                     steps: Mapping[int, tuple[tuple[int, int], ...]]) -> Access:
    """``S -> A[a]`` becomes ``S -> buffer[number of tile, a - low(tile)]``; `steps`: of dimensions with a window the
    iterators, by position and first value, that are there instead."""
    coordinates = tuple(f"a{k}" for k in range(len(footprint.extents)))
    tile = tuple(f"t{k}" for k in range(tiles.depth))
    iterators = tuple(f"s{k}" for k in range(len(statement.iterators)))
    local: list[str] = []
    for k, (a, low) in enumerate(zip(coordinates, footprint.low, strict=True)):
        local += ([f"s{position} - ({first})" for position, first in steps[k]] if k in steps
                  else [f"{a} - ({_affine_text(*low, tile)})"])
    shift = isl.Map(f"{{ [[{access.array}[{', '.join(coordinates)}] -> tile[{', '.join(tile)}]] -> "
                    f"{statement.name}[{', '.join(iterators)}]] -> "
                    f"{buffer.name}[{', '.join((*tiles.numbers(tile), *local))}] }}")
    paired = access.map.range_product(_tile_map(statement, tiles.depth))
    itself = isl.Map.identity(statement.domain.get_space().map_from_set())
    return Access(buffer.name, paired.range_product(itself).apply_range(shift), access.location)


def _load_first(original: Program, staged: Program) -> Program:
    """Order: all loads, then everything else as before. Buffers are indexed by tile, so this is legal."""
    loads = [s for s in staged.statements if s.name not in _names(original)]
    relations = maps(original.order)
    width = max([m.dim(isl.dim_type.out) for m in relations] + [1 + len(s.iterators) for s in loads])
    order = isl.UnionMap.empty(original.order.get_space().params())
    for relation in relations:
        vector = [f"o{k}" for k in range(relation.dim(isl.dim_type.out))]
        lift = isl.Map(f"{{ [{', '.join(vector)}] -> [{_padded(['1', *vector], width + 1)}] }}")
        order = order.union(isl.UnionMap.from_map(relation.apply_range(lift)))
    for position, statement in enumerate(loads):
        vector = _padded(["0", str(position), *statement.iterators], width + 1)
        text = f"{{ {statement.name}[{', '.join(statement.iterators)}] -> [{vector}] }}"
        order = order.union(isl.UnionMap.from_map(isl.Map(text)))
    return replace(staged, order=order)


def _padded(entries: list[str], width: int) -> str:
    return ", ".join(entries + ["0"] * (width - len(entries)))


def _names(program: Program) -> set[str]:
    return {s.name for s in program.statements}
