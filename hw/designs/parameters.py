"""Specification dataclasses to plain JSON objects and back."""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Mapping
from typing import Any, Literal, TypeVar, get_args, get_origin

from hw.designs.directory import DesignError, DesignImage
from hw.errors import SluiceError
from hw.fabric.spec import FabricSpec

__all__ = ["fabric_parameters", "fabric_spec", "from_parameters"]

T = TypeVar("T")


def fabric_parameters(spec: FabricSpec) -> dict[str, Any]:
    """`spec` without rows and columns, as plain JSON, for `DesignImage.parameters`."""
    values = dataclasses.asdict(spec) | {"mem_depths": list(spec.mem_depths)}
    return {name: value for name, value in values.items() if name not in ("rows", "columns")}


def fabric_spec(image: DesignImage) -> FabricSpec:
    """The array that a design is for. Raises `DesignError` for an unknown or impossible parameter."""
    rows, columns = image.shape
    return from_parameters(FabricSpec, {**image.parameters, "rows": rows, "columns": columns}, "parameters")


def from_parameters(cls: type[T], values: Mapping[str, Any], where: str) -> T:
    """An instance of specification `cls` from a JSON object; what is left out has its default.

    Raises `DesignError` that begins with `where` for an unknown field, a value of another type or a value that the
    specification refuses.
    """
    hints = typing.get_type_hints(cls)
    arguments = {}
    for name, value in values.items():
        if name not in hints:
            raise DesignError(f"{where}: there is no parameter '{name}'")
        arguments[name] = _convert(hints[name], value, f"{where}.{name}")
    try:
        return cls(**arguments)
    except SluiceError as error:
        raise DesignError(f"{where}: {error}") from error


def _convert(hint: Any, value: Any, where: str) -> Any:
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        if not isinstance(value, Mapping):
            raise DesignError(f"{where}: must be an object")
        return from_parameters(hint, value, where)
    if get_origin(hint) is tuple:
        if not isinstance(value, (list, tuple)):
            raise DesignError(f"{where}: must be a list")
        return tuple(_convert(get_args(hint)[0], item, where) for item in value)
    if get_origin(hint) is Literal:
        fits = value in get_args(hint)
    else:
        fits = isinstance(value, hint) and (not isinstance(value, bool) or hint is bool)
    if not fits:
        raise DesignError(f"{where}: {value!r} is not possible")
    return value
