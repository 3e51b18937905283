"""The port of a memory beside the machine."""

from __future__ import annotations

from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hw.window.spec import WORD

__all__ = ["MemoryPort", "RequestPort"]


class MemoryPort(wiring.Signature):
    """One access of a word per cycle: if `valid` and `ready`, `data_out` is written at `address`, or what is there
    comes as `data_in` in the next cycle, however ready memory then is."""

    def __init__(self, address_bits: int):
        super().__init__({"valid": Out(1), "ready": In(1), "write": Out(1), "address": Out(address_bits),
                          "data_out": Out(WORD), "data_in": In(WORD)})


class RequestPort(wiring.Signature):
    """What a generator or writer asks of a memory: an access at `address`, done in a cycle with `valid` and `ready`.
    `data` is what a writer writes."""

    def __init__(self, address_bits: int, *, writes: bool):
        data = {"data": Out(WORD)} if writes else {}
        super().__init__({"valid": Out(1), "ready": In(1), "address": Out(address_bits), **data})
