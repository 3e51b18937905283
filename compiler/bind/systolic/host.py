"""What a host needs to know of an array: how operands are laid out in tiles, and results taken from them, in C.

The loops are those of `compiler.bind.systolic.layout`: tiles, feeders, words, lanes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import isfinite, isnan, prod

import islpy as isl
import numpy as np

from compiler.analysis.affine import affine_text
from compiler.bind.host_interface import NoDriver, c_type, host_arrays, print_c_copies, register_writes
from compiler.bind.systolic.ends import number_type
from compiler.bind.systolic.number_words import evaluate_words
from compiler.bind.systolic.plan import Plan, Source
from compiler.bind.systolic.running import Executable, Place
from compiler.bind.word_formats import number_of
from compiler.ir.expr import Cast, Const, Read
from compiler.ir.floating import decode
from compiler.ir.types import FLOAT32, FLOAT64, Float, Int
from compiler.sched.space_time import Subscript
from hw.dataflow.registers import element_bytes
from hw.dataflow.spec import Word
from hw.drivers.interface import Area, HostInterface, c_identifier
from hw.systolic.spec import EAST, INTERIOR, OperandSpec, ResultSpec

__all__ = ["array_interface"]


def array_interface(executable: Executable) -> HostInterface:
    """That of an array. Elements of the output that the array does not compute are not touched."""
    plan = executable.plan
    program = plan.kernel.program
    *operands, result = executable.places
    areas = [_area(plan, place, source.reference.array, part.in_memory.word if number < len(plan.spec.operands)
                   else part.word, partial(_pack if number < len(plan.spec.operands) else _pack_extra, plan, number))
             for number, (place, source, part) in enumerate(zip(operands, plan.sources, plan.spec.streams,
                                                                strict=True))]
    areas.append(_area(plan, result, plan.kernel.output, plan.spec.result.in_memory.word, partial(_unpack, plan)))
    return HostInterface(
        c_identifier(program.name), executable.registers, host_arrays(program), tuple(areas),
        register_writes(executable.registers, executable.writes()), executable.memory_bytes, kept=_kept(plan))


def _kept(plan: Plan) -> tuple[str, ...]:
    """Lines that set the elements that the array does not compute: constants, and copies of inputs."""
    rest, lines = plan.kernel.rest, []
    for number, statement in enumerate(rest.statements if rest is not None else ()):
        value, casts = statement.value, ""
        while isinstance(value, Cast):
            value, casts = value.arg, f"{casts}({c_type(value.type)})"
        written = statement.write.map.intersect_domain(statement.domain).reverse()
        kind = number_type(plan.kernel.program.array(statement.write.array))
        if casts and isinstance(kind, Float) and kind not in (FLOAT32, FLOAT64) and not isinstance(value, Const):
            raise NoDriver(f"{statement} converts elements to {kind}, a format that C has no type for; legal is to "
                               "copy elements of this type")
        if isinstance(value, Const):
            constant = c_number(kind, evaluate_words(statement.value, kind, _no_reads)[0])
            points = written.domain().identity().project_out(isl.dim_type.out, 0, written.dim(isl.dim_type.in_))
            lines += print_c_copies(f"KEPT{number}", statement.write.array, constant, points)
        else:
            assert isinstance(value, Read)
            source = statement.reads[value.index]
            lines += print_c_copies(f"KEPT{number}", statement.write.array, f"{casts}{source.array}",
                                    written.apply_range(source.map))
    return tuple(lines)


def _area(plan: Plan, place: Place, array: str | None, word: Word, copy: Callable[[], list[str]]) -> Area:
    strides = {loop.name: stride for loop, stride in zip(plan.spec.tile_loops, place.strides, strict=True) if stride}
    return Area(place.name, array, place.address, place.bytes, copy=copy, layout="tiles", word=_c_word(word),
                order="tiles, then feeders, words and lanes as plan.json says", strides=strides)


def _c_word(word: Word) -> str:
    """The type in C of the elements of arrays that words are."""
    kind = number_of(word)
    if isinstance(kind, Float):
        return c_type(kind)
    return f"{'' if word.signed else 'u'}int{8 * element_bytes(word.width)}_t"


def c_number(kind: Int | Float, word: int) -> str:
    """The number whose bits are `word`, as elements of type `kind` have it in C."""
    if kind not in (FLOAT32, FLOAT64):
        return str(word)
    assert isinstance(kind, Float)
    value = float(decode(kind, np.array([word], np.uint64))[0])
    suffix = "f" if kind == FLOAT32 else ""
    if isfinite(value):
        return value.hex() + suffix
    if isnan(value):
        return f'__builtin_nan{suffix}("")'
    return f"{'-' if value < 0 else ''}__builtin_inf{suffix}()"


def _no_reads(number: int) -> tuple[Int | Float, np.ndarray]:
    raise AssertionError(f"a constant has no read {number}")


def _nest(loops: Sequence[tuple[str, int]], body: Sequence[str]) -> list[str]:
    """C loops around `body`, which is indented below them."""
    lines = [f"{'  ' * depth}for (int {name} = 0; {name} < {extent}; {name}++)"
             for depth, (name, extent) in enumerate(loops)]
    indent = "  " * len(loops)
    return [*lines, f"{indent}{{", *(f"{indent}  {line}" for line in body), f"{indent}}}"]


# Operands.


def _pack(plan: Plan, number: int) -> list[str]:
    spec, operand, source = plan.spec, plan.spec.operands[number], plan.sources[number]
    kept = operand.in_memory.word
    word = spec.word_bytes(operand) // element_bytes(kept.width)
    tile = spec.operand_bytes(operand) // element_bytes(kept.width)
    tiles = [(f"t{k}", plan.tiles[k]) for k in operand.tile_loops]
    words = [(f"x{k}", axis.extent) for k, axis in enumerate(source.words.axes)]
    loops = [*tiles, *_images(plan, operand), *words, ("lane", spec.word_elements(operand))]
    strides = [(tile * prod(extent for _, extent in tiles[k + 1:]), name) for k, (name, _) in enumerate(tiles)]
    inside = [(prod(extent for _, extent in words[k + 1:]), name) for k, (name, _) in enumerate(words)]
    strides.append((word, _place(plan, operand, affine_text(inside, 0))))
    element = _element(plan, operand, source)
    kind = _c_word(kept)
    return [f"volatile {kind} *words = (volatile void *)memory;",
            *_nest(loops, [*element, f"words[{affine_text([*strides, (1, 'lane')], 0)}] = value;"])]


def _images(plan: Plan, operand: OperandSpec) -> list[tuple[str, int]]:
    """Loops over feeders."""
    if operand.copied:
        return []
    rows, columns = ("row", plan.spec.rows), ("column", plan.spec.columns)
    if operand.direction == INTERIOR:
        return [columns, rows]
    return [rows] if operand.direction == EAST else [columns]


def _place(plan: Plan, operand: OperandSpec, word: str) -> str:
    """The place in the tile of word number `word` of a feeder: a beat of every feeder, then their next ones."""
    if operand.copied:
        return f"({word})"
    beat = f"(({word}) / {operand.pack} * {plan.spec.feeders(operand)} + {_image(plan, operand)})"
    return f"({beat} * {operand.pack} + ({word}) % {operand.pack})"


def _image(plan: Plan, operand: OperandSpec) -> str:
    """The place of a feeder among those of its chain: the farthest one is first."""
    last = plan.spec.feeders(operand) - 1
    if operand.direction == INTERIOR:
        return f"({last} - column * {plan.spec.rows} - row)"
    return f"({last} - {'row' if operand.direction == EAST else 'column'})"


def _element(plan: Plan, operand: OperandSpec, source: Source) -> list[str]:
    """Lines that set `value`."""
    kind, reference = _c_word(operand.in_memory.word), source.reference
    if reference.array is None:
        value = c_number(reference.type, reference.constant)
        lines: list[str] = []
    else:
        array = plan.kernel.program.array(reference.array)
        lines = [f"const int s{d} = {_subscript(plan, operand, source, d)};"
                 for d in range(len(reference.subscripts))]
        inside = [text for d, subscript in enumerate(reference.subscripts)
                  for text in _inside(plan, f"s{d}", subscript, array.shape[d])]
        names = [f"s{d}" for d in range(len(reference.subscripts))]
        inside += [f"{affine_text(zip(bound.coefficients, names, strict=True), bound.constant)} >= 0"
                   for bound in reference.bounds]
        subscripts = "".join(f"[s{d}]" for d in range(len(reference.subscripts)))
        value = f"{' && '.join(inside)} ? {reference.array}{subscripts} : 0"
    if operand.initial and plan.spec.result.space == "both":
        value = f"row ? {plan.idle} : {value}"
    return [*lines, f"const {kind} value = {value};"]


def _subscript(plan: Plan, operand: OperandSpec, source: Source, dimension: int) -> str:
    subscript, words = source.reference.subscripts[dimension], source.words
    terms = [(axis.steps[dimension], f"x{k}") for k, axis in enumerate(words.axes)]
    names = {loop.name: f"t{k}" for k, loop in enumerate(plan.spec.tile_loops)}
    for coefficient, split in zip(subscript.coefficients, plan.splits, strict=True):
        terms.append((coefficient * split.tile, names[split.loop]))
        if split.axis is not None:
            terms.append((coefficient * split.position, ("row", "column")[split.axis]))
        if split.lanes > 1:
            terms.append((coefficient, "lane"))
    return affine_text(terms, subscript.constant + words.origin[dimension])


def _inside(plan: Plan, name: str, subscript: Subscript, extent: int) -> list[str]:
    """Conditions: inside the array, and before the bound of a loop that the subscript belongs to alone."""
    found = [f"{name} >= 0", f"{name} < {extent}"]
    only = [(k, c) for k, c in enumerate(subscript.coefficients) if c]
    if len(only) == 1:
        (position, coefficient), = only
        last = subscript.constant + coefficient * (plan.kernel.extents[position] - 1)
        found.append(f"{name} {'<=' if coefficient > 0 else '>='} {last}")
    return found


# Results.


def _unpack(plan: Plan) -> list[str]:
    spec, result = plan.spec, plan.spec.result
    kept = result.in_memory.word
    body = _along_results(plan, result, spec.result_bytes, lambda index: _store(plan, index))
    return [f"const volatile {_c_word(kept)} *words = (volatile void *)memory;", *body]


def _pack_extra(plan: Plan, number: int) -> list[str]:
    """Elements in the order of the results that they belong to."""
    spec, extra, reference = plan.spec, plan.spec.streams[number], plan.sources[number].reference
    array = plan.kernel.program.array(reference.array or "")
    free = [(k, name) for k, name in enumerate(plan.kernel.loops) if name not in plan.kernel.reduction_loops]
    places = [affine_text([(s.coefficients[k], f"at_{name}") for k, name in free], s.constant)
              for s in reference.subscripts]
    inside = _has_result(plan) + [f"{text} >= 0 && {text} < {extent}"
                                  for text, extent in zip(places, array.shape, strict=True)]
    element = f"{array.name}{''.join(f'[{text}]' for text in places)}"
    body = _along_results(plan, extra, spec.operand_bytes(extra), lambda index:
                          f"words[{index}] = {' && '.join(inside) or 1} ? {element} : 0;")
    return [f"volatile {_c_word(extra.word)} *words = (volatile void *)memory;", *body]


def _along_results(plan: Plan, part: OperandSpec | ResultSpec, tile_bytes: int, line: Callable[[str], str]
                   ) -> list[str]:
    """Loops over all results around `line` of the number of the element of `part`, in memory, that belongs to one."""
    spec, result = plan.spec, plan.spec.result
    size = element_bytes(part.in_memory.word.width)
    word, tile = spec.word_bytes(part) // size, tile_bytes // size
    tiles = [(f"t{k}", plan.tiles[k]) for k in spec.result_loops]
    free = [loop for loop in spec.time_loops if not loop.reduction]
    times = [(f"x{k}", loop.extent) for k, loop in enumerate(free)]
    columns = [("column", spec.columns)] if result.space == "none" else []
    loops = [*tiles, ("row", spec.exits), *times, *columns, ("lane", spec.word_elements(result))]
    strides = [(tile * prod(extent for _, extent in tiles[k + 1:]), name) for k, (name, _) in enumerate(tiles)]
    number = affine_text([(prod(extent for _, extent in times[k + 1:]), name) for k, (name, _) in enumerate(times)], 0)
    pack, turn = result.pack, result.row_pack
    strides += [(word * spec.exits * pack, f"(place / {pack})"), (word * pack, "row"), (word, f"(place % {pack})"),
                (1, "lane")]
    counters = {loop.name: name for loop, (name, _) in zip(free, times, strict=True)}
    order = [(turn * prod(extent for _, extent in columns), f"(number / {turn})"),
             *((turn, name) for name, _ in columns), (1, f"number % {turn}")]
    return _nest(loops, [*_iterations(plan, counters), f"const int number = {number};",
                         f"const int place = {affine_text(order, 0)};", line(affine_text(strides, 0))])


def _iterations(plan: Plan, counters: dict[str, str]) -> list[str]:
    """The iteration, from 0, of every loop that results depend on."""
    names = {loop.name: f"t{k}" for k, loop in enumerate(plan.spec.tile_loops)}
    lines = []
    for split in plan.splits:
        if split.loop in counters:
            terms = [(split.tile, names[split.loop]), (split.lanes, counters[split.loop])]
            if split.axis is not None:
                terms.append((split.position, ("row", "column")[split.axis]))
            if split.lanes > 1:
                terms.append((1, "lane"))
            lines.append(f"const int at_{split.loop} = {affine_text(terms, 0)};")
    return lines


def _has_result(plan: Plan) -> list[str]:
    """Conditions under which the program has the result of an iteration."""
    kernel = plan.kernel
    free = [(k, name) for k, name in enumerate(kernel.loops) if name not in kernel.reduction_loops]
    return [*(f"at_{name} < {kernel.extents[k]}" for k, name in free),
            *(f"{affine_text([(bound.coefficients[k], f'at_{name}') for k, name in free], bound.constant)} >= 0"
              for bound in kernel.bounds)]


def _store(plan: Plan, index: str) -> str:
    kernel = plan.kernel
    free = [(k, name) for k, name in enumerate(kernel.loops) if name not in kernel.reduction_loops]
    subscripts = "".join(f"[{affine_text([(s.coefficients[k], f'at_{name}') for k, name in free], s.constant)}]"
                         for s in kernel.target)
    store = f"{kernel.output}{subscripts} = words[{index}];"
    inside = _has_result(plan)
    return f"if ({' && '.join(inside)}) {store}" if inside else store
