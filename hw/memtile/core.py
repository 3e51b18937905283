"""What the memory cores share: their ports, tile registers, controllers, and the way from a logical SRAM address
to a place in this tile. Liu 2023, section 6.1."""

from __future__ import annotations

from dataclasses import dataclass

from amaranth.hdl import Cat, Module, Mux, Signal, Value, ValueLike
from amaranth.lib.data import ArrayLayout, StructLayout, View
from amaranth.lib.wiring import Component, Flow, In, Member, Out, Signature

from hw.lib.configuration import ConfigSignature, passed_on
from hw.memtile.controller import AffineController
from hw.memtile.spec import (
    CONTENTS_FEATURE,
    CONTENTS_FEATURES,
    TILE_FEATURE,
    ConfigurationError,
    MemTileSpec,
    TileRegister,
)

__all__ = [
    "CONTROL_PORTS",
    "ContentsWrite",
    "MemCore",
    "MemCoreSignature",
    "Place",
    "TileRegisters",
    "conflicting",
    "lanes",
    "select",
]

REGION = StructLayout({"base": 16, "mask": 16})
MODE = StructLayout({"rom": 1, "chaining": 1, "reserved": 14, "chain_id": 16})

CONTROL_PORTS = {
    "en": In(1),
    "flush": In(1),
    "cfg": In(ConfigSignature()),
}
"""Ports that every memory core has."""


class MemCoreSignature(Signature):
    """Ports of a memory core.

    - `en`: a cycle of the schedule happens; `flush`: restart, the next cycle with `en` is cycle 0.
    - `cfg` (`ConfigSignature`): a configuration write, at any time (SRAM contents only while `en` is 0).
    - `data_in[i]`, `chain_in[o]`, `data_out[o]`: words. Outputs are registers.
    - `conflict`: two controllers wanted one SRAM port in the same cycle since the last `flush`; the lowest-numbered
      one got it (writes before reads).
    """

    def __init__(self, spec: MemTileSpec) -> None:
        super().__init__(
            {
                **CONTROL_PORTS,
                "data_in": In(spec.word_width).array(spec.inputs),
                "chain_in": In(spec.word_width).array(spec.outputs),
                "data_out": Out(spec.word_width).array(spec.outputs),
                "conflict": Out(1),
            }
        )


def _regions(count: int) -> Member:
    init = [{"base": 0, "mask": 0xFFFF}] * count
    return Member(Flow.Out, ArrayLayout(REGION, count), init=init)  # pyright: ignore[reportCallIssue] (old stubs)


