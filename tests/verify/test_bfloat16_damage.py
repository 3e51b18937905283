"""Operations, constants and latencies of bfloat16 arithmetic that are not those of the program are refused."""

from __future__ import annotations

from dataclasses import replace

import pytest
from bfloat16_programs import gaussian, mixed
from verify_mappings import Mapping, mapping_of

from compiler.bind.cgra.validate import ValidationError
from hw.ops import Kind
from hw.pe.bfloat16 import BFLOAT16_OPERATIONS
from hw.pe.config import PeConfig


def elements(mapping: Mapping) -> dict[tuple[int, int], PeConfig]:
    return {place: tile.core for place, tile in mapping.config.tiles.items()
            if isinstance(tile.core, PeConfig) and tile.core.op in BFLOAT16_OPERATIONS}


def test_wrong_operations_and_constants_are_no_mapping() -> None:
    good = mapping_of(mixed(), "pub", "4x4", bfloat16=True)
    assert good.validate().vectors > 100
    for place, core in elements(good).items():
        names = [name for name, entry in BFLOAT16_OPERATIONS.items() if name != core.op
                 and (entry.operands, entry.result) == (core.operation.operands, core.operation.result)]
        for name in names:
            if core.operation.result is Kind.WORD:
                with pytest.raises(ValidationError, match=r"processing elements compute|reads"):
                    good.with_tile(place, core=replace(core, op=name)).validate()
        if core.constants[1] is not None:
            damaged = replace(core, constants=(core.constants[0], core.constants[1] ^ 1, core.constants[2]))
            with pytest.raises(ValidationError, match="processing elements compute"):
                good.with_tile(place, core=damaged).validate()


def test_another_latency_is_no_mapping() -> None:
    good = mapping_of(gaussian(), "pub", "4x4", bfloat16=True)
    pe = replace(good.spec.pe, add_cycles=good.spec.pe.add_cycles + 1)
    with pytest.raises(ValidationError):
        replace(good, spec=replace(good.spec, pe=pe)).validate()
