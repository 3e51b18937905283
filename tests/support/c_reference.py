"""C kernels compiled with gcc as they stand: the independent reference of the C front end.

All kernels of a batch go through one run of gcc into one shared library. The arguments of a kernel are numpy arrays
(passed by reference, changed in place) and numpy scalars (passed by value), in the order of its parameters.
"""

from __future__ import annotations

import ctypes
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

FLAGS = ("-std=gnu11", "-O1", "-fwrapv", "-ffp-contract=off", "-w", "-fPIC", "-shared")


def compile_c(folder: Path, texts: Mapping[str, str], *flags: str) -> ctypes.CDLL:
    """The library of the files `texts` (name without suffix to text), which define different functions, with more
    `flags`."""
    files = []
    for name, text in texts.items():
        files.append(folder / f"{name}.c")
        files[-1].write_text(text)
    library = folder / "library.so"
    subprocess.run(["gcc", *FLAGS, *flags, "-o", library, *files, "-lm"], check=True, capture_output=True, text=True)
    return ctypes.CDLL(str(library))


def call(library: ctypes.CDLL, function: str, arguments: Sequence[np.ndarray | np.generic]) -> None:
    """Run ``function(*arguments)``; arrays must be contiguous and of the kernel's element types."""
    converted = []
    for argument in arguments:
        if isinstance(argument, np.ndarray):
            assert argument.flags.c_contiguous
            converted.append(ctypes.c_void_p(argument.ctypes.data))
        else:
            converted.append(np.ctypeslib.as_ctypes_type(argument.dtype)(argument.item()))
    getattr(library, function)(*converted)


def global_array(library: ctypes.CDLL, name: str, shape: tuple[int, ...], dtype: type) -> np.ndarray:
    """A view of the kernel's global array `name`."""
    element = np.ctypeslib.as_ctypes_type(np.dtype(dtype))
    size = int(np.prod(shape))
    return np.ctypeslib.as_array((element * size).in_dll(library, name)).reshape(shape)
