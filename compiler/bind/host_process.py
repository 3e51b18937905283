"""Programs in C whose loops are on hardware: a process beside which a design runs, in a simulator or on a board."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

import numpy as np

from compiler.frontend.sac.host_c.run import compile_host, input_bytes, read_outputs
from compiler.frontend.sac.programs import Application, Group
from compiler.frontend.sac.programs.host_driver import emit_driver, run_time_files
from compiler.ir.program import Program
from hw.errors import SluiceError

__all__ = ["DriverRun", "run_driver", "write_driver"]

Execute = Callable[[Program, Mapping[str, np.ndarray]], Mapping[str, np.ndarray]]


@dataclass
class DriverRun:
    """Outputs of the main graph, configurations that were loaded, and starts of each, in their order."""

    outputs: list[np.ndarray] = field(default_factory=list)
    configurations: list[int] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)


def write_driver(application: Application, groups: Sequence[Group], folder: Path) -> str:
    """The program, whose run-time system goes to `folder`."""
    for name, text in run_time_files().items():
        (folder / name).write_text(text, encoding="utf-8")
    return emit_driver(application, groups)


def run_driver(application: Application, groups: Sequence[Group], inputs: Sequence[np.ndarray], execute: Execute,
               folder: Path) -> DriverRun:
    """Compile the program in `folder` and run it; `execute` has the hardware: it runs the program of a group on inputs
    by name. Raises `SluiceError` without a C compiler, or if the program fails, and what `execute` raises."""
    text = write_driver(application, groups, folder)
    program = compile_host(text, folder, sources=[folder / "sac_rts_pipe.c"])
    types, main = application.program.main.result_types, application.program.main
    (down_read, down_write), (up_read, up_write) = os.pipe(), os.pipe()
    given, output = folder / "input", folder / "output"
    given.write_bytes(input_bytes(inputs, main.graph.inputs))
    with given.open("rb") as source, output.open("wb") as sink:
        process = subprocess.Popen([program, str(down_write), str(up_read)], stdin=source, stdout=sink,
                                   stderr=subprocess.PIPE, pass_fds=(down_write, up_read))
    os.close(down_write)
    os.close(up_read)
    try:
        with os.fdopen(down_read, "rb") as requests, os.fdopen(up_write, "wb") as answers:
            run = _Server(groups, execute, requests, answers).serve()
    finally:
        error = process.communicate()[1].decode().strip()
    if process.returncode:
        raise SluiceError(f"the program on the host ended with status {process.returncode}: {error}")
    run.outputs = read_outputs(output.read_bytes(), types)
    return run


class _Server:
    """The hardware's end of the line."""

    def __init__(self, groups: Sequence[Group], execute: Execute, requests: BinaryIO, answers: BinaryIO) -> None:
        self.groups, self.execute, self.requests, self.answers = groups, execute, requests, answers
        self.run = DriverRun()
        self.given: dict[int, np.ndarray] = {}
        self.results: Mapping[str, np.ndarray] = {}

    def serve(self) -> DriverRun:
        """Until the program ends."""
        while letter := self.requests.read(1):
            number, more = self._numbers(2)
            if letter == b"E":
                break
            self._message(letter, int(number), int(more))
        return self.run

    def _message(self, letter: bytes, number: int, more: int) -> None:
        if letter == b"C":
            self.run.configurations.append(number)
            self.given = {}
        elif letter == b"A":
            self.given[number] = np.array([more])
        elif letter == b"M":
            self.given[number] = self._numbers(more)
        elif letter == b"X":
            self._start()
        else:
            name = self.groups[self.run.configurations[-1]].outputs[number][0]
            self._answer(np.asarray(self.results[name]).reshape(-1))

    def _start(self) -> None:
        loaded = self.run.configurations[-1]
        group = self.groups[loaded]
        shapes = {array.name: array.shape for array in group.program.arrays}
        names = [name for name, _ in group.inputs]
        self.results = self.execute(group.program, {names[k]: v.reshape(shapes[names[k]])
                                                    for k, v in self.given.items()})
        self.run.starts.append(loaded)
        self._answer(np.zeros(1, np.int64))

    def _numbers(self, count: int) -> np.ndarray:
        return np.frombuffer(self.requests.read(8 * count), np.int64)

    def _answer(self, numbers: np.ndarray) -> None:
        self.answers.write(numbers.astype(np.int64).tobytes())
        self.answers.flush()
