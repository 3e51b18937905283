"""Correct mappings to be damaged: compiled once per process, in the form that validation takes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

from compiler.bind.cgra.mapping import Application
from compiler.bind.cgra.place_and_route import Physical
from compiler.bind.cgra.target import Options, compile_program
from compiler.bind.cgra.validate import ValidationReport, validate
from compiler.frontend.loop_nest import load
from compiler.ir.program import Program
from hw.fabric.config import ArrayConfig, decode_array
from hw.fabric.driver import RunPlan
from hw.fabric.spec import FabricSpec


@dataclass(frozen=True)
class Mapping:
    """Everything that `validate` takes, with the configuration decoded."""

    program: Program
    application: Application
    physical: Physical
    config: ArrayConfig
    plan: RunPlan
    addresses: dict[str, int]
    spec: FabricSpec

    def validate(self) -> ValidationReport:
        """Encode the configuration, as the hardware gets it, and validate."""
        return validate(self.program, self.application, self.physical, self.config.words(self.spec), self.plan,
                        self.addresses, self.spec)

    def with_tile(self, place: tuple[int, int], **changes: object) -> Mapping:
        """The mapping with fields of one tile's configuration changed."""
        tile = replace(self.config.tiles[place], **changes)
        return replace(self, config=replace(self.config, tiles={**self.config.tiles, place: tile}))

    def with_bank(self, column: int, **changes: object) -> Mapping:
        """The mapping with fields of one bank's configuration changed."""
        bank = replace(self.config.banks[column], **changes)
        return replace(self, config=replace(self.config, banks={**self.config.banks, column: bank}))

    def with_descriptor(self, column: int, **changes: object) -> Mapping:
        """The mapping with fields of one DMA descriptor changed."""
        descriptor = replace(self.plan.banks[column], **changes)
        return replace(self, plan=replace(self.plan, banks={**self.plan.banks, column: descriptor}))


def mapping_of(program: Program, memory: str, array: str = "8x8", **options: object) -> Mapping:
    """Compile `program`."""
    design = compile_program(program, Options(memory=memory, array=array, **options))
    config = decode_array(design.words, design.spec)
    return Mapping(program, design.application, design.physical, config, design.plan,
                   dict(design.layout.addresses), design.spec)


@cache
def mapping(app: str, memory: str, half_words: int | None = None, **parameters: int) -> Mapping:
    """Compile an application by name, with its tile loops."""
    options = {} if half_words is None else {"half_words": half_words}
    return mapping_of(load(app, **parameters), memory, loops="asked", **options)
