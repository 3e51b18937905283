"""Programs in C on the host: compiled by the system's C compiler, run in a process of their own."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from compiler.frontend.sac.arithmetic import dtype
from compiler.frontend.sac.errors import SacRunError
from compiler.frontend.sac.types import Type
from hw.errors import SluiceError

__all__ = ["compile_host", "input_bytes", "read_outputs", "run_host"]

_FLAGS = ("-std=gnu11", "-O1", "-fwrapv", "-ffp-contract=off", "-w")
_SECONDS = 60


def compile_host(text: str, folder: Path, name: str = "program", sources: Sequence[Path] = ()) -> Path:
    """The executable of a program that `emit_c` wrote, with other `sources`, in `folder`. Raises `SluiceError` without
    a C compiler."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        raise SluiceError("there is no C compiler: install gcc")
    source, program = folder / f"{name}.c", folder / name
    source.write_text(text, encoding="utf-8")
    command = [compiler, *_FLAGS, "-o", program, source, *sources, "-lm"]
    subprocess.run(command, check=True, capture_output=True, text=True)
    return program


def run_host(program: Path, inputs: Sequence[np.ndarray], inputs_types: Sequence[Type], outputs_types: Sequence[Type]
             ) -> list[np.ndarray]:
    """The outputs for `inputs`, as `compiler.frontend.sac.ddcf.interpret` has them. Raises `SacRunError` where there is
    no result."""
    data = input_bytes(inputs, inputs_types)
    run = subprocess.run([program], input=data, capture_output=True, timeout=_SECONDS, check=False)
    if run.returncode == 3:
        raise SacRunError(None, run.stderr.decode().strip())
    if run.returncode:
        raise SluiceError(f"{program.name} ended with status {run.returncode}")
    return read_outputs(run.stdout, outputs_types)


def input_bytes(inputs: Sequence[np.ndarray], types: Sequence[Type]) -> bytes:
    """What the program reads."""
    return b"".join(np.asarray(value.shape, dtype=np.int64).tobytes() + value.astype(dtype(type_.scalar)).tobytes()
                    for value, type_ in zip(map(np.asarray, inputs), types, strict=True))


def read_outputs(data: bytes, types: Sequence[Type]) -> list[np.ndarray]:
    """The outputs in what the program wrote."""
    found, place = [], 0
    for type_ in types:
        shape = tuple(np.frombuffer(data, np.int64, type_.rank, place))
        place += 8 * type_.rank
        kind = dtype(type_.scalar)
        count = int(np.prod(shape)) if shape else 1
        found.append(np.frombuffer(data, kind, count, place).reshape(shape))
        place += count * kind.itemsize
    return found
