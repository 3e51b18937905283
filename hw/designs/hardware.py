"""Hardware description files: one TOML or JSON file says which machine a program is compiled for.

.. code-block:: toml

    target = "cgra"        # or any other target; only "cgra" has the rest
    rows = 16
    columns = 32
    tracks = 5             # fields of `hw.fabric.spec.FabricSpec`
    [mem]                  # of `hw.memtile.MemTileSpec`
    kind = "dual-port-pe"
    [pe]                   # of `hw.pe.PeSpec`
    counter = true
    [glb]                  # of `hw.fabric.spec.GlobalBufferSpec`
    half_words = 32768
    [options]              # options of the compiler's target
    seed = 3

What is left out has its default, which for the ports of memories and the protocol of tracks is that of the kind.
"""

from __future__ import annotations

import dataclasses
import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hw.designs.parameters import from_parameters
from hw.errors import SluiceError
from hw.fabric.spec import FabricSpec

__all__ = ["Hardware", "HardwareError", "describe_array", "is_description", "load_hardware"]

_ARRAY = "cgra"
_KINDS: dict[str, dict[str, dict[str, Any]]] = {
    "dual-port-pe": {"mem": {"inputs": 1, "outputs": 1}},
    "buffet": {"": {"protocol": "ready-valid"}},
}
"""Defaults that differ by kind of memory, by section ("" is the top)."""


class HardwareError(SluiceError):
    """A hardware description that cannot be read, or describes nothing that there is."""


@dataclass(frozen=True)
class Hardware:
    """What a description says: the compiler's target, the array if that is "cgra", and options of the target."""

    target: str
    array: FabricSpec | None
    options: Mapping[str, Any] = field(default_factory=dict)


def is_description(text: str) -> bool:
    """Whether the name of an array is the name of a description."""
    return text.endswith((".toml", ".json"))


def load_hardware(path: str | Path) -> Hardware:
    """The description in a file. Raises `HardwareError` that begins with the file's name."""
    values = _read(Path(path))
    target, options = values.pop("target", _ARRAY), values.pop("options", {})
    if not isinstance(target, str) or not isinstance(options, dict):
        raise HardwareError(f"{path}: target must be a name, options a table")
    if target != _ARRAY:
        if values:
            name = next(iter(values))
            raise HardwareError(f"{path}: '{name}' describes an array, which target {target} does not have")
        return Hardware(target, None, options)
    missing = [name for name in ("rows", "columns") if name not in values]
    if missing:
        raise HardwareError(f"{path}: {missing[0]} is missing")
    _check_names(path, FabricSpec, values, "")
    try:
        return Hardware(target, from_parameters(FabricSpec, _with_defaults(values), "hardware"), options)
    except SluiceError as error:
        raise HardwareError(f"{path}: {str(error).removeprefix('hardware: ').removeprefix('hardware.')}") from None


def _read(path: Path) -> dict[str, Any]:
    try:
        text = path.read_text(encoding="utf-8")
        values = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
    except OSError as error:
        raise HardwareError(f"{path}: {error.strerror or error}") from None
    except (ValueError, RecursionError) as error:
        kind = "JSON" if path.suffix == ".json" else "TOML"
        raise HardwareError(f"{path}: this is no {kind}: {error}") from None
    if not isinstance(values, dict):
        raise HardwareError(f"{path}: the file must hold one object")
    return values


def _check_names(path: str | Path, kind: type, values: Mapping[str, Any], section: str) -> None:
    """Raise `HardwareError` for a name that a specification does not have, with those that it has."""
    fields = {f.name: f for f in dataclasses.fields(kind)}
    for name, value in values.items():
        if name not in fields:
            known = ["target", "options"] if not section else []
            raise HardwareError(f"{path}: there is no '{section}{name}'; there are: {', '.join([*fields, *known])}")
        made = fields[name].default_factory
        if isinstance(made, type) and isinstance(value, Mapping):
            _check_names(path, made, value, f"{name}.")


def _with_defaults(values: dict[str, Any]) -> dict[str, Any]:
    memory = values.get("mem")
    kind = memory.get("kind") if isinstance(memory, Mapping) else None
    defaults = _KINDS.get(kind, {}) if isinstance(kind, str) else {}
    merged = {**defaults.get("", {}), **values}
    return {**merged, **{s: {**d, **merged.get(s, {})} for s, d in defaults.items() if s}}


def describe_array(spec: FabricSpec) -> str:
    """The TOML text that describes an array, every parameter given; `load_hardware` reads it back."""
    values = dataclasses.asdict(spec)
    lines = [f"{name} = {_toml(value)}" for name, value in values.items() if not isinstance(value, dict)]
    for section, fields in values.items():
        if isinstance(fields, dict):
            lines += ["", f"[{section}]", *(f"{k} = {_toml(v)}" for k, v in fields.items() if v is not None)]
    return "\n".join(lines) + "\n"


def _toml(value: object) -> str:
    return json.dumps(value)
