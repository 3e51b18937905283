"""Designs that can be built for a board: by name, or as a directory that the compiler wrote."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from hw.designs.cgra import cgra_design
from hw.designs.dataflow import DATAFLOW, dataflow_design
from hw.designs.directory import DesignError, read_design
from hw.designs.hardware import is_description, load_hardware
from hw.designs.loopback import loopback_image
from hw.designs.pipeline import PIPELINE, pipeline_design
from hw.designs.stream_documents import STREAMS
from hw.designs.system import SystemDesign
from hw.designs.systolic import SYSTOLIC, systolic_design
from hw.designs.vector import VECTOR, vector_design, vector_program_design
from hw.fabric.spec import FabricSpec

__all__ = ["DESIGNS", "NamedDesign", "load_design"]


@dataclass(frozen=True)
class Sizes:
    """What the user chose; None where nothing was said. See `load_design`."""

    array: str | None
    bank_words: int | None
    lanes: int | None


@dataclass(frozen=True)
class NamedDesign:
    """A design that needs no directory. `make` builds it from the sizes that the user chose.

    `options`: the `Sizes` that it has.
    """

    name: str
    summary: str
    make: Callable[[Sizes], SystemDesign]
    options: tuple[str, ...]


DESIGNS: Mapping[str, NamedDesign] = {
    design.name: design
    for design in (
        NamedDesign("cgra", "the array (default 4x4); it passes words from its first bank to its last",
                    lambda sizes: cgra_design(loopback_image(_spec(sizes.array, sizes.bank_words))),
                    ("array", "bank_words")),
        NamedDesign("vector", "the vector processor (default 4 lanes) with its scalar core; it checks itself",
                    lambda sizes: vector_design(sizes.lanes or _DEFAULT_LANES), ("lanes",)),
    )
}

_DEFAULT_ARRAY = "4x4"
_DEFAULT_LANES = 4


def load_design(name: str, array: str | None, bank_words: int | None, lanes: int | None = None) -> SystemDesign:
    """The design called `name`, or the one in the directory `name`.

    `array` ("RxC"), `bank_words` (16-bit words in half a bank of the global buffer) and `lanes` choose the size of a
    named design that has it; a directory has its own. Raises `DesignError` and what the design itself raises.
    """
    sizes = Sizes(array, bank_words, lanes)
    if name in DESIGNS:
        _check_sizes(DESIGNS[name], sizes)
        return DESIGNS[name].make(sizes)
    image = read_design(Path(name))
    system = image.parameters.get("system")
    if system == STREAMS:
        raise DesignError(f"design {image.name} has AXI4-Streams and no memory to run from: emit it without --ports")
    if system == PIPELINE:
        if (array, bank_words, lanes) != (None, None, None):
            raise DesignError(f"design {image.name} is a pipeline; leave --array, --bank-words and --lanes out")
        return pipeline_design(image, Path(name))
    if system == VECTOR:
        if (array, bank_words, lanes) != (None, None, None):
            raise DesignError(f"design {image.name} has its own processor; leave --array, --bank-words and --lanes out")
        return vector_program_design(image)
    if array not in (None, image.array):
        raise DesignError(f"design {image.name} is for a {image.array} array, not {array}")
    if bank_words is not None:
        raise DesignError(f"design {image.name} has its own bank size; leave --bank-words out")
    if lanes is not None:
        raise DesignError(f"design {image.name} has no lanes; leave --lanes out")
    if system == SYSTOLIC:
        return systolic_design(image, Path(name))
    return dataflow_design(image, Path(name)) if system == DATAFLOW else cgra_design(image)


def _check_sizes(design: NamedDesign, sizes: Sizes) -> None:
    for name in ("array", "bank_words", "lanes"):
        if getattr(sizes, name) is not None and name not in design.options:
            raise DesignError(f"design {design.name} has no --{name.replace('_', '-')}")


def _described(file: str) -> FabricSpec:
    spec = load_hardware(file).array
    if spec is None:
        raise DesignError(f"{file} describes no array")
    return spec


def _spec(array: str | None, bank_words: int | None) -> FabricSpec:
    spec = _described(array) if array and is_description(array) else FabricSpec.parse(array or _DEFAULT_ARRAY)
    if bank_words is None:
        return spec
    if not 4 <= bank_words <= 1 << 16 or bank_words % 4:
        raise DesignError(f"--bank-words is {bank_words}, must be a multiple of 4 from 4 to 65536")
    return replace(spec, glb=replace(spec.glb, half_words=bank_words))
