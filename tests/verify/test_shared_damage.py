"""Damaged multiplexers of shared units: validation catches outputs that do not pass, and reads that come late."""

from __future__ import annotations

from dataclasses import replace

import pytest
from verify_mappings import mapping_of

from compiler.frontend.loop_nest import load
from compiler.sched.verify import ValidationError


@pytest.mark.parametrize("memory", ["pub", "dual-port"])
def test_damaged_multiplexers_are_caught(memory: str) -> None:
    good = mapping_of(load("gaussian_pyramid", size=16), memory, "8x8",
                      transform="share(Reduce_f1, Reduce_f2, Reduce_output)")
    good.validate()
    damaged = 0
    for place, tile in good.config.tiles.items():
        outputs = getattr(tile.core, "outputs", ())
        for number, port in enumerate(outputs):
            if port is None or not port.passing:
                continue
            late = replace(port, read=replace(port.read, time_offset=port.read.time_offset + 1))
            for wrong in (replace(port, passing=False), late):
                changed = tuple(wrong if k == number else p for k, p in enumerate(outputs))
                with pytest.raises(ValidationError):
                    good.with_tile(place, core=replace(tile.core, outputs=changed)).validate()
                damaged += 1
    assert damaged == 16
