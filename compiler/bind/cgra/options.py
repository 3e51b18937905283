"""What a user can choose when compiling for the array."""

from __future__ import annotations

from dataclasses import dataclass, replace

from compiler.bind.memory_options import MemoryOptions
from hw.designs.hardware import load_hardware
from hw.errors import SluiceError
from hw.fabric.bank import check_global_buffer
from hw.fabric.spec import FabricSpec

__all__ = ["Options", "OptionsError"]

MEMORIES = ("pub", "dual-port", "dual-port-pe", "buffet")
_CHOICES = {"share": ("asked", "auto"), "loops": ("auto", "asked"), "schedule": ("pipelined", "sequential"),
            "sums": ("auto", "chain")}


class OptionsError(SluiceError):
    """An option of the target has a value that it cannot have."""


@dataclass(frozen=True)
class Options(MemoryOptions):
    """What a user can choose.

    memory: implementation of the memory tiles, "pub" (wide fetch), "dual-port", "dual-port-pe" (addresses are computed
    by processing elements) or "buffet" (on an array with ready-valid tracks). counter: whether processing elements have
    a counter operation for addresses. bfloat16: whether they have the operations of `hw.pe.bfloat16`. array:
    "ROWSxCOLUMNS". hardware: file that describes the array in place of these (`hw.designs.hardware`). fusion_level:
    loops that producers and consumers share step by step, None for all (Liu 2023, section 4.4). tile_depth: shared
    outer loops that enumerate tiles, None for as few as fit the global buffer, or for one tile that passes it in the
    order of memory, where that takes fewer steps. half_words: words in half a bank of the global buffer. seed: of
    placement. transform: schedule directives that the program goes through first, e.g. ``"share(First, Second)"``
    (`compiler.passes.directives.script`). share: "asked" for units that statements share only where the program says
    so, "auto" also wherever that costs no throughput. loops: "auto" for loops in another order where a recurrence would
    come back too soon in the one of the program (`compiler.passes.recurrence.recurrence_interchange`), "asked" for that
    one. schedule: "sequential" for the baseline, in which nothing overlaps that waits for anything (Liu 2023, section
    4.3). sums: "auto" for long sums as sums of sums, where this saves a noticeable part of the cycles and there are
    units for it, "chain" for the fewest units. passes: another pipeline in place of the target's, e.g.
    ``"normalize-loops,pad-domains,static-form"`` (`compiler.passes.pipeline`).
    """

    memory: str = "pub"
    counter: bool = True
    bfloat16: bool = False
    array: str = "8x8"
    fusion_level: int | None = None
    tile_depth: int | None = None
    half_words: int = 32768
    seed: int = 0
    transform: str = ""
    share: str = "asked"
    loops: str = "auto"
    schedule: str = "pipelined"
    sums: str = "auto"
    hardware: str = ""
    passes: str = ""

    def described(self) -> Options:
        """The same with what the description of the hardware says, if there is one.

        Raises `HardwareError`, and `OptionsError` if an option says it, too.
        """
        if not self.hardware:
            return self
        spec = self._described()
        found = {"memory": spec.mem.kind, "counter": spec.pe.counter, "bfloat16": spec.pe.bfloat16, "array": str(spec),
                 "half_words": spec.glb.half_words}
        for name in found:
            if getattr(self, name) != getattr(Options(), name):
                raise OptionsError(f"option {name} is {getattr(self, name)!r}, but {self.hardware} describes the array")
        return replace(self, **found)

    @property
    def searches_orders(self) -> bool:
        """Whether loops in other orders are tried."""
        return self.loops == "auto" and self.schedule == "pipelined"

    def _described(self) -> FabricSpec:
        spec = load_hardware(self.hardware).array
        if spec is None:
            raise OptionsError(f"{self.hardware} describes no array")
        return spec

    def fabric(self) -> FabricSpec:
        """The array these options describe. Raises `OptionsError` or `FabricError`."""
        if self.memory not in MEMORIES:
            raise OptionsError(f"there is no memory '{self.memory}'; there are: {', '.join(MEMORIES)}")
        for name, values in _CHOICES.items():
            if getattr(self, name) not in values:
                raise OptionsError(f"{name} is '{getattr(self, name)}', not one of {', '.join(values)}")
        spec = self._described() if self.hardware else FabricSpec.parse(self.array)
        if self.hardware and self.memory == spec.mem.kind:
            check_global_buffer(spec)
            return spec
        glb = replace(spec.glb, half_words=self.half_words)
        ports = 1 if self.memory == "dual-port-pe" else 2
        protocol = "ready-valid" if self.memory == "buffet" else "static"
        mem = replace(spec.mem, kind=self.memory, inputs=ports, outputs=ports)
        pe = replace(spec.pe, bfloat16=self.bfloat16)
        spec = replace(spec, mem=mem, glb=glb, protocol=protocol, pe=pe)
        if self.memory == "dual-port-pe":
            spec = replace(spec, pe=replace(spec.pe, counter=self.counter))
        check_global_buffer(spec)
        return spec
