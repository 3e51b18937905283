"""Parameters of a soft vector processor."""

from __future__ import annotations

from dataclasses import dataclass

from hw.errors import SluiceError

__all__ = ["VectorSpec", "VectorSpecError"]

MAX_LANES = 64
MAX_SCRATCHPAD = 1 << 20
MAX_MEMORY_BYTES = 32
SHORTEST_FLOATS, LONGEST_FLOATS = 2, 24


class VectorSpecError(SluiceError):
    """Parameters that no vector processor can have."""


def _power_of_two(value: int) -> bool:
    return value > 0 and value & (value - 1) == 0


@dataclass(frozen=True)
class VectorSpec:
    """A vector processor of `lanes` 32-bit lanes (Liu 2012, sections 2.2 and 5.2).

    * `lanes`: 1, 2, 4, … 64. Each lane works on one word, two halfwords or four bytes per cycle.
    * `scratchpad_bytes`: a power of two, at least two rows and at most 1 MiB. Default: 8 KiB per lane, 4 KiB per
      lane with 64 lanes.
    * `queue_depth`: instructions that wait for the lanes. `dma_queue`: transfers that wait for the DMA engine.
    * `mask_waves`: wavefronts that the mask can hold.
    * `fraction_bits`: what VMULFXP shifts its product right by, for bytes, halfwords and words.
    * `float32`: whether lanes compute with floating-point numbers of 32 bits, too.
    * `bfloat16`: whether lanes compute with pairs of bfloat16 numbers, too.
    * `fma`: whether lanes with floating-point numbers have fused multiply-add, too: a product and a sum that are
      rounded once.
    * `float_latency`: cycles of their operators, a product and a sum behind it, 2 to 24.

    Raises `VectorSpecError`.
    """

    lanes: int = 4
    scratchpad_bytes: int | None = None
    queue_depth: int = 16
    dma_queue: int = 4
    mask_waves: int = 256
    fraction_bits: tuple[int, int, int] = (4, 15, 16)
    float32: bool = False
    bfloat16: bool = False
    fma: bool = False
    float_latency: int = 12

    def __post_init__(self) -> None:
        if not _power_of_two(self.lanes) or self.lanes > MAX_LANES:
            raise VectorSpecError(f"a vector processor has 1, 2, 4, … {MAX_LANES} lanes, not {self.lanes}")
        self._check_scratchpad()
        for name in ("queue_depth", "dma_queue", "mask_waves"):
            if not _power_of_two(getattr(self, name)):
                raise VectorSpecError(f"{name} must be a power of two, not {getattr(self, name)}")
        self._check_fractions()
        if not SHORTEST_FLOATS <= self.float_latency <= LONGEST_FLOATS:
            raise VectorSpecError(f"float_latency must be a number of cycles from {SHORTEST_FLOATS} to "
                                  f"{LONGEST_FLOATS}, not {self.float_latency}")

    def _check_scratchpad(self) -> None:
        smallest = 2 * self.row_bytes
        if not _power_of_two(self.capacity) or not smallest <= self.capacity <= MAX_SCRATCHPAD:
            raise VectorSpecError(f"the scratchpad of {self.lanes} lanes must be a power of two from {smallest} to "
                                  f"{MAX_SCRATCHPAD} bytes, not {self.capacity}")

    def _check_fractions(self) -> None:
        bits = self.fraction_bits
        if len(bits) != 3 or not all(1 <= f < 8 << size for size, f in enumerate(bits)):
            raise VectorSpecError("fraction_bits must be three numbers, 1 to 7 for bytes, 1 to 15 for halfwords and "
                                  f"1 to 31 for words, not {bits}")

    @property
    def floats(self) -> bool:
        """Whether lanes compute with floating-point numbers of any kind."""
        return self.float32 or self.bfloat16

    @property
    def fuses(self) -> bool:
        """Whether lanes multiply and add floating-point numbers with one rounding."""
        return self.fma and self.floats

    @property
    def capacity(self) -> int:
        """Size of the scratchpad in bytes."""
        if self.scratchpad_bytes is not None:
            return self.scratchpad_bytes
        return self.lanes * (4096 if self.lanes == MAX_LANES else 8192)

    @property
    def row_bytes(self) -> int:
        """W, the width of the scratchpad in bytes: one row, one wavefront."""
        return 4 * self.lanes

    @property
    def rows(self) -> int:
        """Rows of the scratchpad."""
        return self.capacity // self.row_bytes

    @property
    def address_bits(self) -> int:
        """Bits of a byte address inside the scratchpad."""
        return (self.capacity - 1).bit_length()

    @property
    def memory_bytes(self) -> int:
        """M, the bytes of one beat of main memory."""
        return min(MAX_MEMORY_BYTES, self.row_bytes)

    def wave_elements(self, size: int) -> int:
        """Elements of one wavefront when executing at `size` (0 byte, 1 halfword, 2 word)."""
        return self.row_bytes >> size

    def mask_elements(self, size: int) -> int:
        """The longest mask, in elements of `size` (0 byte, 1 halfword, 2 word)."""
        return self.mask_waves * self.wave_elements(size)
