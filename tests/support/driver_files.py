"""The files of a design's drivers, written and imported, and a file in place of a device."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from hw.drivers.interface import HostInterface

__all__ = ["PAGE", "device_file", "import_file", "python_driver", "write_drivers"]

PAGE = 4096


def write_drivers(design: Any, folder: Path) -> None:
    """All in `folder`, beside each other."""
    for path, text in design.drivers.items():
        (folder / Path(path).name).write_text(text)


def import_file(path: Path) -> ModuleType:
    """The module of a Python file."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def python_driver(design: Any, folder: Path) -> ModuleType:
    """The driver in Python, imported from `folder`."""
    write_drivers(design, folder)
    return import_file(folder / f"{design.host_interface.name}.py")


def device_file(interface: HostInterface, path: Path, *, memory_pages: int | None = None, done: bool = True
                ) -> np.memmap:
    """Registers in the first page of a file, memory in the next ones, by default as many as the design needs; `done`:
    the status says that a run has ended."""
    words = np.zeros(PAGE // 4, np.uint32)
    for register in interface.registers.registers:
        words[register.offset // 4] = register.reset
    words[interface.registers.address("STATUS") // 4] = interface.registers.encode("STATUS", done=int(done))
    words[interface.registers.address("WALL_CYCLES") // 4] = 123
    pages = -(-interface.memory_bytes // PAGE) if memory_pages is None else memory_pages
    path.write_bytes(words.tobytes() + bytes(pages * PAGE))
    return np.memmap(path, np.uint8, "r+")
