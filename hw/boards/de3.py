"""Terasic DE3-150: Altera Stratix III EP3SL150, 50 MHz oscillator.

Pin locations come from the pin file that Terasic ships with the board; none are built in. What the user does not
connect becomes a virtual pin (a logic cell instead of a package pin), except the clock, whose pin is then left to the
fitter. Such a project fits and can be timed, but its bitstream is not for the board.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from amaranth.build import Attrs, Clock, Pins, PinsN, Resource
from amaranth.hdl import IOBufferInstance, Module
from amaranth.lib import io
from amaranth.vendor import AlteraPlatform

from hw.boards.core import STATUS_LIGHTS
from hw.boards.pins import Connection, Pin, PinError, find_pin, read_pins

__all__ = ["DE3_CLOCK", "DE3_PORTS", "De3Platform", "de3_pins"]

DE3_CLOCK = "clk50"
DE3_RESET = "reset"
DE3_PORTS = (DE3_CLOCK, DE3_RESET, *STATUS_LIGHTS)
"""Ports of the top level that a pin file can locate."""

_VIRTUAL = "virtual_"


def de3_pins(path: Path, connections: Iterable[Connection]) -> dict[str, tuple[Pin, bool]]:
    """(pin, active low) by port, from the pin file and the connections that name its signals.

    A port without a connection is looked up by its own name and left out if the file does not have that. The clock
    must be there. Raises `PinError`.
    """
    pins = read_pins(path)
    wanted = {connection.port: connection for connection in connections}
    for port in wanted:
        if port not in DE3_PORTS:
            raise PinError(f"there is no port '{port}'; the ports are {', '.join(DE3_PORTS)}")
    own = {port: Connection(port, port) for port in DE3_PORTS if port.lower() in {name.lower() for name in pins}}
    if DE3_CLOCK not in {**own, **wanted}:
        raise PinError(f"{path}: no location for {DE3_CLOCK}; say which signal it is with --connect {DE3_CLOCK}=NAME")
    found = {**own, **wanted}
    return {port: (find_pin(pins, found[port].signal, path), found[port].invert) for port in found}


class De3Platform(AlteraPlatform):
    """The board for Amaranth, with Quartus as its tool. `pins` is (pin, active low) by port, see `de3_pins`."""

    device = "EP3SL150"
    package = "F1152"
    speed = "C2"
    default_clk = DE3_CLOCK
    resources: Any = ()
    connectors: Any = ()

    def __init__(self, pins: Mapping[str, tuple[Pin, bool]] | None = None):
        self.located = dict(pins or {})
        self.resources = [self._resource(port) for port in DE3_PORTS]
        super().__init__(toolchain="Quartus")

    @property
    def virtual_ports(self) -> tuple[str, ...]:
        """Ports that are virtual pins."""
        return tuple(port for port in DE3_PORTS if port not in self.located and port != DE3_CLOCK)

    @property
    def unplaced_ports(self) -> tuple[str, ...]:
        """Ports on real pins that the fitter chooses."""
        return () if DE3_CLOCK in self.located else (DE3_CLOCK,)

    def _resource(self, port: str) -> Resource:
        direction = "o" if port in STATUS_LIGHTS else "i"
        pin, inverted = self.located.get(port, (Pin(_VIRTUAL + port), False))
        kind = PinsN if inverted else Pins
        extra: list[Any] = [Clock(50e6)] if port == DE3_CLOCK else []
        if pin.standard:
            extra.append(Attrs(IO_STANDARD=pin.standard))
        return Resource(port, 0, kind(pin.location, dir=direction), *extra)

    def iter_port_constraints_bits(self):
        """Port, package pin and attributes of every port that has a location."""
        for name, pin, attributes in super().iter_port_constraints_bits():
            if not pin.startswith(_VIRTUAL):
                yield name, pin, attributes

    def get_io_buffer(self, buffer: Any) -> Any:
        """A virtual pin must not have a buffer: the fitter ignores the assignment if there is a tri-state output."""
        names = {bit.name for bit in buffer.port.io.metadata}
        virtual = {_VIRTUAL + port for port in self.virtual_ports}
        if not names <= virtual or not isinstance(buffer, io.Buffer):
            return super().get_io_buffer(buffer)
        m = Module()
        if buffer.direction is io.Direction.Output:
            m.submodules.buffer = IOBufferInstance(buffer.port.io, o=buffer.o)
        else:
            m.submodules.buffer = IOBufferInstance(buffer.port.io, i=buffer.i)
        return m

    def toolchain_prepare(self, fragment: Any, name: str, **kwargs: Any) -> Any:
        """Adds the virtual pins to the settings."""
        lines = [
            f'set_instance_assignment -name VIRTUAL_PIN ON -to "{port}_0__io"' for port in self.virtual_ports
        ]
        lines += [kwargs.pop("add_settings")] if "add_settings" in kwargs else []
        return super().toolchain_prepare(fragment, name, add_settings="\n".join(lines), **kwargs)
