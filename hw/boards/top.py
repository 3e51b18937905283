"""The top level of a board: clock, reset and lights around a `BoardCore`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from amaranth.build import Platform
from amaranth.hdl import ClockDomain, ClockSignal, Const, DomainRenamer, Module, ResetSignal, Signal, Value
from amaranth.lib import io
from amaranth.lib.cdc import FFSynchronizer, ResetSynchronizer
from amaranth.lib.wiring import Component

from hw.boards.core import STATUS_LIGHTS
from hw.boards.pll import PllSetting
from hw.boards.pll_cells import build_loop, on_pad
from hw.sdram.pins import connect_pins

__all__ = ["BoardTop", "Lights", "request_lights"]

_SETTLE = 16
"""Cycles after power-on until the button's idle level is taken; a synchronizer needs 3."""


@dataclass(frozen=True)
class Lights:
    """Output ports of one bit: `status` for the first of `STATUS_LIGHTS`, `color` for lines that choose a colour."""

    status: list[Any]
    color: list[Any]


def request_lights(platform: Platform) -> Lights:
    """The board's lights, at most as many as there are `STATUS_LIGHTS`.

    Resources named like the outputs of the core, or else ``led`` by number, or else green, red and blue of each
    ``rgb_led``, or else the rows of ``rgb_leds_muxed``.
    """
    named = [name for name in STATUS_LIGHTS if (name, 0) in platform.resources]
    if named:
        return Lights([platform.request(name, 0, dir="-") for name in named], [])
    status = [bit for port in _numbered(platform, "led") for bit in _bits(port)]
    color: list[Any] = []
    if not status:
        status = [bit for group in _numbered(platform, "rgb_led") for bit in _colors(group, "grb")]
    if not status:
        groups = list(_numbered(platform, "rgb_leds_muxed"))
        status = [bit for group in groups for bit in _bits(group.leds)]
        color = [bit for group in groups for bit in _colors(group, "rgb")]
    return Lights(status[: len(STATUS_LIGHTS)], color)


def _colors(group: Any, order: str) -> list[Any]:
    return [bit for name in order for bit in _bits(getattr(group, name))]


def _numbered(platform: Platform, name: str) -> Iterator[Any]:
    numbers = sorted(number for resource, number in platform.resources if resource == name)
    return (platform.request(name, number, dir="-") for number in numbers)


def _bits(port: Any) -> list[Any]:
    return [port[index] for index in range(len(port))]


