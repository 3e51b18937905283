"""Where elements of a program's arrays lie in main memory, for designs whose streams walk arrays: in boxes.

A compiler pass may have cut arrays in parts, grown them, made words of wide elements, or wide elements of neighbours
(`compiler.passes.arrays.partition.Partition`); a box of what is in memory is one of what the host has all the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from compiler.bind.host_interface import NoDriver, print_c_copies
from compiler.ir.program import Array, Program
from compiler.passes.arrays.partition import Part, Partition
from compiler.sched.streams.streams import row_major
from hw.drivers.interface import Area, Block

__all__ = ["MemoryFormat", "PartitionAreas", "kept_lines", "partition_areas"]


@dataclass(frozen=True)
class MemoryFormat:
    """How a target holds arrays of the mapped program: address of each in bytes, bytes of an element, and the C type
    that an element is for the host's processor."""

    addresses: Mapping[str, int]
    element_bytes: Callable[[Array], int]
    word: Callable[[Array], str]
    content: Callable[[Array, np.ndarray], bytes]


@dataclass(frozen=True)
class PartitionAreas:
    """Areas of the program's arrays, and (address, bytes) of arrays that are the program's own."""

    areas: tuple[Area, ...]
    image: tuple[tuple[int, bytes], ...]


def partition_areas(program: Program, parts: Partition, form: MemoryFormat) -> PartitionAreas:
    """Those of `parts` as they lie in memory, in terms of the arrays of `program`, which is what was asked for. Raises
    `NoDriver`."""
    cut = {part.name: part for part in parts.parts}
    areas, image = [], []
    for array in (*parts.program.inputs, *parts.program.outputs):
        if array.name in parts.constants:
            image.append((form.addresses[array.name], form.content(array, parts.constants[array.name])))
            continue
        whole = Part(array.name, array.name, (0,) * len(array.shape), array.shape, (1,) * len(array.shape))
        areas.append(_area(program, parts, form, array, cut.get(array.name, whole)))
    order = {area.name: number for number, area in enumerate(areas)}
    areas.sort(key=lambda area: (any(block.shift for block in area.blocks), order[area.name]))
    return PartitionAreas(tuple(areas), tuple(image))


def _area(program: Program, parts: Partition, form: MemoryFormat, array: Array, part: Part) -> Area:
    size = form.element_bytes(array)
    name, shift = _parent(parts, part.parent)
    host = program.array(name)
    strides = tuple(size * step for step in row_major(array.shape))
    box = Block(part.low, part.step, array.shape, 0, strides, form.word(array), shift)
    if parts.growth is not None:
        front = parts.growth.front(name)
        box = replace(box, low=tuple(low - more for low, more in zip(box.low, front, strict=True)),
                      clamped=name in parts.growth.edges)
    factor = parts.packed.factors.get(name, 1) if parts.packed else 1
    if factor > 1:
        box = _narrow(box, host, factor, size // factor)
    box = _cropped(box, host)
    blocks = (box,) if all(box.shape) else ()
    return Area(array.name, name, form.addresses[array.name], size * int(np.prod(array.shape)), blocks)


def _parent(parts: Partition, name: str) -> tuple[str, int]:
    """The array that was asked for, and the bit from which on `name` has words of it."""
    for whole, halves in (parts.words.halves.items() if parts.words else ()):
        if name in halves:
            assert parts.words is not None
            _check_whole_words(parts, whole)
            return whole, parts.words.width * halves.index(name)
    return name, 0


def _check_whole_words(parts: Partition, name: str) -> None:
    assert parts.words is not None
    type = parts.words.before.array(name).type
    if type.width != 2 * parts.words.width:
        raise NoDriver(f"array {name} has elements of {type.width} bits in two words of {parts.words.width}; make them "
                       f"{2 * parts.words.width} bits wide")


def _narrow(box: Block, host: Array, factor: int, size: int) -> Block:
    """The box of wide elements as one of `factor` times as many, of `size` bytes."""
    if box.step[-1] != 1 or box.clamped:
        raise NoDriver(f"array {host.name} has wide elements of which not all neighbours are moved; set the option "
                       "lanes to 1")
    if not size:
        raise NoDriver(f"array {host.name} has elements of less than a byte, packed in words; set the option lanes to "
                       "1")
    *outer, low = box.low
    *shape, count = box.shape
    type = host.type
    return replace(box, low=(*outer, low * factor), shape=(*shape, count * factor), strides=(*box.strides[:-1], size),
                   word=f"{'' if getattr(type, 'signed', False) else 'u'}int{8 * size}_t")


def _cropped(box: Block, host: Array) -> Block:
    """Without what is outside of the host's array."""
    if box.clamped:
        return box
    low, shape, offset = [], [], box.offset
    for first, step, count, stride, size in zip(box.low, box.step, box.shape, box.strides, host.shape, strict=True):
        skipped = max(0, -(first // step))
        low.append(first + skipped * step)
        shape.append(max(0, min(count, -(-(size - first) // step)) - skipped))
        offset += skipped * stride
    return replace(box, low=tuple(low), shape=tuple(shape), offset=offset)


def kept_lines(parts: Partition) -> tuple[str, ...]:
    """Lines of C that copy what the design leaves as it was from inputs to outputs. Raises `NoDriver`."""
    if parts.untouched and (parts.growth or parts.words or parts.packed):
        kept = parts.untouched[0]
        raise NoDriver(f"array {kept.output} keeps elements of {kept.input}, and lies in memory in another form")
    return tuple(line for number, kept in enumerate(parts.untouched)
                 for line in print_c_copies(f"KEPT{number}", kept.output, kept.input, kept.elements.identity()))
