"""Random arguments of drivers: what does not fit is refused before anything is written, and nothing is written outside.

    python -m tests.fuzz.driver_arguments [--draws 100000] [--seed 1]

The driver in C has its memory between guards, and its register accesses are recorded; the drivers of Linux and Python
have a file in place of a device.
"""

from __future__ import annotations

import argparse
import ctypes
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from random import Random
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "support")]

from driver_bench import DriverBench  # noqa: E402
from driver_files import PAGE, device_file, python_driver  # noqa: E402
from emitted_systems import system_design  # noqa: E402

from compiler.bind.design import Design  # noqa: E402
from compiler.cli.input_files import random_inputs  # noqa: E402
from hw.drivers.interface import HostInterface  # noqa: E402

__all__ = ["check_c_driver", "check_mapped_devices", "check_python_inputs", "with_64_bits"]

GUARD = 256
_FILE_PAGES = 8
"""Of a file in place of a device, with that of the registers."""
ADDRESS, TIMEOUT = -3, -1


def random_address(random: Random, interface: HostInterface) -> int:
    """64 bits: anything, or near where memory just fits, or a multiple of the alignment."""
    kind = random.randrange(4)
    if kind == 0:
        return random.getrandbits(64)
    if kind == 1:
        return random.getrandbits(random.randrange(65)) // interface.alignment * interface.alignment
    edge = random.choice([0, 1 << 32, 1 << 64]) + random.choice([0, -interface.memory_bytes])
    step = 1 if kind == 2 else interface.alignment
    return (edge + random.randint(-2, 2) * step) % (1 << 64)


def fits(interface: HostInterface, address: int) -> bool:
    """Whether the design reaches memory at `address`."""
    if interface.base is None and not interface.relocatable:
        return address == 0
    limit = 1 << (32 if interface.base is None else 64)
    return address % interface.alignment == 0 and address + interface.memory_bytes <= limit


def check_c_driver(design: Design, folder: Path, draws: int, seed: int) -> Counter[str]:
    """The driver in C at random addresses, with random contents of memory and of the status register. Returns how many
    were refused and how many ran."""
    random, numbers = Random(seed), np.random.default_rng(seed)
    bench = DriverBench(design, folder, dead=True)
    interface, inputs = bench.interface, random_inputs(design.program, seed)
    place = np.zeros(interface.memory_bytes + 2 * GUARD, np.uint8)
    bench.memory = place[GUARD:-GUARD]
    bench.device.memory, bench.device.polls = bench.memory.ctypes.data, 2
    bench.device.clean = bench.device.invalidate = type(bench.device.clean)()
    start = partial(bench.function("start"), ctypes.byref(bench.device))
    counts: Counter[str] = Counter()
    for _ in range(draws):
        place[:] = numbers.integers(0, 256, len(place))
        before, bench.writes = place.copy(), []
        address = bench.device.bus_address = random_address(random, interface)
        done, error = random.random() < 0.5, random.getrandbits(3)
        bench.set_status(done=done, error=error)
        calls = [bench.load, lambda: bench.run(inputs)[0], start]
        codes = {call() for call in random.choices(calls, k=3)}
        if not fits(interface, address):
            assert codes == {ADDRESS}, (hex(address), codes)
            assert not bench.writes and np.array_equal(before, place), hex(address)
        else:
            assert codes <= {0, error if done else TIMEOUT}, (hex(address), codes)
            assert all(bench.error(code) for code in codes)
            require_writes_inside(bench, address)
            for guard in (slice(GUARD), slice(-GUARD, None)):
                assert np.array_equal(before[guard], place[guard]), hex(address)
        counts["refused" if not fits(interface, address) else "ran"] += 1
    return counts


def require_writes_inside(bench: DriverBench, address: int) -> None:
    """What the driver wrote are registers that there are, and addresses within the memory."""
    interface = bench.interface
    assert {offset for offset, _ in bench.writes} <= set(interface.registers.by_offset)
    addressed = {write.offset for write in interface.writes if write.is_address}
    base = 0 if interface.base is not None else address
    for offset, value in bench.writes:
        assert offset not in addressed or base <= value < base + interface.memory_bytes
    if bench.writes and interface.base is not None:
        halves = dict(bench.writes)
        assert halves[interface.base] | halves[interface.base + 4] << 32 == address


def with_64_bits(design: Design) -> Any:
    """`design` with the register pair for addresses of 64 bits, as far as its drivers go."""
    ported = design.with_ports(address_bits=64)
    return SimpleNamespace(host_interface=ported.host_interface, drivers=ported.drivers, program=design.program,
                           main_memory=design.main_memory)


def _class(module: ModuleType) -> Any:
    return getattr(module, module.__all__[0])


