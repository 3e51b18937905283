"""Functions of Python that SA-C programs call on the host: those of numpy in `NUMPY`, and what `register_foreign` adds.

A program declares one by a prototype behind ``// PRAGMA (foreign)``. It is called with numbers and arrays as
`SacProgram.run` takes them. Its results depend on nothing but its arguments, which it does not change.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from compiler.ir.types import ProgramError

__all__ = ["NUMPY", "find_foreign", "register_foreign"]

NUMPY: dict[str, Callable[..., Any]] = {function.__name__: function for function in (
    np.argsort, np.convolve, np.cumprod, np.cumsum, np.diff, np.dot, np.flip, np.fliplr, np.flipud, np.interp, np.kron,
    np.matmul, np.outer, np.percentile, np.quantile, np.repeat, np.roll, np.rot90, np.searchsorted, np.sort, np.tile,
    np.transpose, np.trapezoid, np.tril, np.triu, np.unique, np.linalg.det, np.linalg.inv, np.linalg.solve, np.fft.fft,
    np.fft.fft2, np.fft.ifft, np.fft.ifft2)}
"""Functions of numpy by name."""

_REGISTERED: dict[str, Callable[..., Any]] = {}


def register_foreign(name: str, function: Callable[..., Any]) -> None:
    """Let SA-C programs call `function` by `name`, from now on, in this process. Raises `ProgramError` for a name that
    is none of SA-C."""
    if not name.isidentifier():
        raise ProgramError(f"'{name}' is no name of a function")
    _REGISTERED[name] = function


def find_foreign(name: str) -> Callable[..., Any] | None:
    """The function of this name, None if there is none."""
    return _REGISTERED.get(name) or NUMPY.get(name)
