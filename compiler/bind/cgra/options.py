"""What a user can choose when compiling for the array."""

from __future__ import annotations

from dataclasses import dataclass, replace

from hw.errors import SluiceError
from hw.fabric.bank import check_global_buffer
from hw.fabric.spec import FabricSpec

__all__ = ["Options", "OptionsError"]

MEMORIES = ("pub", "dual-port")


class OptionsError(SluiceError):
    """An option of the target has a value that it cannot have."""


@dataclass(frozen=True)
class Options:
    """What a user can choose.

    memory: implementation of the memory tiles, "pub" (wide fetch) or "dual-port". array: "ROWSxCOLUMNS".
    fusion_level: loops that producers and consumers share step by step, None for all (seed 001, section 4.4).
    tile_depth: shared outer loops that enumerate tiles, None for as few as fit the global buffer.
    half_words: words in half a bank of the global buffer. seed: of placement.
    """

    memory: str = "pub"
    array: str = "8x8"
    fusion_level: int | None = None
    tile_depth: int | None = None
    half_words: int = 32768
    seed: int = 0

    def fabric(self) -> FabricSpec:
        """The array these options describe. Raises `OptionsError` or `FabricError`."""
        if self.memory not in MEMORIES:
            raise OptionsError(f"there is no memory '{self.memory}'; there are: {', '.join(MEMORIES)}")
        spec = FabricSpec.parse(self.array)
        glb = replace(spec.glb, half_words=self.half_words)
        spec = replace(spec, mem=replace(spec.mem, kind=self.memory), glb=glb)
        check_global_buffer(spec)
        return spec
