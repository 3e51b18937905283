"""What every target gives back: a `Design` that answers questions, simulates and emits."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from compiler.bind.bounds import Bounds, Traffic, program_traffic
from compiler.bind.host_interface import NoDriver, driver_files
from compiler.bind.ported_design import PortedDesign
from compiler.bind.run import Run
from compiler.bind.streamed_design import ArrayStreams, StreamedDesign
from compiler.ir.floating import as_elements
from compiler.ir.program import Array, Program
from compiler.ir.types import Float, Int
from hw.axi_stream.spec import StreamError
from hw.drivers.interface import HostInterface
from hw.errors import SluiceError
from hw.link.board_run import run_on_board
from hw.link.client import LinkClient
from hw.link.ports import open_port
from hw.link.protocol import DEFAULT_BAUD
from hw.main_memory import MainMemory
from hw.ports.spec import SystemPorts
from hw.sim.simulate import jobs_run_by

__all__ = ["BoardDesign", "BufferStorage", "Design", "InputError", "Run", "check_inputs", "prediction_rows"]


class InputError(SluiceError):
    """Input data that does not fit the program's arrays."""


@dataclass(frozen=True)
class BufferStorage:
    """Words of memory that one buffer occupies, beside the most words that are live in it at once by the schedule.

    Words in flight between the producer and the memory are live and take no memory, so `allocated_words` may be a
    little less than `live_words`.
    """

    name: str
    units: tuple[str, ...]
    live_words: int
    allocated_words: int


