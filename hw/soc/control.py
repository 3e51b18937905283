"""Run control of the processor system."""

from __future__ import annotations

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hw.dma.watchdog import Watchdog
from hw.soc.status import Phase, RunError

__all__ = ["CAUSES", "RunControl"]

CAUSES = {
    "fetch_error": RunError.FETCH,
    "load_error": RunError.LOAD,
    "store_error": RunError.STORE,
    "unknown": RunError.PERIPHERAL,
    "trap": RunError.TRAP,
}
"""Pulses that end a run early, in the order in which they count when they come together."""


class RunControl(wiring.Component):
    """The run from `start` to `done`.

    start, clear: pulses of the host (see `hw.soc.registers`). busy, done, start_ignored, error, phase: registers.
    run: the core is out of reset. begin: pulse before that; everything else is set back.
    finish: pulse, the program ended; failed: with an exit code other than 0. The names of `CAUSES`: pulses.
    limit: register WATCHDOG; progress: something moves in this cycle. If the watchdog expires the run is done at once.
    settled: no memory transaction, vector instruction or transfer is under way; a run is not done before.
    """

    def __init__(self) -> None:
        super().__init__({
            **{name: In(1) for name in ("start", "clear", "finish", "failed", "settled", "progress", *CAUSES)},
            "limit": In(32),
            **{name: Out(1) for name in ("busy", "done", "start_ignored", "run", "begin")},
            "error": Out(RunError),
            "phase": Out(Phase),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        phase, reported = Signal(Phase), Signal()  # reported: done, but busy
        m.d.comb += [
            self.busy.eq(phase != Phase.IDLE),
            self.run.eq(phase == Phase.RUN),
            self.phase.eq(phase),
        ]
        with m.Switch(phase):
            with m.Case(Phase.IDLE):
                with m.If(self.start):
                    m.d.comb += self.begin.eq(1)
                    m.d.sync += [phase.eq(Phase.RUN), self.done.eq(0), self.error.eq(RunError.NONE)]
                    m.d.sync += self.start_ignored.eq(0)
            with m.Case(Phase.RUN):
                self._ends(m, phase)
            with m.Case(Phase.STOP):
                with m.If(self.settled):
                    m.d.sync += [phase.eq(Phase.IDLE), self.done.eq(self.done | ~reported)]
                self._late_errors(m)
        self._watch(m, phase, reported)
        self._commands(m, phase)
        return m

    def _watch(self, m: Module, phase: Signal, reported: Signal) -> None:
        """The host hears of a run that hangs at once, whatever else has ended it, and not again when it stops."""
        m.submodules.watchdog = watchdog = Watchdog()
        m.d.comb += [watchdog.limit.eq(self.limit), watchdog.running.eq(self.busy), watchdog.progress.eq(self.progress)]
        with m.If(~self.busy):
            m.d.sync += reported.eq(0)
        with m.Elif(watchdog.expired):
            m.d.sync += [reported.eq(1), self.done.eq(1)]
            with m.If((phase == Phase.RUN) | (self.error == RunError.NONE)):
                m.d.sync += [phase.eq(Phase.STOP), self.error.eq(RunError.WATCHDOG)]

    def _ends(self, m: Module, phase: Signal) -> None:
        with m.If(self.finish):
            m.d.sync += phase.eq(Phase.STOP)
            with m.If(self.failed):
                m.d.sync += self.error.eq(RunError.EXIT_CODE)
        for name, error in reversed(CAUSES.items()):
            with m.If(getattr(self, name)):
                m.d.sync += [phase.eq(Phase.STOP), self.error.eq(error)]

    def _late_errors(self, m: Module) -> None:
        """A store that memory refuses after the core has stopped."""
        with m.If(self.store_error & (self.error == RunError.NONE)):
            m.d.sync += self.error.eq(RunError.STORE)

    def _commands(self, m: Module, phase: Signal) -> None:
        with m.If(self.busy & self.start):
            m.d.sync += self.start_ignored.eq(1)
        with m.If(self.clear):
            m.d.sync += self.start_ignored.eq(0)
            with m.If(phase == Phase.RUN):
                m.d.sync += [phase.eq(Phase.STOP), self.error.eq(RunError.ABORTED)]
            with m.If(self.busy):
                m.d.sync += self.done.eq(0)
            with m.Elif(~self.start):
                m.d.sync += [self.done.eq(0), self.error.eq(RunError.NONE)]
