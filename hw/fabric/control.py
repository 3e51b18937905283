"""Run control: decides at the root, cycle by cycle, whether the array advances.

Unstalled cycles are numbered from 0 after the flush. Cycle n may be issued only if every bank that starts a
tile, or comes to another band of it, in cycle n has that band: a filled one for an input bank, a free one for an output
bank. The decision is made one clock cycle ahead, and what is decided here reaches
tiles and banks a constant `EN_LATENCY` cycles later.
"""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, ValueLike
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hw.dma.watchdog import Watchdog
from hw.fabric.bank import TILES_BITS
from hw.fabric.bank_config import bank_controller
from hw.fabric.control_registers import COLUMN_BITS, NO_BANK
from hw.fabric.spec import EN_LATENCY, FabricSpec
from hw.fabric.status import Phase, RunError, Waiting

__all__ = ["RunControl", "TileClock", "settle_cycles"]

WORD_BITS = 32


class TileClock(wiring.Component):
    """Knows in which unstalled cycles one bank starts a tile.

    `flush` starts a run: tile t of `tiles` starts in cycle ``t * period + first`` (all three held during the run;
    no tile if not `enable`). `step`: a cycle is issued. `due`: that would be the first cycle of a tile. `begin`: the
    next cycle that is issued will be (so it comes with a `step`, or with `flush`). `left`: tiles are left to start.
    """

    def __init__(self, time_width: int):
        super().__init__({
            "enable": In(1),
            "first": In(time_width),
            "period": In(time_width),
            "tiles": In(TILES_BITS),
            "flush": In(1),
            "step": In(1),
            "due": Out(1),
            "begin": Out(1),
            "left": Out(1),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        # Both count down to -1, so that their sign tells.
        wait = Signal(len(self.first) + 1)  # cycles before the next start, less 1
        tiles = Signal(TILES_BITS + 1)  # tiles to start after the next one
        m.d.comb += [self.left.eq(~tiles[-1]), self.due.eq(self.left & wait[-1])]
        with m.If(self.flush):
            m.d.comb += self.begin.eq(self.enable & (self.first == 0))
            m.d.sync += [wait.eq(self.first - 1), tiles.eq(Mux(self.enable, self.tiles, 0) - 1)]
        with m.Elif(self.step & self.due):
            m.d.comb += self.begin.eq((self.period == 1) & (tiles != 0))
            m.d.sync += [wait.eq(self.period - 2), tiles.eq(tiles - 1)]
        with m.Elif(self.step & self.left):
            m.d.comb += self.begin.eq(wait == 0)
            m.d.sync += wait.eq(wait - 1)
        return m


class RunControl(wiring.Component):
    """The run from `start` to `done`, and what the host sees of it.

    Host: `start`, `clear` (pulses; `hw.fabric.control_registers` tells what they do), `config_words`, `period`,
    `tiles`, `run_cycles` (registers CONFIG_WORDS and so on); `busy`, `done`, `start_ignored`, `error`, `phase`,
    `waiting`, `bank`, `cycles`, `stalls`, `wall_cycles`, `load_cycles` (registers of these names); `limit` (register
    WATCHDOG). If the watchdog expires the run is `done` at once, and `busy` until memory has answered.

    Array: `en`, `flush`, `array_clear` (switch everything off). `conflict`: see `CgraArray`.

    Loader: `load` (pulse), `load_busy`, `load_done`, `load_error`.

    Banks, one bit each: `enable`, `output`; `blocked`: the cycle after this clock cycle needs a band that is not
    there; `left`: tiles or accesses are left on the array side; `complete`: all transfers have ended; `overrun`.

    Engines: `progress`: something passes on the way to or from memory; `transfer`: they may take jobs; `stop`: give up;
    `engines_busy`; `prepare`: a run begins. `read_bank`, `write_bank`: banks they work for; `read_error`,
    `write_error`, `read_overflow`, `write_overflow`; `descriptor_bank`, `bad_descriptor`.
    """

    def __init__(self, spec: FabricSpec):
        self.spec = spec
        banks = spec.bank_slots
        host = {"config_words": WORD_BITS, "period": WORD_BITS, "tiles": WORD_BITS, "run_cycles": WORD_BITS,
                "limit": WORD_BITS}
        pulses = ("start", "clear", "conflict", "load_busy", "load_done", "engines_busy", "read_error", "write_error",
                  "read_overflow", "write_overflow", "bad_descriptor", "progress")
        flags = ("busy", "done", "start_ignored", "en", "flush", "array_clear", "load", "transfer", "stop", "prepare")
        counters = ("cycles", "stalls", "wall_cycles", "load_cycles")
        super().__init__({
            **{name: In(width) for name, width in host.items()},
            **{name: In(1) for name in pulses},
            **{name: In(banks) for name in ("enable", "output", "blocked", "left", "complete", "overrun")},
            **{name: In(COLUMN_BITS) for name in ("read_bank", "write_bank", "descriptor_bank")},
            "load_error": In(RunError),
            **{name: Out(1) for name in flags},
            **{name: Out(WORD_BITS) for name in counters},
            "error": Out(RunError),
            "phase": Out(Phase),
            "waiting": Out(Waiting),
            "bank": Out(COLUMN_BITS),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        self._phase = Signal(Phase)
        self._settle = Signal(range(settle_cycles(self.spec) + 1))
        self._reported = Signal()  # done, but busy
        self._partial = Signal()  # the array may have part of a configuration
        self._failed_phase, self._failed_bank = Signal(Phase), Signal(COLUMN_BITS)
        self._remaining = Signal(WORD_BITS + 1)  # cycles to issue after the next one, less 1
        m.d.comb += self.busy.eq(self._phase != Phase.IDLE)
        m.d.sync += self.en.eq(0)
        with m.Switch(self._phase):
            for phase, build in {
                Phase.IDLE: self._idle, Phase.CLEAR: self._clear, Phase.LOAD: self._load, Phase.SETTLE: self._wait,
                Phase.FLUSH: self._flush, Phase.RUN: self._run, Phase.DRAIN: self._drain, Phase.STOP: self._stop,
            }.items():
                with m.Case(phase):
                    build(m)
        self._watch(m)
        self._host(m)
        self._describe(m)
        return m

    def _go(self, m: Module, phase: Phase) -> None:
        m.d.sync += self._phase.eq(phase)

    def _fail(self, m: Module, error: ValueLike, bank: ValueLike = NO_BANK) -> None:
        m.d.sync += [self.error.eq(error), self._failed_bank.eq(bank), self._failed_phase.eq(self._phase)]
        self._go(m, Phase.STOP)

    def _idle(self, m: Module) -> None:
        with m.If(self.start):
            m.d.sync += [self.done.eq(0), self.error.eq(RunError.NONE), self.start_ignored.eq(0)]
            m.d.sync += [counter.eq(0) for counter in (self.cycles, self.stalls, self.wall_cycles, self.load_cycles)]
            m.d.sync += self._settle.eq(settle_cycles(self.spec))
            with m.If(self._wrong_parameters()):
                self._fail(m, RunError.PARAMETER)
            with m.Elif(self.config_words != 0):
                self._go(m, Phase.CLEAR)
            with m.Else():
                self._go(m, Phase.FLUSH)

    def _wrong_parameters(self) -> Value:
        time_width = bank_controller(self.spec.glb).time_width
        limits = ((self.period, time_width), (self.tiles, TILES_BITS), (self.run_cycles, WORD_BITS))
        return Cat(((value == 0) | (value[bits:] != 0)) for value, bits in limits).any()

    def _clear(self, m: Module) -> None:
        m.d.comb += [self.array_clear.eq(1), self.load.eq(1)]
        m.d.sync += self._partial.eq(1)
        self._go(m, Phase.LOAD)

    def _load(self, m: Module) -> None:
        with m.If(self.load_done):
            with m.If(self.load_error != RunError.NONE):
                self._fail(m, self.load_error)
            with m.Else():
                m.d.sync += self._partial.eq(0)
                self._go(m, Phase.SETTLE)

    def _wait(self, m: Module) -> None:
        m.d.sync += self._settle.eq(self._settle - 1)
        with m.If(self._settle == 0):
            self._go(m, Phase.FLUSH)

    def _flush(self, m: Module) -> None:
        m.d.comb += [self.flush.eq(1), self.prepare.eq(1)]
        m.d.sync += [self._settle.eq(settle_cycles(self.spec)), self._remaining.eq(self.run_cycles - 2)]
        with m.If(self.enable == 0):
            self._fail(m, RunError.NOT_CONFIGURED)
        with m.Else():
            self._go(m, Phase.RUN)

    def _run(self, m: Module) -> None:
        m.d.comb += self.transfer.eq(1)
        with m.If(~self.blocked.any()):
            m.d.sync += [self.en.eq(1), self.cycles.eq(self.cycles + 1), self._remaining.eq(self._remaining - 1)]
            with m.If(self._remaining[-1]):
                self._go(m, Phase.DRAIN)
        with m.Else():
            m.d.sync += self.stalls.eq(self.stalls + 1)
        self._faults(m)

    def _drain(self, m: Module) -> None:
        m.d.comb += self.transfer.eq(1)
        with m.If(self._settle != 0):
            m.d.sync += self._settle.eq(self._settle - 1)
        with m.Elif(self.conflict):
            self._fail(m, RunError.ARRAY_CONFLICT)
        with m.Elif(self.left.any()):
            self._fail(m, RunError.RUN_TOO_SHORT, _lowest(self.left))
        with m.Elif(self.complete.all()):
            m.d.sync += self.done.eq(1)
            self._go(m, Phase.IDLE)
        self._faults(m)

    def _faults(self, m: Module) -> None:
        """Errors of the engines and banks; the first one ends the run."""
        with m.If(self.read_error):
            self._fail(m, RunError.READ_RESPONSE, self.read_bank)
        with m.Elif(self.write_error):
            self._fail(m, RunError.WRITE_RESPONSE, self.write_bank)
        with m.Elif(self.bad_descriptor):
            self._fail(m, RunError.DESCRIPTOR, self.descriptor_bank)
        with m.Elif(self.read_overflow):
            self._fail(m, RunError.BANK_OVERFLOW, self.read_bank)
        with m.Elif(self.write_overflow):
            self._fail(m, RunError.BANK_OVERFLOW, self.write_bank)
        with m.Elif(self.overrun.any()):
            self._fail(m, RunError.BANK_OVERRUN, _lowest(self.overrun))

    def _stop(self, m: Module) -> None:
        m.d.comb += self.stop.eq(1)
        with m.If(~self.engines_busy & ~self.load_busy):
            m.d.comb += self.array_clear.eq(self._partial)
            m.d.sync += [self._partial.eq(0), self.done.eq(self.done | ~self._reported)]
            self._go(m, Phase.IDLE)

    def _watch(self, m: Module) -> None:
        """The host hears of a run that hangs at once, whatever else has ended it, and not again when it stops."""
        m.submodules.watchdog = watchdog = Watchdog()
        m.d.comb += [watchdog.limit.eq(self.limit), watchdog.running.eq(self.busy),
                     watchdog.progress.eq(self.progress | self.en)]
        with m.If(~self.busy):
            m.d.sync += self._reported.eq(0)
        with m.Elif(watchdog.expired):
            m.d.sync += [self._reported.eq(1), self.done.eq(1)]
            with m.If(self._phase != Phase.STOP):
                self._fail(m, RunError.WATCHDOG, self.bank)

    def _host(self, m: Module) -> None:
        """Commands that count in any phase, and the clock cycles of the phases."""
        with m.If(self.busy & self.start):
            m.d.sync += self.start_ignored.eq(1)
        with m.If(self.clear):
            m.d.sync += self.start_ignored.eq(0)
            with m.If(self.busy & (self._phase != Phase.STOP)):
                self._fail(m, RunError.ABORTED)
            with m.Elif(~self.busy & ~self.start):
                m.d.sync += [self.done.eq(0), self.error.eq(RunError.NONE)]
        loading = Cat(self._phase == phase for phase in (Phase.CLEAR, Phase.LOAD, Phase.SETTLE)).any()
        running = Cat(self._phase == phase for phase in (Phase.FLUSH, Phase.RUN, Phase.DRAIN)).any()
        with m.If(loading):
            m.d.sync += self.load_cycles.eq(self.load_cycles + 1)
        with m.If(running):
            m.d.sync += self.wall_cycles.eq(self.wall_cycles + 1)

    def _describe(self, m: Module) -> None:
        """Phase, what it waits for, and which bank; after an error the phase and the bank where it came up.

        These are registers: nobody needs them in the same cycle, and they are the end of long paths.
        """
        blocked, pending = self.blocked, ~self.complete
        waiting, bank = Signal(Waiting), Signal(COLUMN_BITS, init=NO_BANK)
        with m.If(self._phase == Phase.LOAD):
            m.d.comb += waiting.eq(Waiting.CONFIGURATION)
        with m.Elif((self._phase == Phase.RUN) & blocked.any()):
            m.d.comb += bank.eq(_lowest(blocked))
            output = (blocked & -blocked & self.output).any()
            m.d.comb += waiting.eq(Mux(output, Waiting.OUTPUT_BANK, Waiting.INPUT_BANK))
        with m.Elif((self._phase == Phase.DRAIN) & pending.any()):
            m.d.comb += [bank.eq(_lowest(pending)), waiting.eq(Waiting.WRITE_BACK)]
        with m.Elif(self._phase == Phase.STOP):
            m.d.comb += waiting.eq(Waiting.MEMORY)
        failed = self.error != RunError.NONE
        m.d.sync += [
            self.waiting.eq(waiting),
            self.phase.eq(Mux(failed, self._failed_phase, self._phase)),
            self.bank.eq(Mux(failed, self._failed_bank, bank)),
        ]


def settle_cycles(spec: FabricSpec) -> int:
    """Enough for the last configuration word to arrive, or for the last cycle's conflict to come back."""
    return max(spec.config_latency, EN_LATENCY + spec.rows + 6)


def _lowest(flags: Value) -> Value:
    """Number of the lowest bit that is set."""
    number: Value = Const(len(flags) - 1, COLUMN_BITS)
    for index in reversed(range(len(flags) - 1)):
        number = Mux(flags[index], index, number)
    return number
