"""Components that exist as a Verilog module of their own and are instantiated by name."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import ClockSignal, Instance, Module, ResetSignal
from amaranth.lib import wiring
from amaranth.lib.wiring import Flow

__all__ = ["Emitted"]


class Emitted(wiring.Component):
    """Instance of module `name`, which is a component with `signature` as `hw.verilog.convert` writes it."""

    def __init__(self, name: str, signature: Any):
        self._name = name
        super().__init__(dict(signature.members.items()))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        ports: dict[str, Any] = {"i_clk": ClockSignal(), "i_rst": ResetSignal()}
        for path, member, value in self.signature.flatten(self):
            direction = "o" if member.flow is Flow.Out else "i"
            ports[f"{direction}_{'__'.join(map(str, path))}"] = value
        m.submodules.instance = Instance(self._name, **ports)
        return m
