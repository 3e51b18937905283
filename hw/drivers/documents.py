"""The files of a design directory that its host takes."""

from __future__ import annotations

from hw.drivers.c_driver import c_header, c_source
from hw.drivers.interface import HostInterface
from hw.drivers.linux_driver import linux_header, linux_source
from hw.drivers.python_driver import python_source

__all__ = ["driver_documents"]


def driver_documents(interface: HostInterface) -> dict[str, str]:
    """The drivers, by paths in the directory."""
    name = interface.name
    return {f"host/{name}.h": c_header(interface), f"host/{name}.c": c_source(interface),
            f"host/{name}_linux.h": linux_header(interface), f"host/{name}_linux.c": linux_source(interface),
            f"host/{name}.py": python_source(interface)}