class BoardTop(Component):
    """A board's clock, divided by `divide` (a power of two), changed by the loop `pll`, or changed to `clock_hz` by the
    memory of `core`, its button and its lights around `core`.

    The core is reset after power-on and while the board's button is pressed: ``reset`` or ``button`` 0 at another
    level than the one it had when power came on, so its polarity does not matter. Releasing it runs the design again.
    A reset input of the board that its platform knows about works too. The lights show the first of `STATUS_LIGHTS`.

    `lights`, set by elaboration, are the names of those that the board shows.
    """

    def __init__(self, core: Any, *, divide: int = 1, pll: PllSetting | None = None,
                 clock_hz: float = 0.0):
        self._core = core
        self._divide = divide
        self._pll = pll
        self._clock_hz = clock_hz
        self.lights: tuple[str, ...] = ()
        super().__init__({})

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.domains.core = domain = ClockDomain("core")
        unlocked = self._clock(m, platform, domain)
        button = self._button(m, platform)
        outer = ResetSignal("sync", allow_reset_less=True)
        m.submodules.reset = ResetSynchronizer(outer | button | unlocked, domain="core")
        m.submodules.core = DomainRenamer("core")(self._core)
        self._lights(m, request_lights(platform))
        self._serial(m, platform)
        if "sdram" in self._core.signature.members:
            connect_pins(m, platform.request("sdram", 0, dir="-"), self._core.sdram, "core")
        return m

    def _lights(self, m: Module, lights: Lights) -> None:
        self.lights = STATUS_LIGHTS[: len(lights.status)]
        for name, port in zip(self.lights, lights.status, strict=True):
            m.submodules[f"light_{name}"] = light = io.Buffer(io.Direction.Output, port)
            m.d.comb += light.o.eq(getattr(self._core, name))
        for index, port in enumerate(lights.color):
            m.submodules[f"color_{index}"] = color = io.Buffer(io.Direction.Output, port)
            # Whether a high or a low line selects a colour is not known, so both are shown in turn.
            m.d.comb += color.o.eq(self._core.heartbeat)

    def _serial(self, m: Module, platform: Any) -> None:
        """The core's serial line to the board's, if there are both."""
        if not getattr(self._core, "serial", False) or ("uart", 0) not in platform.resources:
            return
        port = platform.request("uart", 0, dir="-")
        m.submodules.uart_tx = sent = io.Buffer(io.Direction.Output, port.tx)
        m.submodules.uart_rx = received = io.Buffer(io.Direction.Input, port.rx)
        m.d.comb += [sent.o.eq(self._core.uart_tx), self._core.uart_rx.eq(received.i)]

    def _clock(self, m: Module, platform: Any, domain: ClockDomain) -> Value:
        """Drives the core's clock; high while it is not to be used."""
        if "memory_clock" in self._core.signature.members:
            m.d.comb += [self._core.oscillator.eq(ClockSignal("sync")), domain.clk.eq(self._core.memory_clock)]
            platform.add_clock_constraint(self._core.memory_clock, self._clock_hz)
            return self._core.memory_reset
        if self._pll is not None:
            return self._loop(m, platform, domain, self._pll)
        if self._divide == 1:
            m.d.comb += domain.clk.eq(ClockSignal("sync"))
            return Const(0)
        divider = Signal(range(self._divide), reset_less=True)
        divided = Signal(name="clock_divided")
        m.d.sync += divider.eq(divider + 1)
        m.d.comb += [divided.eq(divider[-1]), domain.clk.eq(divided)]
        platform.add_clock_constraint(divided, platform.default_clk_frequency / self._divide)
        return Const(0)

    def _loop(self, m: Module, platform: Any, domain: ClockDomain, pll: PllSetting) -> Value:
        """A phase-locked loop behind the board's clock, which is its own output's where it leads nowhere else."""
        reference = platform.default_clk_frequency
        alone = pll.loop == "SB_PLL40_CORE" and on_pad(platform)
        clock: Any = platform.request(platform.default_clk, 0, dir="-").io if alone else ClockSignal("sync")
        parts, output, locked = build_loop(pll.loop, pll, reference, platform, clock)
        if alone:
            m.domains.sync = outer = ClockDomain("sync", reset_less=True)
            m.d.comb += outer.clk.eq(output)
            locked = self._memories_ready(m, locked, pll.output)
        for number, part in enumerate(parts):
            m.submodules[f"pll{number}" if number else "pll"] = part
        m.d.comb += domain.clk.eq(output)
        platform.add_clock_constraint(output, pll.output)
        return ~locked

    def _memories_ready(self, m: Module, locked: Value, hz: float) -> Signal:
        """High from 15 us after the lock on: block RAM of an iCE40 reads as zeros for 3 us after it is configured."""
        left = Signal(range(round(15e-6 * hz) + 1), init=round(15e-6 * hz), reset_less=True)
        ready = Signal(reset_less=True)
        m.submodules.lock_sync = FFSynchronizer(locked, synced := Signal())
        with m.If(synced & (left != 0)):
            m.d.sync += left.eq(left - 1)
        m.d.sync += ready.eq(left == 0)
        return ready

    def _button(self, m: Module, platform: Any) -> Any:
        """High while the button is not at its idle level."""
        name = next((name for name in ("reset", "button") if (name, 0) in platform.resources), None)
        if name is None:
            return Const(0)
        port = platform.request(name, 0, dir="-")
        m.submodules.button = buffer = io.Buffer(io.Direction.Input, port)
        level, idle, pressed = Signal(), Signal(reset_less=True), Signal(reset_less=True)
        count = Signal(range(_SETTLE + 1), reset_less=True)
        m.submodules.button_sync = FFSynchronizer(buffer.i, level)
        with m.If(count < _SETTLE):
            m.d.sync += [count.eq(count + 1), idle.eq(level)]
        with m.Else():
            m.d.sync += pressed.eq(level != idle)
        return pressed
