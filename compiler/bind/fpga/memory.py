"""Arrays in main memory, and the order in which the streams of a pipeline walk them.

Arrays lie there in C order; an element takes a power of two of bytes, little-endian, extended by its sign.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import islpy as isl
import numpy as np

from compiler.analysis.affine import affine_form
from compiler.analysis.dependences import constant_bounds
from compiler.bind.bounds import array_bytes
from compiler.bind.fpga.expressions import word_of
from compiler.ir.evaluate import word_type
from compiler.ir.floating import from_words, to_words
from compiler.ir.program import Array
from compiler.sched.streams.streams import Footprint, StagedProgram, StreamError, row_major
from hw.dataflow.registers import element_bytes
from hw.pipeline.streams import ArrayStream

__all__ = ["MemoryLayout", "array_from_bytes", "bytes_of", "lay_out", "stream_of"]

_ALIGNMENT = 64


@dataclass(frozen=True)
class MemoryLayout:
    """Byte address of every array in main memory, and the end of the last one."""

    addresses: dict[str, int]
    end: int


def lay_out(arrays: Iterable[Array]) -> MemoryLayout:
    """Arrays one after the other from address 0."""
    addresses, place = {}, 0
    for array in arrays:
        addresses[array.name] = place
        place = -(-(place + array_bytes(array)) // _ALIGNMENT) * _ALIGNMENT
    return MemoryLayout(addresses, place)


def bytes_of(array: Array, data: np.ndarray) -> bytes:
    """An array's contents as they lie in memory."""
    return to_words(array.type, np.asarray(data)).astype(_held(array)).tobytes()


def array_from_bytes(array: Array, data: bytes) -> np.ndarray:
    """Inverse of `bytes_of`."""
    words = np.frombuffer(data, _held(array))
    return from_words(array.type, words if words.itemsize == 8 else words.astype(np.int64)).reshape(array.shape)


def _held(array: Array) -> np.dtype:
    """Words of elements in memory."""
    return word_type(array.type).dtype.newbyteorder("<")


def stream_of(staged: StagedProgram, footprint: Footprint, array: Array) -> ArrayStream:
    """How the stream of `footprint` walks `array`: in the order of its statement's instances.

    Raises `StreamError` for an access that is not affine.
    """
    statement = staged.program.statement(footprint.statement)
    loads = array.role == "input"
    access = (statement.reads[0] if loads else statement.write).map.intersect_domain(statement.domain)
    function = isl.PwMultiAff.from_map(access)
    bounds = list(constant_bounds(statement).values())
    strides, offset = [0] * len(bounds), 0
    for dimension, words in enumerate(row_major(array.shape)):
        form = affine_form(function.get_pw_aff(dimension))
        if form is None:
            raise StreamError(f"array {array.name}: {statement.label()} does not walk it affinely")
        strides = [have + words * step for have, step in zip(strides, form[0], strict=True)]
        offset += words * form[1]
    offset += sum(stride * low for stride, (low, _) in zip(strides, bounds, strict=True))
    loops = [(high - low + 1, stride) for stride, (low, high) in zip(strides, bounds, strict=True)]
    return _stream(array, _merged(loops), offset)


def _stream(array: Array, loops: Sequence[tuple[int, int]], offset: int) -> ArrayStream:
    """The stream that walks `loops` (outermost first, strides in elements)."""
    word = word_of(array.type, f"array {array.name}")
    size = element_bytes(word.width)
    row, rest = 1, list(loops)
    if rest and rest[-1][1] == 1:
        row = rest.pop()[0]
    levels = tuple((count, stride * size) for count, stride in reversed(rest))
    return ArrayStream(array.name, word, row, levels, offset * size)


def _merged(loops: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Loops without those of one iteration, and with neighbours in one where they are one arithmetic progression."""
    result: list[tuple[int, int]] = []
    for count, stride in loops:
        if count == 1:
            continue
        if result and result[-1][1] == count * stride:
            result[-1] = (result[-1][0] * count, stride)
        else:
            result.append((count, stride))
    return result
