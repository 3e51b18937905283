"""The banks of an SDRAM by a solver: whatever is asked for in whatever order, no command is allowed too early.

Bounded model checking from reset over `DEPTH` cycles, longer than any row's way from its opening to the next one. The
contract counts for itself how long it is since each command. With a cycle less for any of the times it is broken.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from amaranth.hdl import Array, Cat, Module, Mux, Signal, Value
from amaranth.lib.wiring import In
from formal import Contract, Together, prove

from hw.sdram.banks import Banks
from hw.sdram.chip import CHIPS, SdramChip, SdramCycles

DEPTH = 14
CHIP = SdramChip("small", 1, 4, 16, CHIPS["IS42S16160G"].times)
RIGHT = SdramCycles(rcd=2, rp=2, ras=4, rc=7, rrd=3, wr=3, rfc=4, mrd=2, startup=1, refresh=100, latency=3)
TIMES = ("rcd", "rp", "ras", "rc", "rrd", "wr")
LONG_AGO = 15


class BanksProof(Contract):
    """Commands are issued when they are wanted and allowed."""

    def __init__(self, cycles: SdramCycles):
        self._cycles = cycles
        super().__init__({"bank": In(2), "row": In(1), "open": In(1), "close": In(1), "access": In(1), "write": In(1),
                          "close_all": In(1)})

    def state(self, m: Module) -> None:
        m.submodules.dut = dut = Banks(CHIP, self._cycles)
        is_open = Array(Signal(name=f"is_open{k}") for k in range(4))
        rows = Array(Signal(name=f"row{k}") for k in range(4))
        opened, closed, accessed = (Signal(name=name) for name in ("opened", "closed", "accessed"))
        all_closed = Signal()
        m.d.comb += [
            dut.bank.eq(self.bank), dut.row.eq(self.row),
            all_closed.eq(self.close_all & dut.may_close_all),
            opened.eq(self.open & dut.may_open & ~is_open[self.bank] & ~all_closed),
            closed.eq(self.close & dut.may_close & is_open[self.bank] & ~all_closed),
            accessed.eq(self.access & dut.hit & dut.may_access & ~opened & ~closed & ~all_closed),
            dut.opened.eq(opened), dut.closed.eq(closed), dut.closed_all.eq(all_closed),
            dut.written.eq(accessed & self.write),
        ]
        any_opened = self._since(m, "any", opened)
        since = {name: [] for name in ("opened", "closed", "written")}
        for k in range(4):
            here = self.bank == k
            since["opened"].append(self._since(m, f"opened{k}", opened & here))
            since["closed"].append(self._since(m, f"closed{k}", (closed & here) | (all_closed & is_open[k])))
            since["written"].append(self._since(m, f"written{k}", accessed & self.write & here))
            with m.If(opened & here):
                m.d.sync += [is_open[k].eq(1), rows[k].eq(self.row)]
            with m.Elif((closed & here) | all_closed):
                m.d.sync += is_open[k].eq(0)
        age = {name: Array(ages)[self.bank] for name, ages in since.items()}
        self._judge(m, dut, age, any_opened, opened, closed, accessed)
        self.must(m, ~dut.hit | (is_open[self.bank] & (rows[self.bank] == self.row)), "a row that is not open is hit")
        right = RIGHT
        for k in range(4):
            ready = (since["opened"][k] >= right.ras) & (since["written"][k] >= right.wr)
            self.must(m, ~all_closed | ~is_open[k] | ready, "all are closed too early")
        self.must(m, dut.all_closed == ~Cat(*is_open).any(), "what is open is not known")

    def _judge(self, m: Module, dut: Banks, age: dict[str, Value], any_opened: Value, opened: Value, closed: Value,
               accessed: Value) -> None:
        right = RIGHT
        self.must(m, ~accessed | (age["opened"] >= right.rcd), "tRCD")
        self.must(m, ~opened | (age["closed"] >= right.rp), "tRP")
        self.must(m, ~opened | (age["opened"] >= right.rc), "tRC")
        self.must(m, ~opened | (any_opened >= right.rrd), "tRRD")
        self.must(m, ~closed | (age["opened"] >= right.ras), "tRAS")
        self.must(m, ~closed | (age["written"] >= right.wr), "tWR")

    def _since(self, m: Module, name: str, event: Value) -> Signal:
        """Cycles since the event, as far as they count."""
        count = Signal(range(LONG_AGO + 1), init=LONG_AGO, name=f"since_{name}")
        m.d.sync += count.eq(Mux(event, 1, Mux(count == LONG_AGO, LONG_AGO, count + 1)))
        return count


def test_nothing_is_allowed_too_early(tmp_path: Path) -> None:
    assert not prove(tmp_path, Together({"banks": BanksProof(RIGHT)}), DEPTH)


def test_a_cycle_less_is_refuted(tmp_path: Path) -> None:
    """For each of the times; one run breaks all of the contracts."""
    wrong = {name: BanksProof(replace(RIGHT, **{name: getattr(RIGHT, name) - 1})) for name in TIMES}
    assert not prove(tmp_path, Together(wrong, refuted=True), DEPTH + 4, mode="cover")
