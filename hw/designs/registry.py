"""Designs that can be built for a board: by name, or as a directory that the compiler wrote."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from hw.designs.cgra import cgra_design
from hw.designs.directory import DesignError, DesignImage, read_design
from hw.designs.loopback import loopback_image
from hw.designs.system import SystemDesign
from hw.fabric.spec import FabricSpec

__all__ = ["DESIGNS", "NamedDesign", "load_design"]


@dataclass(frozen=True)
class NamedDesign:
    """A design that needs no directory. `image` makes what it runs, from the array it is for."""

    name: str
    summary: str
    image: Callable[[FabricSpec], DesignImage]


DESIGNS: Mapping[str, NamedDesign] = {
    design.name: design
    for design in (
        NamedDesign("cgra", "the array (default 4x4); it passes words from its first bank to its last", loopback_image),
    )
}

_DEFAULT_ARRAY = "4x4"


def load_design(name: str, array: str | None, bank_words: int | None) -> SystemDesign:
    """The design called `name`, or the one in the directory `name`.

    `array` ("RxC") and `bank_words` (16-bit words in half a bank of the global buffer) choose the size of a named
    design; a directory has its own. Raises `DesignError`, `FabricError`.
    """
    if name in DESIGNS:
        return cgra_design(DESIGNS[name].image(_spec(array, bank_words)))
    image = read_design(Path(name))
    if array not in (None, image.array):
        raise DesignError(f"design {image.name} is for a {image.array} array, not {array}")
    if bank_words is not None:
        raise DesignError(f"design {image.name} has its own bank size; leave --bank-words out")
    return cgra_design(image)


def _spec(array: str | None, bank_words: int | None) -> FabricSpec:
    spec = FabricSpec.parse(array or _DEFAULT_ARRAY)
    if bank_words is None:
        return spec
    if not 4 <= bank_words <= 1 << 16 or bank_words % 4:
        raise DesignError(f"--bank-words is {bank_words}, must be a multiple of 4 from 4 to 65536")
    return replace(spec, glb=replace(spec.glb, half_words=bank_words))
