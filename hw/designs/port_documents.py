"""A design directory whose system gets other ports."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

from hw.designs.directory import MANIFEST
from hw.designs.register_documents import system_documents
from hw.designs.registry import load_design
from hw.files import locked_folder, remove_file, write_atomic
from hw.ports.adapt import adapt_system, adapted_registers
from hw.ports.spec import SystemPorts

__all__ = ["add_ports"]


def add_ports(directory: Path, ports: SystemPorts, drivers: Mapping[str, str] | None = None) -> str:
    """Put ``rtl/MODULE_ports.v`` into the design directory, and registers, IP-XACT, FuseSoC's core and LiteX's module
    for it in place of those for the system inside, which stays. `drivers`: files in place of those there. Returns the
    name of the module. Raises `DesignError`, `PortError`."""
    design = load_design(str(directory), None, None)
    system = adapt_system(design.module, design.sources, ports)
    documents = system_documents(system.module, system.sources, adapted_registers(design.registers, ports),
                                 f"system {system.module}") | dict(drivers or {})
    with locked_folder(directory):
        manifest = json.loads((directory / MANIFEST).read_text())
        for other in (f"{design.module}.core", f"{design.module}_litex.py"):
            if manifest["files"].pop(other, None):
                remove_file(directory / other)
        for name, text in documents.items():
            write_atomic(directory / name, text)
            manifest["files"][name] = hashlib.sha256(text.encode()).hexdigest()
        manifest["metadata"]["ports"] = {"module": system.module, "control": ports.control, "memory": ports.memory,
                                         "reset": ports.reset_name, "address_bits": ports.address_bits}
        write_atomic(directory / MANIFEST, json.dumps(manifest, indent=2, sort_keys=True) + "\n")
    return system.module
