"""Numbers as users have them, and the integers that hold them in graphs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from compiler.frontend.sac.ddcf.graph import Port
from compiler.frontend.sac.types import Kind, Scalar
from compiler.ir.types import ProgramError

__all__ = ["enter", "leave"]


def enter(name: str, port: Port, values: np.ndarray, what: str = "input") -> list[np.ndarray]:
    """The numbers of an input, or of `what` else, as integers that hold them, in two parts if they are complex.

    Raises `ProgramError`, naming both types, for another rank, other extents, and numbers that the type has not.
    """
    type_ = port.types[0]
    if values.ndim != type_.rank:
        raise ProgramError(f"{what} {name} has {values.ndim} dimensions, and its type {type_} has {type_.rank}")
    for extent, wanted in zip(values.shape, type_.extents, strict=True):
        if wanted not in (None, extent):
            raise ProgramError(f"{what} {name} has shape {list(values.shape)}, and its type is {type_}")
    if values.dtype.kind not in ("iubfc" if len(port.types) == 2 else "iubf"):
        raise ProgramError(f"{what} {name} holds {values.dtype}, and its type is {type_}")
    parts = [values.real, values.imag] if len(port.types) == 2 else [values]
    return [_held(f"{what} {name}", type_.scalar, part) for part in parts]


def _held(what: str, scalar: Scalar, values: np.ndarray) -> np.ndarray:
    if scalar.floating:
        return values.astype(np.float32 if scalar.width == 32 else np.float64)
    scaled = values * float(1 << scalar.fraction) if scalar.fraction or values.dtype.kind == "f" else values
    whole = np.asarray(np.floor(scaled) if scaled.dtype.kind == "f" else scaled)
    wrong = (whole != scaled) | (whole < scalar.minimum) | (whole > scalar.maximum)
    if wrong.any():
        raise ProgramError(f"{what} holds {values[wrong].flat[0]}, which is no {scalar}")
    return whole.astype(np.int64)


def leave(port: Port, parts: Sequence[np.ndarray]) -> np.ndarray:
    """The numbers that integers hold: fixed-point ones as float64, complex ones of two parts as complex128."""
    scalar = port.types[0].scalar
    if scalar.kind in (Kind.FIX, Kind.UFIX):
        parts = [part / float(1 << scalar.fraction) for part in parts]
    return np.asarray(parts[0] + 1j * parts[1]) if len(parts) == 2 else np.ascontiguousarray(parts[0]).reshape(
        parts[0].shape)
