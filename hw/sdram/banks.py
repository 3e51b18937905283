"""What is open in each bank of an SDRAM, and what each has to wait for."""

from __future__ import annotations

from amaranth.hdl import Array, Cat, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hw.sdram.chip import SdramChip, SdramCycles

__all__ = ["Banks"]


class Banks(wiring.Component):
    """Follows the commands to a chip, and says which are allowed now.

    Ports:
        bank, row: what is asked about. hit: that row is open. is_open: any row of the bank is.
        may_access, may_close, may_open: times allow a read or write, a row's closing, its opening in the bank.
        all_closed, may_close_all, may_refresh: of all banks; a refresh needs all of them closed.
        opened, closed, written, closed_all: the command of this cycle, for `bank`.
    """

    def __init__(self, chip: SdramChip, cycles: SdramCycles):
        self._chip = chip
        self._cycles = cycles
        names = ("hit", "is_open", "may_access", "may_close", "may_open", "all_closed", "may_close_all", "may_refresh")
        super().__init__({"bank": In(chip.bank_bits), "row": In(chip.row_bits)}
                         | {name: Out(1) for name in names}
                         | {name: In(1) for name in ("opened", "closed", "written", "closed_all")})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        cycles, count = self._cycles, 1 << self._chip.bank_bits
        rows = Array(Signal(self._chip.row_bits, name=f"row{k}") for k in range(count))
        open_banks = Signal(count)
        to_access, to_close, to_open = [], [], []
        for k in range(count):
            here = self.bank == k
            opened, written = here & self.opened, here & self.written
            closed = (here & self.closed) | self.closed_all
            with m.If(opened):
                m.d.sync += [rows[k].eq(self.row), open_banks[k].eq(1)]
            with m.Elif(closed):
                m.d.sync += open_banks[k].eq(0)
            to_access.append(_wait(m, f"access{k}", [(opened, cycles.rcd)]))
            to_close.append(_wait(m, f"close{k}", [(opened, cycles.ras), (written, cycles.wr)]))
            to_open.append(_wait(m, f"open{k}", [(opened, cycles.rc), (closed, cycles.rp)]))
        others = _wait(m, "others", [(self.opened, cycles.rrd)])
        m.d.comb += [
            self.is_open.eq(open_banks.bit_select(self.bank, 1)),
            self.hit.eq(self.is_open & (rows[self.bank] == self.row)),
            self.may_access.eq(_chosen(to_access, self.bank)),
            self.may_close.eq(_chosen(to_close, self.bank)),
            self.may_open.eq(_chosen(to_open, self.bank) & others),
            self.all_closed.eq(open_banks == 0),
            self.may_close_all.eq(Cat(to_close).all()),
            self.may_refresh.eq(Cat(to_open).all()),
        ]
        return m


def _wait(m: Module, name: str, causes: list[tuple[Value, int]]) -> Signal:
    """High when it is so many cycles since each of the causes; of those that do not end one another's time, the later
    end counts."""
    most = max(time for _, time in causes)
    left, over = Signal(range(most + 1), name=f"{name}_left"), Signal(name=f"{name}_over", init=1)
    rest = Mux(left == 0, 0, left - 1)
    follow: Value = rest
    for cause, time in causes:
        follow = Mux(cause, Mux(rest > time - 1, rest, time - 1), follow)
    coming = Signal.like(left, name=f"{name}_coming")
    m.d.comb += coming.eq(follow)
    m.d.sync += [left.eq(coming), over.eq(coming == 0)]
    return over


def _chosen(flags: list[Signal], index: Value) -> Value:
    return Cat(flags).bit_select(index, 1)
