"""The hardware library: Amaranth components for designs of one's own (docs/library.md).

`memtile`: memory tiles; `pe`: processing elements; `dma`: AXI4 burst engines; `dataflow`: channels and kernels of
streaming networks; `pipeline`: cells on a static schedule.
"""

from hw import dataflow, dma, memtile, pe, pipeline

__all__ = ["dataflow", "dma", "memtile", "pe", "pipeline"]
