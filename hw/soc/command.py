"""A C program for the vector processor from the command line: compiled, linked, and run in RTL simulation.

    python -m hw.soc hello.c [more.c header.h] --lanes 4 [--load NAME=FILE] [--dump NAME=FILE] [--image program.bin]

`vector.h` (one call per vector instruction) and `soc.h` are on the include path. `--load` fills a global array with a
file's bytes (or a ``.npy`` array) before the run, `--dump` writes one to a file after it. `--image` writes the contents
of main memory from address 0, to be loaded on a board; with `--simulator none` nothing is run.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hw.command import run_command
from hw.files import write_atomic
from hw.soc.errors import FirmwareError
from hw.soc.program import DEFAULT_MEMORY_BYTES, build_program
from hw.soc.run import run_firmware
from hw.vector_lanes.spec import VectorSpec

__all__ = ["main"]


def _arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m hw.soc", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sources", nargs="+", type=Path, help="C and assembler files, and headers that they include")
    parser.add_argument("--lanes", type=int, default=4, help="32-bit lanes of the machine, 1 to 64")
    parser.add_argument("--scratchpad", type=int, help="its bytes")
    parser.add_argument("--memory", type=int, default=DEFAULT_MEMORY_BYTES, help="bytes of main memory")
    parser.add_argument("-O", dest="level", default="2", help="optimization of the C compiler")
    parser.add_argument("--simulator", choices=("verilator", "icarus", "none"), default="verilator")
    parser.add_argument("--load", action="append", default=[], metavar="NAME=FILE", help="contents of an array")
    parser.add_argument("--dump", action="append", default=[], metavar="NAME=FILE", help="where an array goes")
    parser.add_argument("--image", type=Path, metavar="FILE", help="write the linked program")
    return parser.parse_args(arguments)


def _pairs(texts: Sequence[str], option: str) -> dict[str, Path]:
    found = {}
    for text in texts:
        name, equals, file = text.partition("=")
        if not (name and equals and file):
            raise FirmwareError(f"{option} takes NAME=FILE, not '{text}'")
        found[name] = Path(file)
    return found


def _contents(path: Path) -> Any:
    try:
        return np.load(path, allow_pickle=False) if path.suffix == ".npy" else path.read_bytes()
    except (OSError, ValueError) as error:
        raise FirmwareError(f"{path} cannot be read: {error}") from error


def _run(options: argparse.Namespace) -> int:
    spec = VectorSpec(options.lanes, options.scratchpad)
    loads, dumps = _pairs(options.load, "--load"), _pairs(options.dump, "--dump")
    firmware = build_program(options.sources, spec, options=(f"-O{options.level}",), memory_bytes=options.memory)
    print(f"{len(firmware.image)} bytes of program and data")
    if options.image:
        write_atomic(options.image, firmware.image)
    if options.simulator == "none":
        return 0
    result = run_firmware(firmware, spec, loads={name: _contents(path) for name, path in loads.items()},
                          dumps=list(dumps), simulator=options.simulator)
    print(result.text, end="")
    counts = ", ".join(f"{name} {value}" for name, value in vars(result.counters).items())
    print(f"{result.cycles} cycles, {result.kernel_cycles} between kernel_begin and kernel_end; {counts}")
    for name, path in dumps.items():
        write_atomic(path, result.dumps[name])
    return 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Build and run; the exit code is 0, or 1 after an error, whose message is printed."""
    options = _arguments(arguments)
    return run_command(lambda: _run(options))