class Design(ABC):
    """A program compiled for one target. Every answer but `simulate`'s is known without simulating."""

    predicts_exactly: ClassVar[bool] = True
    """Whether `cycles_for` its inputs is what a run takes, to the cycle."""

    start_to_done_is_exact: ClassVar[bool] = False
    """Whether `predicted_start_to_done` is what a run takes, to the cycle, and no estimate."""

    cycles_name: ClassVar[str] = "of these unstalled"
    """What `Run.cycles` are of the clock cycles from start to done."""

    program: Any
    """What was compiled: a `Program`, or of another kind that the target takes."""

    stated: Program | None = None
    """The program with its sums in another order, if they are."""

    def __repr__(self) -> str:
        """One line: what was compiled, and what a user waits for."""
        cycles = between(self.least_start_to_done, self.predicted_start_to_done)
        return f"<{type(self).__name__} of {self.program.name}: {cycles} cycles from start to done>"

    @property
    def reference(self) -> Any:
        """What the interpreter runs for the results of this design, bit for bit: `program`, or where the user lets sums
        of floating-point numbers change their order (option `reassociate`), the program that states this order."""
        return self.stated or self.program

    @property
    def main_memory(self) -> MainMemory:
        """The memory for which predictions are stated, and with which `simulate` runs."""
        return MainMemory()

    @property
    @abstractmethod
    def predicted_start_to_done(self) -> int:
        """Clock cycles from the start bit to done with `main_memory`: what a user waits for (`Run.wall_cycles`)."""

    @property
    @abstractmethod
    def predicted_cycles(self) -> int:
        """Unstalled cycles of a run, at most."""

    @property
    def least_cycles(self) -> int:
        """Unstalled cycles of a run at least: fewer than `predicted_cycles` where data can end a loop early."""
        return self.predicted_cycles

    @property
    def least_start_to_done(self) -> int:
        """`predicted_start_to_done` of a run of `least_cycles`: nothing moves while a loop goes on that can end."""
        return self.predicted_start_to_done - (self.predicted_cycles - self.least_cycles)

    @property
    def expected_start_to_done(self) -> int:
        """By what designs of a program are compared: the mean of the least and the most, `predicted_start_to_done`."""
        return expected(self.least_start_to_done, self.predicted_start_to_done)

    def cycles_for(self, inputs: Mapping[str, np.ndarray]) -> int:
        """Unstalled cycles of a run on `inputs`."""
        return self.predicted_cycles

    def start_to_done_for(self, inputs: Mapping[str, np.ndarray]) -> int:
        """Clock cycles of a run on `inputs` from the start bit to done with `main_memory`."""
        return self.predicted_start_to_done

    @property
    @abstractmethod
    def bounds(self) -> Bounds:
        """Clock cycles from start to done that no mapping of this class can beat, term by term."""

    @property
    def lower_bound(self) -> int:
        """The greatest term of `bounds`."""
        return max(1, self.bounds.cycles)

    @property
    def traffic(self) -> Traffic:
        """Bytes that have to come from main memory and to go there, at least."""
        return program_traffic(self.program)

    @property
    def array_traffic(self) -> dict[str, str]:
        """Of every array in main memory: bytes moved over bytes of the array, beats over full beats; empty where a
        target does not say."""
        return {}

    @property
    @abstractmethod
    def resources(self) -> dict[str, int]:
        """Units used, by kind."""

    @property
    @abstractmethod
    def storage(self) -> list[BufferStorage]:
        """Storage of every buffer beside its lower bound."""

    @property
    @abstractmethod
    def choices(self) -> dict[str, str]:
        """Options the user set and choices the compiler took."""

    @abstractmethod
    def simulate(self, inputs: Mapping[str, np.ndarray], simulator: str = "verilator") -> Run:
        """Run the emitted Verilog on `inputs` (arrays by name, shapes as in the program)."""

    def on_board(self, port: str, baud: int = DEFAULT_BAUD, *, seconds: float = 60.0,
                 answer_seconds: float = 0.2) -> BoardDesign:
        """The same design on the board whose serial line is `port`, built with a link of `baud` bits per second
        (``python -m hw.build --link``), or that is behind the JTAG cable that `port` names (`hw.link.ports`; ``--link
        jtag``). A run may take `seconds`, an answer of the board `answer_seconds` before it is asked again, four times
        in all. Raises `LinkError` if the port cannot be opened."""
        line = open_port(port, baud, answer_seconds)
        return BoardDesign(self, LinkClient(line, seconds=answer_seconds, carried=line.carried), seconds)

    @property
    def array_streams(self) -> ArrayStreams:
        """The arrays as streams of words, without memory. Raises `StreamError` where the target has none."""
        target = type(self).__name__.removesuffix("Design").lower()
        raise StreamError(f"target {target} moves tiles of arrays between memory and its buffers, not words in "
                          "the order of a stream: take --target fpga or --target dataflow")

    def with_ports(self, **ports: Any) -> PortedDesign:
        """The same design with other ports around its system: `control` and `memory` are ``"axi"`` or ``"wishbone"``,
        `reset` ``"high"`` or ``"low"``, `address_bits` 32 or 64 (`hw.ports.spec.SystemPorts`). Raises `PortError`."""
        return PortedDesign(self, SystemPorts(**ports))

    def with_streams(self, beat_bits: int = 0) -> StreamedDesign:
        """The same design between AXI4-Streams in place of memory and registers, with TDATA of `beat_bits` (8 to 1024,
        a power of two; 0: those of one element). Raises `StreamError` for arrays that are not read, or written, once
        and in order, with a rewrite."""
        return StreamedDesign(self, self.array_streams, beat_bits)

    @property
    def host_interface(self) -> HostInterface:
        """Registers, arrays and runs as drivers need them. Raises `NoDriver`."""
        raise NoDriver("the target has no drivers")

    @property
    def drivers(self) -> dict[str, str]:
        """Drivers by path in the design directory; none where the design has no `host_interface`."""
        return driver_files(self)

    @property
    def array_metadata(self) -> dict[str, Any]:
        """For the manifest: every array's element type, layout and strides, or why there is no driver."""
        try:
            return {"arrays": self.host_interface.describe_arrays()}
        except NoDriver as reason:
            return {"no driver": str(reason)}

    @property
    @abstractmethod
    def compile_seconds(self) -> float:
        """Time that compiling took."""

    def summary(self, run: Run | None = None, equal: bool | None = None) -> dict[str, object]:
        """What a report says first: predictions, resources, choices and, if given, one run."""
        rows: dict[str, object] = {**dict(prediction_rows(self, run)), **self.resources, **self.choices}
        if equal is not None:
            rows["equal to the reference"] = "yes" if equal else "NO"
        return rows

    @abstractmethod
    def report(self, run: Run | None = None, equal: bool | None = None) -> str:
        """A self-contained HTML page about this design and, if given, one run of it."""

    @abstractmethod
    def emit(self, directory: str | Path, inputs: Mapping[str, np.ndarray] | None = None) -> Path:
        """Write Verilog and the design directory; `inputs`, if given, become the initial memory contents."""


