"""Bus masters: AXI4 burst engines, their descriptors, and control registers on AXI4-Lite.

`BurstReader` and `BurstWriter` move tiles between memory and packed streams of words; `DmaSpec` has their sizes,
`TILE_JOB` is what one transfer is. `TileSequencer` walks `DmaDescriptor`s. `ScratchpadDma` is the engine of the
vector processor. `RegisterMap` describes control registers once; `RegisterFile` is their hardware.
"""

from hw.dma.axi import Axi4LiteSignature, Axi4Signature, Response, connect_flat, flat_ports
from hw.dma.descriptor import DescriptorError, DmaDescriptor, DmaLevel
from hw.dma.packing import Packer, Unpacker
from hw.dma.reader import BurstReader
from hw.dma.register_file import RegisterFile
from hw.dma.register_slice import Skid
from hw.dma.registers import Field, Register, RegisterError, RegisterMap, Window
from hw.dma.scratchpad import ScratchpadDma
from hw.dma.scratchpad_spec import ScratchpadDmaSpec, ScratchpadDmaSpecError
from hw.dma.spec import TILE_JOB, DmaSpec, DmaSpecError
from hw.dma.tiles import TileSequencer
from hw.dma.word_queue import BlockQueue, WordQueue
from hw.dma.writer import BurstWriter

__all__ = [
    "TILE_JOB",
    "Axi4LiteSignature",
    "Axi4Signature",
    "BlockQueue",
    "BurstReader",
    "BurstWriter",
    "DescriptorError",
    "DmaDescriptor",
    "DmaLevel",
    "DmaSpec",
    "DmaSpecError",
    "Field",
    "Packer",
    "Register",
    "RegisterError",
    "RegisterFile",
    "RegisterMap",
    "Response",
    "ScratchpadDma",
    "ScratchpadDmaSpec",
    "ScratchpadDmaSpecError",
    "Skid",
    "TileSequencer",
    "Unpacker",
    "Window",
    "WordQueue",
    "connect_flat",
    "flat_ports",
]