class TileRegisters(Component):
    """Registers of the tile feature (map: `hw.memtile.spec`), written through `cfg`.

    `mode`, `chained` and `passing` (one bit per output), `inputs` and `outputs` (circular region of each port) are
    flip-flops.
    """

    def __init__(self, spec: MemTileSpec) -> None:
        self._spec = spec
        super().__init__(
            {
                "cfg": In(ConfigSignature(feature=False)),
                "mode": Out(MODE),
                "chained": Out(spec.outputs),
                "passing": Out(spec.outputs),
                "inputs": _regions(spec.inputs),
                "outputs": _regions(spec.outputs),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        targets: dict[int, ValueLike] = {TileRegister.MODE: self.mode, TileRegister.CHAINED: self.chained}
        targets |= {TileRegister.INPUT_REGION + i: self.inputs[i] for i in range(self._spec.inputs)}
        targets |= {TileRegister.OUTPUT_REGION + o: self.outputs[o] for o in range(self._spec.outputs)}
        for register, target in targets.items():
            with m.If(self.cfg.valid & (self.cfg.register == register)):
                m.d.sync += Value.cast(target).eq(self.cfg.data)
        with m.If(self.cfg.valid & (self.cfg.register == TileRegister.CHAINED)):
            m.d.sync += self.passing.eq(self.cfg.data[TileRegister.PASSING_BIT :])
        return m


@dataclass(frozen=True)
class Place:
    """Where a logical SRAM address lies: `address` within the tile, and whether it is this tile's (`own`)."""

    address: Value
    own: Value


@dataclass(frozen=True)
class ContentsWrite:
    """A configuration write to the SRAM: register `index` among those of the contents."""

    valid: Value
    index: Value


class MemCore(Component):
    """Base of all cores: `kind` is the one of the specification that the subclass implements."""

    kind: str

    def __init__(self, spec: MemTileSpec) -> None:
        if spec.kind != self.kind:
            raise ConfigurationError(f"memory tile: {type(self).__name__} is of kind '{self.kind}', not '{spec.kind}'")
        self.spec = spec
        super().__init__(self.signature_of(spec))

    @staticmethod
    def signature_of(spec: MemTileSpec) -> Signature:
        """The ports of the core."""
        return MemCoreSignature(spec)

    def _registers(self, m: Module) -> TileRegisters:
        m.submodules.registers = registers = TileRegisters(self.spec)
        m.d.comb += passed_on(self.cfg, registers.cfg, self.cfg.valid & (self.cfg.feature == TILE_FEATURE))
        return registers

    def _controllers(self, m: Module, role: str) -> list[AffineController]:
        """The controllers of one role, such as "write"; their clock is the core's."""
        return [self._controller(m, name, self.en) for name in self.spec.controllers if name.startswith(role)]

    def _controller(self, m: Module, name: str, advance: Value) -> AffineController:
        """A controller, connected to configuration and `flush`; its time goes on where `advance` is 1."""
        m.submodules[name] = controller = AffineController(self.spec.controllers[name])
        m.d.comb += [
            controller.en.eq(advance),
            controller.flush.eq(self.flush),
            *passed_on(self.cfg, controller.cfg, self.cfg.valid & (self.cfg.feature == self.spec.feature(name))),
        ]
        return controller

    def _contents_write(self) -> ContentsWrite:
        """The configuration write to the SRAM."""
        bits = CONTENTS_FEATURES.bit_length() - 1
        valid = self.cfg.valid & (self.cfg.feature[bits:] == CONTENTS_FEATURE >> bits)
        return ContentsWrite(valid, Cat(self.cfg.register, self.cfg.feature[:bits]))

    def _place(self, m: Module, address: Value, region: View, mode: View) -> Place:
        """Where an address of a port with this region lies."""
        return self._locate(m, address, (region.base, region.mask), mode.chaining, mode.chain_id)

    def _locate(
        self, m: Module, address: Value, region: tuple[Value, Value], chaining: Value, chain_id: Value
    ) -> Place:
        """Circular region (base, mask), then division of the logical address space among the tiles of a chain."""
        bits = self.spec.sram_bits
        logical = Signal(MemTileSpec.ADDRESS_WIDTH)
        m.d.comb += logical.eq(region[0] | (address & region[1]))
        own = ~chaining | (logical[bits:] == chain_id[: self.spec.chain_bits])
        return Place(logical[:bits], own)

    def _flag_conflicts(self, m: Module, *ports: list[Value]) -> None:
        """Set `conflict` when two of the requests for one port come together."""
        clash = Cat(conflicting(requests) for requests in ports).any()
        with m.If(self.flush):
            m.d.sync += self.conflict.eq(0)
        with m.Elif(self.en & clash):
            m.d.sync += self.conflict.eq(1)


def conflicting(requests: list[Value]) -> Value:
    """Whether more than one request is 1."""
    return Cat(requests[k] & Cat(requests[:k]).any() for k in range(1, len(requests))).any()


def select(requests: list[Value], values: list[Value]) -> tuple[list[Value], Value]:
    """Fixed priority: which request is granted, and the value that belongs to it (0 if there is none).

    The values are ANDed and ORed, not muxed in a chain, to keep the path to an SRAM's address short.
    """
    grants = [request & ~Cat(requests[:k]).any() for k, request in enumerate(requests)]
    chosen: Value = Mux(grants[0], values[0], 0)
    for grant, value in zip(grants[1:], values[1:], strict=True):
        chosen = chosen | Mux(grant, value, 0)
    return grants, chosen


def lanes(index: Value, count: int) -> Value:
    """One-hot write enables: lane `index` of `count`, a power of two."""
    return Cat(index == lane for lane in range(count)) if count > 1 else Cat(1)

