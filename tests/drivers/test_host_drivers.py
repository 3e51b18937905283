"""The drivers of Linux and of Python on files in place of devices, and what drivers say when something is wrong."""

from __future__ import annotations

import subprocess
import sys
import types
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from driver_bench import DriverBench
from driver_files import PAGE, device_file, python_driver, write_drivers
from emitted_systems import SYSTEMS

import compiler
from compiler.bind.design import Design
from compiler.cli.input_files import random_inputs
from compiler.frontend.c_scop import parse_scop
from compiler.ir.interpret import interpret
from hw.drivers.interface import HostInterface

ERRORS = {-1: "the run has not ended in time", -2: "these are not the registers of this design",
          -3: "the design cannot reach the memory at this address", -4: "a run is going on",
          2: "the run ended with error WRITE", 99: "unknown error", 0: "no error"}


@pytest.fixture(scope="module")
def design() -> Design:
    target, text, options = SYSTEMS["dataflow"]
    return compiler.compile(parse_scop(text.replace("scale", "scale_2")), target=target, **options)


@pytest.fixture(scope="module")
def module(design: Design, tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    return python_driver(design, tmp_path_factory.mktemp("host"))


def sysfs(interface: HostInterface, folder: Path, memory_bytes: int) -> Path:
    """What the kernel says of the maps of a UIO device."""
    for number, (address, size) in enumerate(((0x43C00000, PAGE), (0x1000, memory_bytes))):
        (folder / "maps" / f"map{number}").mkdir(parents=True)
        (folder / "maps" / f"map{number}" / "addr").write_text(f"{address:#010x}\n")
        (folder / "maps" / f"map{number}" / "size").write_text(f"{size:#010x}\n")
    return folder


def require_one_run(design: Design, opened, file: np.memmap) -> None:
    """Inputs of `design` get into memory, and what is in memory gets out, by a driver on `file`."""
    inputs = random_inputs(design.program, 1)
    ins, outs = design.executable.places
    wanted = interpret(design.program, inputs)
    with opened as device:
        device.run(**inputs)
        for address, content in design.executable.loads(inputs):
            assert file[PAGE + address:][:len(content)].tobytes() == content
        held = outs[0].packed(wanted["y"])
        file[PAGE + outs[0].address:][:len(held)] = np.frombuffer(held, np.uint8)
        np.testing.assert_array_equal(device.run(**inputs)["y"], wanted["y"])
        assert device.cycles == 123
    words = file[:PAGE].view(np.uint32)
    registers = design.executable.registers
    assert words[registers.address("IN0_ADDRESS") // 4] == 0x1000 + ins[0].address
    assert words[registers.address("CONTROL") // 4] == 1


def test_python_on_physical_memory(design: Design, module: ModuleType, tmp_path: Path) -> None:
    file = device_file(design.host_interface, tmp_path / "mem")
    require_one_run(design, module.Scop.open_mem(0, PAGE, str(tmp_path / "mem")), file)


def test_python_on_uio(design: Design, module: ModuleType, tmp_path: Path) -> None:
    """An interrupt that is there at once."""
    file = device_file(design.host_interface, tmp_path / "uio0")
    folder = sysfs(design.host_interface, tmp_path / "sys", PAGE)
    require_one_run(design, module.Scop.open_uio(str(tmp_path / "uio0"), str(folder)), file)


def test_uio_with_too_little_memory(design: Design, module: ModuleType, tmp_path: Path) -> None:
    device_file(design.host_interface, tmp_path / "uio0")
    folder = sysfs(design.host_interface, tmp_path / "sys", 16)
    with pytest.raises(module.DeviceError, match=r"cannot open .*uio0: Cannot allocate memory"):
        module.Scop.open_uio(str(tmp_path / "uio0"), str(folder))
    with pytest.raises(module.DeviceError, match="cannot open /dev/nothing: No such file or directory"):
        module.Scop.open_uio("/dev/nothing")


def test_a_run_without_an_end(design: Design, module: ModuleType, tmp_path: Path) -> None:
    device_file(design.host_interface, tmp_path / "mem", done=False)
    with module.Scop.open_mem(0, PAGE, str(tmp_path / "mem")) as device:
        device.timeout = 0.05
        with pytest.raises(module.DeviceError, match="the run has not ended in time"):
            device.run(**random_inputs(design.program, 1))


def test_another_design(design: Design, module: ModuleType, tmp_path: Path) -> None:
    file = device_file(design.host_interface, tmp_path / "mem")
    file[0] ^= 1
    with pytest.raises(module.DeviceError, match="these are not the registers of this design"):
        module.Scop.open_mem(0, PAGE, str(tmp_path / "mem"))


@pytest.mark.parametrize(("inputs", "message"), [
    ({}, "input a is missing"),
    ({"a": np.zeros((4, 5))}, r"input a has shape \(4, 5\), the design needs \(4, 4\)"),
    ({"a": np.full((4, 4), 40000)}, "input a does not fit elements of type <i2"),
    ({"a": np.zeros((4, 4)), "b": 1}, "there is no input b; inputs: a"),
])
def test_inputs_that_do_not_fit(inputs: dict, message: str, design: Design, module: ModuleType, tmp_path: Path) -> None:
    device_file(design.host_interface, tmp_path / "mem")
    with module.Scop.open_mem(0, PAGE, str(tmp_path / "mem")) as device, pytest.raises(ValueError, match=message):
        device.run(**inputs)


def test_an_overlay(design: Design, module: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """PYNQ's classes as far as the driver uses them."""
    file = device_file(design.host_interface, tmp_path / "mem")
    calls: list[str] = []

    class Buffer(np.ndarray):
        device_address = 0x1000

        def flush(self) -> None:
            calls.append("flush")

        def invalidate(self) -> None:
            calls.append("invalidate")

        def freebuffer(self) -> None:
            calls.append("free")

    class Overlay:
        def __init__(self, bitfile: str):
            assert bitfile == "scale.bit"
            self.scop = types.SimpleNamespace(mmio=types.SimpleNamespace(array=file[:PAGE].view(np.uint32)))

    def allocate(shape: tuple[int], dtype: type) -> Buffer:
        return file[PAGE:][:shape[0]].view(Buffer)

    monkeypatch.setitem(sys.modules, "pynq", types.SimpleNamespace(Overlay=Overlay, allocate=allocate))
    overlay = module.ScopOverlay("scale.bit")
    overlay.run(**random_inputs(design.program, 1))
    overlay.close()
    assert (overlay.cycles, calls) == (123, ["flush", "invalidate", "free"])


def test_what_the_driver_in_c_says(design: Design, tmp_path: Path) -> None:
    bench = DriverBench(design, tmp_path, dead=True)
    assert {code: bench.error(code) for code in ERRORS} == ERRORS
    inputs = random_inputs(design.program, 1)
    assert bench.load() == 0
    assert bench.run(inputs)[0] == -1
    clear = bench.interface.registers.encode("CONTROL", clear=1)
    assert bench.writes[-1] == (bench.interface.registers.address("CONTROL"), clear)
    bench.set_status(busy=1)
    assert bench.run(inputs)[0] == -4
    bench.device.bus_address = 0x100
    assert bench.load() == -3
    bench.device.bus_address = (1 << 32) - PAGE
    assert bench.load() == 0
    bench.device.bus_address = 1 << 32
    assert bench.load() == -3


def test_drivers_are_c_without_warnings(design: Design, tmp_path: Path) -> None:
    write_drivers(design, tmp_path)
    name = design.host_interface.name
    subprocess.run(["gcc", "-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-Wno-unused-variable", "-c",
                    f"{name}.c", f"{name}_linux.c"], cwd=tmp_path, check=True)