class BoardDesign:
    """A design on a board, which runs as it does in simulation."""

    def __init__(self, design: Design, client: LinkClient, seconds: float):
        self.design = design
        self.client = client
        self._seconds = seconds

    def simulate(self, inputs: Mapping[str, np.ndarray]) -> Run:
        """Run the board on `inputs`. Raises `InputError`, `LinkError` and what the target raises for a run that its
        hardware ends with an error."""
        with jobs_run_by(lambda job: run_on_board(job, self.client, self._seconds)):
            return replace(self.design.simulate(inputs), simulator="board")

    def close(self) -> None:
        """Give the port back."""
        self.client.close()

    def __enter__(self) -> BoardDesign:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def prediction_rows(design: Design, run: Run | None = None) -> list[tuple[str, str]]:
    """What a user waits for, first: clock cycles from start to done, measured and predicted, then the unstalled cycles
    among them, and the lower bound with its terms."""
    rows: list[tuple[str, str]] = []
    if run is not None:
        rows = [(f"cycles from start to done ({run.simulator})", str(run.wall_cycles)),
                (design.cycles_name, f"{run.cycles} (and {run.stall_cycles} stalled)")]
    kind = "exact" if design.start_to_done_is_exact else "model"
    waited = run.wall_cycles if run else design.predicted_start_to_done
    return [
        *rows,
        (f"start to done predicted ({kind})", between(design.least_start_to_done, design.predicted_start_to_done)),
        (f"unstalled cycles predicted{'' if design.predicts_exactly else ' (model)'}",
         between(design.least_cycles, design.predicted_cycles)),
        ("main memory", str(design.main_memory)),
        ("lower bound", str(design.lower_bound)), ("terms of the bound", str(design.bounds)),
        ("ratio to the bound", f"{waited / design.lower_bound:.4f}{'' if run else ' (predicted)'}"),
        *((f"traffic of {name}", text) for name, text in design.array_traffic.items()),
    ]


def expected(least: int, most: int) -> int:
    """Cycles by which what data can end early is compared: the mean, in which the trips that data ask for are taken to
    be spread evenly. Of two designs whose cycles grow with the trips it is that of the smaller largest regret, too."""
    return (least + most) // 2


def between(least: int, most: int) -> str:
    """The cycles of all runs in words."""
    return str(most) if least == most else f"between {least} and {most}"


def check_inputs(program: Program, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """`inputs` as arrays of the program's shapes. Raises `InputError` naming what does not fit and how."""
    known = {array.name: array for array in program.inputs}
    for name in inputs:
        if name not in known:
            raise InputError(f"program {program.name} has no input '{name}'; inputs: {', '.join(known) or 'none'}")
    return {name: _checked(array, inputs.get(name)) for name, array in known.items()}


def _checked(array: Array, data: np.ndarray | None) -> np.ndarray:
    if data is None:
        raise InputError(f"input {array.name} is missing")
    try:
        data = np.asarray(data)
    except ValueError:
        raise InputError(f"input {array.name} is no array: its rows have different lengths") from None
    if data.shape != array.shape:
        raise InputError(f"input {array.name} has shape {data.shape}, the program needs {array.shape}")
    if isinstance(array.type, Float):
        try:
            return as_elements(array.type, data)
        except ValueError as error:
            raise InputError(f"input {array.name} {error}") from None
    if data.dtype.kind not in "iub":
        raise InputError(f"input {array.name} holds {data.dtype}, the program needs integers ({array.type})")
    if not isinstance(array.type, Int):
        raise InputError(f"input {array.name} has elements of type {array.type}; only integers and floating-point "
                         "numbers can be given")
    low, high = int(data.min(initial=0)), int(data.max(initial=0))
    if low < array.type.minimum or high > array.type.maximum:
        worst = low if low < array.type.minimum else high
        place = tuple(int(i) for i in np.argwhere(data == worst)[0])
        raise InputError(f"input {array.name} holds {worst} at {place}, outside the range of {array.type}")
    return data.astype(np.int64 if array.type.width < 64 else array.type.dtype)
