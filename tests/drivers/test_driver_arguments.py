"""Random arguments of drivers are refused before an access, or the accesses stay in the design's window. With more
draws: ``python -m tests.fuzz.driver_arguments``."""

from __future__ import annotations

from pathlib import Path

import pytest
from driver_files import python_driver
from emitted_systems import system_design

from tests.fuzz.driver_arguments import check_c_driver, check_mapped_devices, check_python_inputs, with_64_bits

DRAWS = 300


@pytest.mark.parametrize("name", ["dataflow", "vector", "64 bits"])
def test_addresses_in_c(name: str, tmp_path: Path) -> None:
    """Memory below 4 GiB, at 0 only, and anywhere."""
    design = with_64_bits(system_design("dataflow")) if name == "64 bits" else system_design(name)
    counts = check_c_driver(design, tmp_path, DRAWS, 1)
    assert min(counts["ran"], counts["refused"]) > DRAWS / 20


def test_addresses_and_arrays_in_python(tmp_path: Path) -> None:
    design = system_design("dataflow")
    module = python_driver(design, tmp_path)
    for check in (check_mapped_devices, check_python_inputs):
        counts = check(design, module, tmp_path, DRAWS, 1)
        assert min(counts["ran"], counts["refused"]) > DRAWS / 20


def test_numbers_that_c_would_cut(tmp_path: Path) -> None:
    module = python_driver(system_design("dataflow"), tmp_path)
    for arguments, message in (((4096, 4096, 1 << 64), f"bus_address is {1 << 64}, must be from 0 to {(1 << 64) - 1}"),
                               ((4096, 4096, -4096), "bus_address is -4096, must be from 0 to"),
                               ((None, 4096, 0), "registers is at no address of this process"),
                               ((4096, 0, 0), "memory is at no address of this process"),
                               ((4096, 4096, 0, None, None, 1 << 32), f"polls is {1 << 32}, must be from 0 to")):
        with pytest.raises(ValueError, match=message):
            module.Scop(*arguments)
    with pytest.raises(ValueError, match="memory is -1, must be from 0 to"):
        module.Scop.open_mem(0, -1)
