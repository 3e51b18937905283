"""Addresses of nested loops whose lengths and strides are known at run time only."""

from __future__ import annotations

from amaranth.hdl import Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["AddressWalker"]


class AddressWalker(wiring.Component):
    """`levels` loops, the innermost first, `counts` iterations of `count_bits` each and `strides` in words.

    `start` begins a walk at `origin`; if `left`, there is an `address`, and `step` goes on to the next. Counts are not
    0. All outputs are registers; counts and strides must not change during a walk.
    """

    def __init__(self, levels: int, address_bits: int, count_bits: int):
        self.levels, self.bits = levels, (address_bits, count_bits)
        super().__init__({
            "start": In(1), "origin": In(address_bits), "counts": In(count_bits).array(levels),
            "strides": In(address_bits).array(levels), "step": In(1), "address": Out(address_bits), "left": Out(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        address_bits, count_bits = self.bits
        bases = [Signal(address_bits, name=f"base{k}") for k in range(self.levels)]
        rests = [Signal(count_bits, name=f"rest{k}") for k in range(self.levels)]
        m.d.comb += self.address.eq(bases[0])
        inner: Value = Const(1)  # all loops inside are in their last iterations
        following: Value = Const(0, address_bits)
        for base, rest, stride in reversed(list(zip(bases, rests, self.strides, strict=True))):
            following = Mux(rest == 1, following, (base + stride)[:address_bits])
        for base, rest, count in zip(bases, rests, self.counts, strict=True):
            with m.If(self.step & inner):
                m.d.sync += [base.eq(following), rest.eq(Mux(rest == 1, count, rest - 1))]
            inner = inner & (rest == 1)
        with m.If(self.step & inner):
            m.d.sync += self.left.eq(0)
        with m.If(self.start):
            m.d.sync += [self.left.eq(1), *(base.eq(self.origin) for base in bases)]
            m.d.sync += [rest.eq(count) for rest, count in zip(rests, self.counts, strict=True)]
        return m
