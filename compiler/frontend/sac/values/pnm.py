"""PGM and PPM files, as text (P2, P3) or binary (P5, P6), with the type of the elements in a comment.

``# sac fix16.4[2,3]`` says type and extents; the numbers are then the bits of the elements. Without it a PGM is a
``uint8`` array of two dimensions and a PPM one of three, red, green, blue (16 bits if the greatest value says so).
Elements of more than 16 bits, which only files with such a comment have, take as many bytes as they need.
"""

from __future__ import annotations

import re
from math import prod
from pathlib import Path

import numpy as np

from compiler.frontend.sac.ddcf.graph import Port
from compiler.frontend.sac.types import Kind, Scalar, Type, parse_scalar
from compiler.ir.types import ProgramError
from hw.files import write_atomic

__all__ = ["read_pnm", "write_pnm"]

_COLOURS, _PER_LINE = 3, 12
"""Samples of a pixel in colour; samples in a line of text, which has at most 70 characters in files of 16 bits."""
_COMMENT = re.compile(rb"#[^\n]*")
_TYPE = re.compile(rb"#[ \t]*sac[ \t]+([a-z0-9.]+)(?:\[([0-9, ]*)\])?[ \t\r]*\n")
_WORD = re.compile(rb"(?:\s|#[^\n]*\n)*([0-9]+)")


def read_pnm(path: Path, port: Port) -> np.ndarray:
    """The array in a PGM or PPM file, as an input of the type of `port`: numbers, not their bits.

    Raises `ProgramError` for a file that is none, is cut off, or has another type.
    """
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise ProgramError(f"there is no image {path}") from None
    except OSError as error:
        raise ProgramError(f"image {path} cannot be read: {error.strerror}") from None
    if data[:2] not in (b"P2", b"P3", b"P5", b"P6"):
        raise ProgramError(f"{path} is no PGM or PPM file: it begins with none of P2, P3, P5, P6")
    width, height, most, start = _header(data, path)
    colours = _COLOURS if data[:2] in (b"P3", b"P6") else 1
    values = _samples(data, path, start, width * height * colours, most)
    declared = _TYPE.search(data[:start])
    if declared is not None:
        return _typed(values, declared, path, port)
    return values.reshape((height, width, colours) if colours > 1 else (height, width))


def _header(data: bytes, path: Path) -> tuple[int, int, int, int]:
    """Width, height, greatest value, and where the samples begin."""
    numbers, place = [], 2
    for _ in range(3):
        match = _WORD.match(data, place)
        if match is None:
            raise ProgramError(f"{path}: its header lacks width, height or greatest value")
        numbers.append(int(match[1]))
        place = match.end()
    if not 0 < numbers[2] < 1 << 32:
        raise ProgramError(f"{path}: its greatest value is {numbers[2]}; it is 1 to {(1 << 32) - 1}")
    return numbers[0], numbers[1], numbers[2], place + 1


def _samples(data: bytes, path: Path, start: int, count: int, most: int) -> np.ndarray:
    if data[:2] in (b"P2", b"P3"):
        words = _COMMENT.sub(b"", data[start - 1:]).split()
        if not all(word.isdigit() for word in words):
            raise ProgramError(f"{path}: its samples are not all numbers")
        found = np.array([int(word) for word in words], dtype=np.int64)
    else:
        size = (most.bit_length() + 7) // 8
        held = np.frombuffer(data, dtype=np.uint8, offset=min(start, len(data)))
        held = held[:len(held) // size * size].reshape((-1, size)).astype(np.int64)
        found = (held << 8 * np.arange(size - 1, -1, -1)).sum(axis=1)
    if len(found) < count:
        raise ProgramError(f"{path} is cut off: it has {len(found)} of {count} samples")
    if count and found[:count].max() > most:
        raise ProgramError(f"{path}: a sample is {found[:count].max()}, and its greatest value is {most}")
    return found[:count]


def _typed(values: np.ndarray, declared: re.Match[bytes], path: Path, port: Port) -> np.ndarray:
    """Numbers from the bits of a file that says its type."""
    scalar = parse_scalar(declared[1].decode())
    shape = tuple(int(extent) for extent in (declared[2] or b"").split(b",") if extent.strip())
    wanted = port.types[0]
    if scalar != wanted.scalar or len(shape) != wanted.rank or len(port.types) > 1:
        raise ProgramError(f"{path} holds {Type(scalar, shape)}, and input {port.name} has type {wanted}")
    if len(values) != prod(shape):
        raise ProgramError(f"{path} says that it holds {Type(scalar, shape)}, and has {len(values)} samples")
    if scalar.floating:
        return values.astype(np.uint32).view(np.float32).reshape(shape)
    held = np.where(values > scalar.maximum, values - (1 << scalar.width), values) if scalar.signed else values
    return (held / float(1 << scalar.fraction) if scalar.kind in (Kind.FIX, Kind.UFIX) else held).reshape(shape)


def write_pnm(path: Path, values: np.ndarray, port: Port, *, ascii_: bool = False) -> None:
    """An output of the type of `port` as PGM, or as PPM if `path` ends so and it is an array of colours, with its type.

    Raises `ProgramError` for complex numbers, ``double``, and a PPM without colours; `OutputError` if the place cannot
    be written.
    """
    type_, is_complex = port.types[0], len(port.types) == 2
    scalar = type_.scalar
    if is_complex or scalar.width > 32:
        raise ProgramError(f"{path}: its samples have at most 32 bits, and output {port.name} has type "
                           f"{'complex ' if is_complex else ''}{type_}; take a .npy file")
    colour = path.suffix.lower() == ".ppm"
    if colour and (values.ndim != _COLOURS or values.shape[2] != _COLOURS):
        raise ProgramError(f"{path}: a PPM holds red, green and blue, and output {port.name} has shape "
                           f"{list(values.shape)}; take a .pgm file")
    bits = _bits(values, scalar)
    shape = tuple(values.shape)
    width = shape[1] if colour else (1, *shape)[-1]
    height = values.size // ((3 if colour else 1) * width) if width else 0
    extents = f"[{','.join(map(str, shape))}]" if shape else ""
    kind = {(False, False): "P5", (False, True): "P2", (True, False): "P6", (True, True): "P3"}[colour, ascii_]
    head = f"{kind}\n# sac {scalar}{extents}\n{width} {height}\n{(1 << scalar.width) - 1}\n".encode()
    write_atomic(path, head + (_lines(bits) if ascii_ else _packed(bits, scalar.width)))


def _bits(values: np.ndarray, scalar: Scalar) -> np.ndarray:
    if scalar.floating:
        return np.ascontiguousarray(values, dtype=np.float32).view(np.uint32).astype(np.int64).ravel()
    return np.asarray(values * (1 << scalar.fraction)).astype(np.int64).ravel() & ((1 << scalar.width) - 1)


def _packed(bits: np.ndarray, width: int) -> bytes:
    size = (width + 7) // 8
    return (bits[:, np.newaxis] >> 8 * np.arange(size - 1, -1, -1) & 255).astype(np.uint8).tobytes()


def _lines(bits: np.ndarray) -> bytes:
    rows = [" ".join(map(str, bits[first:first + _PER_LINE])) for first in range(0, len(bits), _PER_LINE)]
    return "".join(f"{row}\n" for row in rows).encode()
