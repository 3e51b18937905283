"""Tiles of an array in main memory, as numpy arrays of elements and as bytes.

Operand tile, as an array: feeders (rows of an `EAST` operand; columns of a `SOUTH` one; columns, and in each its rows,
of an `INTERIOR` one; a single one if `copied`), in each of them its words, in each of them its elements. The words of a
feeder are filled up to whole beats of the chain, a word to a power of two of bytes, a tile to whole beats of memory. In
memory the first beat of every feeder comes first, then the second one of every feeder, and so on, and of these that of
the last feeder, because it has the longest way. Elements are little-endian, of 1, 2, 4 or
8 bytes.

Result tile, as an array: exits (rows, or one), in each of them its words: in the order in which a tile's results are
completed, which is that of the time loops without the reduction loops, `row_pack` of every PE from west to east, then
the next ones (all of the row with a reduction in space); in each of them its elements. In memory beats of `pack` words:
the first one of every exit, the second one of every exit, and so on.
"""

from __future__ import annotations

import numpy as np

from hw.dataflow.registers import element_bytes
from hw.dataflow.spec import Word
from hw.systolic.spec import ArraySpec, OperandSpec, SystolicError

__all__ = ["dtype", "operand_shape", "pack_results", "pack_tile", "result_order", "result_shape",
           "unpack_tile"]


def dtype(word: Word) -> np.dtype:
    """Elements of `word` in memory."""
    return np.dtype(f"<{'i' if word.signed else 'u'}{element_bytes(word.width)}")


def operand_shape(spec: ArraySpec, operand: OperandSpec) -> tuple[int, int, int]:
    """Shape of an operand's tile: feeders, words, elements."""
    images = 1 if operand.copied else spec.feeders(operand)
    return images, operand.words, spec.word_elements(operand)


def result_shape(spec: ArraySpec) -> tuple[int, int, int]:
    """Shape of a tile of results: exits, words, elements."""
    return spec.exits, spec.exit_words, spec.word_elements(spec.result)


def pack_tile(spec: ArraySpec, operand: OperandSpec, tile: np.ndarray) -> bytes:
    """A tile of shape `operand_shape` as it lies in memory, `ArraySpec.operand_bytes` long. Raises `SystolicError`."""
    shape = operand_shape(spec, operand)
    if tile.shape != shape:
        raise SystolicError(f"a tile of operand {operand.name} has shape {shape}, not {tile.shape}")
    size = spec.word_bytes(operand) // element_bytes(operand.in_memory.word.width)
    image = np.zeros((shape[0], spec.feeder_beats(operand) * operand.pack, size), dtype(operand.in_memory.word))
    image[:, : shape[1], : shape[2]] = tile[::-1]
    beats = image.reshape(shape[0], spec.feeder_beats(operand), operand.pack * size).swapaxes(0, 1)
    return beats.tobytes().ljust(spec.operand_bytes(operand), b"\0")


def result_order(spec: ArraySpec) -> np.ndarray:
    """Of every word of an exit ``number * columns + column``: the PE that it comes from, and its number there."""
    columns, pack = spec.exit_words // spec.result.words, spec.result.row_pack
    return np.arange(spec.exit_words).reshape(-1, pack, columns).swapaxes(1, 2).ravel()


def unpack_tile(spec: ArraySpec, content: bytes) -> np.ndarray:
    """The tile of results, of shape `result_shape`, in `ArraySpec.result_bytes` bytes of memory."""
    exits, words, elements = result_shape(spec)
    word = spec.result.in_memory.word
    size = spec.word_bytes(spec.result) // element_bytes(word.width)
    values = np.frombuffer(content, dtype(word))
    count = exits * spec.exit_beats * spec.result.pack * size
    beats = values[:count].reshape(spec.exit_beats, exits, spec.result.pack * size)
    return beats.swapaxes(0, 1).reshape(exits, -1, size)[:, :words, :elements]


def pack_results(spec: ArraySpec, tile: np.ndarray) -> bytes:
    """The inverse of `unpack_tile`; what the hardware leaves undefined is 0."""
    exits, words, elements = result_shape(spec)
    word, pack = spec.result.in_memory.word, spec.result.pack
    size = spec.word_bytes(spec.result) // element_bytes(word.width)
    image = np.zeros((exits, spec.exit_beats * pack, size), dtype(word))
    image[:, :words, :elements] = tile
    beats = image.reshape(exits, spec.exit_beats, pack * size).swapaxes(0, 1)
    return beats.tobytes().ljust(spec.result_bytes, b"\0")