def check_mapped_devices(design: Design, module: ModuleType, folder: Path, draws: int, seed: int) -> Counter[str]:
    """Random physical addresses (``open_mem``), and random sizes and addresses of UIO's maps, some no numbers."""
    random, interface, counts = Random(seed), design.host_interface, Counter()
    file = device_file(interface, folder / "device", memory_pages=_FILE_PAGES - 1)
    pages = -(-interface.memory_bytes // PAGE)
    assert pages < _FILE_PAGES
    for _ in range(draws):
        before = bytes(file)
        if random.random() < 0.5:
            registers, memory = _place(random) if random.random() < 0.5 else 0, _place(random)
            is_good = registers == 0 and 1 <= memory // PAGE <= _FILE_PAGES - pages and memory % PAGE == 0
            outcome = _opened(module, lambda m=memory, r=registers: _by_addresses(module, r, m, folder), pages, file)
        else:
            texts = [_size(random, PAGE), _size(random, interface.memory_bytes), _size(random, PAGE)]
            values = [_value(text) for text in texts]
            registers, memory, address = (-1 if value is None else value for value in values)
            is_good = registers >= 1 << interface.registers.address_width and memory >= interface.memory_bytes and \
                address >= 0 and fits(interface, address)
            _write_maps(folder, texts)
            outcome = _opened(module, lambda: _class(module).open_uio(str(folder / "device"), str(folder)), pages, file)
        assert outcome == is_good
        if not is_good:
            assert bytes(file) == before
        counts["ran" if is_good else "refused"] += 1
    return counts


def _by_addresses(module: ModuleType, registers: int, memory: int, folder: Path) -> Any:
    """The device with these physical addresses."""
    return _class(module).open_mem(registers, memory, str(folder / "device"))


def _place(random: Random) -> int:
    """A page of the file, or none."""
    kind = random.randrange(8)
    if kind < 5:
        return random.choice([0, 0, *range(_FILE_PAGES + 1)]) * PAGE
    return [-1, random.getrandbits(random.randrange(66)), random.randrange(_FILE_PAGES * PAGE)][kind - 5]


def _size(random: Random, needed: int) -> str:
    number = random.choice([needed, needed - 1, needed + 1, 0, PAGE, random.getrandbits(random.randrange(68))])
    return random.choice(["{:#010x}\n"] * 6 + ["{:#x}", "-{:#x}", "{:d}", "", "x{:x}"]).format(number)


def _value(text: str) -> int | None:
    """What the kernel writes: 0x and at most sixteen digits."""
    text = text.strip()
    return int(text, 16) if text.startswith("0x") and len(text) <= 18 else None


def _write_maps(folder: Path, texts: list[str]) -> None:
    for name, text in zip(("map0/size", "map1/size", "map1/addr"), texts, strict=True):
        path = folder / "maps" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def _opened(module: ModuleType, opened: Callable[[], Any], pages: int, file: np.memmap) -> bool:
    """Whether the device opens; if so, only its memory has been written. Closed, it does nothing more."""
    before = file.copy()
    try:
        device = opened()
    except (module.DeviceError, ValueError):
        return False
    changed = np.flatnonzero(before != file)
    assert not len(changed) or changed[-1] - changed[0] < pages * PAGE
    device.close()
    for closed in (device.run, lambda: device.cycles):
        try:
            closed()
        except (module.DeviceError, ValueError):
            continue
        raise AssertionError("a closed device ran")
    return True


def check_python_inputs(design: Design, module: ModuleType, folder: Path, draws: int, seed: int) -> Counter[str]:
    """Random arrays, numbers and other things as inputs, and times: `ValueError` before an access, or what was given is
    in memory."""
    random, numbers, counts = Random(seed), np.random.default_rng(seed), Counter()
    interface = design.host_interface
    file = device_file(interface, folder / "inputs", memory_pages=_FILE_PAGES - 1)
    good = random_inputs(design.program, seed)
    with _class(module).open_mem(0, PAGE, str(folder / "inputs")) as device:
        for _ in range(draws):
            before = bytes(file)
            given = {name: _thing(random, numbers, array) if random.random() < 0.6 else array
                     for name, array in good.items() if random.random() < 0.95}
            try:
                if random.random() < 0.2:
                    device.timeout = random.choice([-1, 2 ** 40, float("nan"), float("inf"), -1e-9])
                device.run(**given)
            except ValueError:
                assert bytes(file) == before
                counts["refused"] += 1
                continue
            assert set(given) == set(good)
            for address, content in design.executable.loads({n: np.asarray(a) for n, a in given.items()}):
                assert file[PAGE + address:][:len(content)].tobytes() == content
            counts["ran"] += 1
    return counts


def _thing(random: Random, numbers: np.random.Generator, array: np.ndarray) -> Any:
    """Something in place of `array`, which may be the same numbers in another form."""
    shape = tuple(max(0, extent + random.choice([0, 0, 0, 1, -1])) for extent in array.shape)
    return random.choice([
        lambda: array.astype(object), lambda: array.tolist(), lambda: array.astype(np.float64),
        lambda: np.asfortranarray(array), lambda: np.repeat(array, 2, 0)[::2], lambda: array.T.copy().T[..., None],
        lambda: numbers.integers(-2 ** 40, 2 ** 40, array.shape), lambda: np.zeros(shape), lambda: None, lambda: "text",
        lambda: np.full(array.shape, None), lambda: np.full(array.shape, 2 ** 70, object), lambda: np.nan * array,
        lambda: array + 1j, lambda: array + 0.5, lambda: array.astype(str), lambda: random.getrandbits(90), list,
    ])()


def main() -> int:
    """All checks on the designs that drivers differ for, with as many draws as asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    point = system_design("dataflow")
    designs = {name: system_design(name) for name in ("dataflow", "systolic", "fpga", "cgra", "recurrence", "vector")}
    for name, design in {**designs, "64 bits": with_64_bits(point)}.items():
        with tempfile.TemporaryDirectory() as folder:
            print(name, dict(check_c_driver(design, Path(folder), options.draws, options.seed)), flush=True)
    with tempfile.TemporaryDirectory() as folder:
        module = python_driver(point, Path(folder))
        for check in (check_mapped_devices, check_python_inputs):
            print(check.__name__, dict(check(point, module, Path(folder), options.draws, options.seed)), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
