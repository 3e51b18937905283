"""Tiles of an array in main memory, as numpy arrays of elements and as bytes.

Operand tile, as an array: feeders (rows of an `EAST` operand; columns of a `SOUTH` one; columns, and in each its rows,
of an `INTERIOR` one; a single one if `copied`), in each of them its words, in each of them its elements. In memory the
last feeder comes first, because its words have the longest way. The words of a feeder are filled up to whole beats of
the chain, a word to a power of two of bytes, a tile to whole beats of memory. Elements are little-endian, of 1, 2, 4 or
8 bytes.

Result tile: exits (rows, or one), in each of them its words: of every PE from west to east (of the row with a
reduction in space), in the order in which a tile's results are completed, which is that of the time loops without the
reduction loops; in each of them its elements.
"""

from __future__ import annotations

import numpy as np

from hw.dataflow.registers import element_bytes
from hw.dataflow.spec import Word
from hw.systolic.spec import ArraySpec, OperandSpec, SystolicError

__all__ = ["dtype", "operand_shape", "pack_tile", "result_shape", "unpack_tile"]


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
    size = spec.word_bytes(operand) // element_bytes(operand.word.width)
    image = np.zeros((shape[0], spec.feeder_beats(operand) * operand.pack, size), dtype(operand.word))
    image[:, : shape[1], : shape[2]] = tile[::-1]
    return image.tobytes().ljust(spec.operand_bytes(operand), b"\0")


def unpack_tile(spec: ArraySpec, content: bytes) -> np.ndarray:
    """The tile of results, of shape `result_shape`, in `ArraySpec.result_bytes` bytes of memory."""
    exits, words, elements = result_shape(spec)
    size = spec.word_bytes(spec.result) // element_bytes(spec.result.word.width)
    values = np.frombuffer(content, dtype(spec.result.word))
    count = exits * spec.exit_beats * spec.result.pack * size
    return values[:count].reshape(exits, -1, size)[:, :words, :elements]
