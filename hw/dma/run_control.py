"""Run control of a system between memory and a host: from the host's start to the interrupt."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import Enum, IntEnum
from typing import Any

from amaranth.hdl import Cat, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hw.dma.watchdog import Watchdog

__all__ = ["RunControl", "connect_run", "wraps_around"]

_ADDRESSES = 1 << 32


class _State(Enum):
    IDLE = 0
    FLUSH = 1
    BEGIN = 2
    RUN = 3
    STOP = 4


class RunControl(wiring.Component):
    """A run is a cycle with `flush` (the engines are reset), one with `begin`, and then `running` until it is
    `complete`, a fault comes up, the host aborts it, or the watchdog expires. The last three leave a code in `error`
    and are followed by `stop`, until the engines are `idle` and then until the next run: a chunk that waits for its
    turn does not begin behind the end.

    Host: `start`, `clear` (pulses; `hw.dma.registers.RUN_CONTROL`), `limit` (register WATCHDOG); `busy`, `done`,
    `start_ignored`, `error` (`hw.dma.registers.RUN_STATUS`). `done` comes with the end of `busy`; but at once if the
    watchdog expires: memory may owe answers for ever, and the system stays busy until they have come.

    Engines: `faults`, bit k for code ``causes[k]``, the first one first; `refused`, in the cycle of `flush`, bit k: the
    run cannot be, for reason ``refusals[k]``; `complete`, `idle`, `progress` (something moves in this cycle).

    `errors` has the members NONE, ABORTED and WATCHDOG, too.
    """

    def __init__(self, errors: type[IntEnum], causes: Sequence[IntEnum], refusals: Sequence[IntEnum] = ()):
        self.errors, self.causes, self.refusals = errors, tuple(causes), tuple(refusals)
        commands = {name: In(1) for name in ("start", "clear")}
        status = {name: Out(1) for name in ("busy", "done", "start_ignored")}
        run = {name: Out(1) for name in ("flush", "begin", "running", "stop")}
        engines = {name: In(1) for name in ("complete", "idle", "progress")}
        super().__init__({**commands, **status, "limit": In(32), "error": Out(errors), **run, **engines,
                          "faults": In(len(causes)), "refused": In(len(self.refusals))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.watchdog = watchdog = Watchdog()
        self._state, self._expired, self._reported = Signal(_State), watchdog.expired, Signal()
        m.d.comb += [
            watchdog.limit.eq(self.limit), watchdog.running.eq(self.busy), watchdog.progress.eq(self.progress),
        ]
        with m.Switch(self._state):
            with m.Case(_State.IDLE):
                self._idle(m)
            with m.Case(_State.FLUSH):
                self._enter(m, _State.BEGIN)
                self._fail_first(m, self.refused, self.refusals)
            with m.Case(_State.BEGIN):
                self._enter(m, _State.RUN)
            with m.Case(_State.RUN):
                self._run(m)
            with m.Case(_State.STOP):
                self._stop(m)
        self._watch(m)
        self._commands(m)
        return m

    def _enter(self, m: Module, state: _State) -> None:
        """What a state tells the engines is in registers of its own: `flush` resets all of them."""
        m.d.sync += [self._state.eq(state), self.busy.eq(state is not _State.IDLE)]
        m.d.sync += [port.eq(state is told) for port, told in (
            (self.flush, _State.FLUSH), (self.begin, _State.BEGIN), (self.running, _State.RUN))]
        if state is not _State.IDLE:
            m.d.sync += self.stop.eq(state is _State.STOP)

    def _fail(self, m: Module, error: IntEnum) -> None:
        self._enter(m, _State.STOP)
        m.d.sync += self.error.eq(error)

    def _fail_first(self, m: Module, bits: Signal, errors: Sequence[IntEnum]) -> None:
        """End the run for the first of `bits` that is set."""
        for place, error in reversed(tuple(enumerate(errors))):
            with m.If(bits[place]):
                self._fail(m, error)

    def _idle(self, m: Module) -> None:
        with m.If(self.clear):
            m.d.sync += [self.done.eq(0), self.error.eq(self.errors["NONE"])]
        with m.If(self.start):
            self._enter(m, _State.FLUSH)
            m.d.sync += [self.done.eq(0), self.error.eq(self.errors["NONE"])]

    def _run(self, m: Module) -> None:
        with m.If(self.faults.any()):
            self._fail_first(m, self.faults, self.causes)
        with m.Elif(self.complete):
            self._enter(m, _State.IDLE)
            m.d.sync += self.done.eq(1)
        with m.Elif(self._expired):
            self._fail(m, self.errors["WATCHDOG"])

    def _stop(self, m: Module) -> None:
        with m.If(self.idle):
            self._enter(m, _State.IDLE)
            with m.If(~self._reported):
                m.d.sync += self.done.eq(1)

    def _watch(self, m: Module) -> None:
        """The host hears of a run that hangs at once, whatever else has ended it, and not again when it stops."""
        with m.If(~self.busy):
            m.d.sync += self._reported.eq(0)
        with m.Elif(self._expired & ~(self.running & self.complete)):
            m.d.sync += [self._reported.eq(1), self.done.eq(1)]

    def _commands(self, m: Module) -> None:
        """`clear` resets the flags; before the end of a run it aborts it."""
        with m.If(self.start):
            m.d.sync += self.start_ignored.eq(self.busy)
        with m.If(self.clear):
            m.d.sync += self.start_ignored.eq(0)
            with m.If(self.flush | self.begin | self.running):
                self._fail(m, self.errors["ABORTED"])
            with m.If(self.busy):
                m.d.sync += self.done.eq(0)


def connect_run(m: Module, control: RunControl, registers: Any, reader: Any, writer: Any, busy: Value) -> None:
    """Between `control`, the `registers` that a host sees, and the engines of a system: `reader` (or None) and `writer`
    with `load`, `stop`, `busy` and `left`, a bit per stream that has words to move. `busy`: the data path is not done.

    `faults`, `refused` and `progress` are left to the system.
    """
    engines = [writer] if reader is None else [reader, writer]
    m.d.comb += [
        control.start.eq(registers.control.start), control.clear.eq(registers.control.clear),
        control.limit.eq(registers.watchdog.cycles),
        *(registers.status[name].eq(getattr(control, name)) for name in ("busy", "done", "start_ignored", "error")),
        *(port.eq(signal) for engine in engines
          for port, signal in ((engine.load, control.begin), (engine.stop, control.stop))),
        control.complete.eq((writer.left == 0) & ~writer.busy & ~busy),
        control.idle.eq(~Cat(engine.busy for engine in engines).any()),
        registers.waiting.outputs.eq(writer.left),
    ]
    if reader is not None:
        m.d.comb += registers.waiting.inputs.eq(reader.left)


def wraps_around(areas: Iterable[tuple[Value, int]]) -> Value:
    """Whether an area of memory, (its address of 32 bits, its bytes), goes beyond the last address: its end would be
    found at the beginning of memory. One bit, combinational."""
    return Cat(address > _ADDRESSES - length for address, length in areas).any()
