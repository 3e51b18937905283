"""A small system for tests of the boards: it copies eight bytes of memory. As a component and as Verilog."""

from amaranth.hdl import ClockDomain, Module, Signal
from amaranth.lib import wiring

from hw.boards.core import system_signature
from hw.designs.directory import DesignImage, OutputRegion, crc32
from hw.designs.system import SystemDesign
from hw.dma.axi import connect_flat
from hw.dma.registers import Field, Register, RegisterMap
from hw.verilog import convert

REGISTERS = RegisterMap("copier", (
    Register("STATUS", 0x10, "read", "state", (Field("error", 8, 8, "code"),)),
    Register("SOURCE", 0x20, "write", "byte address"),
    Register("CODE", 0x24, "write", "error code to end with"),
    Register("GO", 0x28, "write", "starts"),
))  # fmt: skip
WORD = bytes(range(1, 9))


class Copier(wiring.Component):
    """Copies the 8 bytes at SOURCE to address 64 when GO is written, then interrupts. `hang` never interrupts.

    It takes write address and data only together, as a subordinate may.
    """

    def __init__(self, *, hang=False, refuse=None):
        self.hang = hang
        self.refuse = refuse
        super().__init__(system_signature(6))

    def elaborate(self, platform):
        m = Module()
        lite, axi = self.s_axil, self.m_axi
        source, code, word = Signal(32), Signal(8), Signal(64)
        both = lite.aw.valid & lite.w.valid & ~lite.b.valid
        m.d.comb += [
            lite.aw.ready.eq(both),
            lite.w.ready.eq(both),
            lite.r.p.data.eq(code << 8),
            axi.ar.p.addr.eq(source),
            axi.ar.p.size.eq(3),
            axi.ar.p.burst.eq(1),
            axi.aw.p.addr.eq(64),
            axi.aw.p.size.eq(3),
            axi.aw.p.burst.eq(1),
            axi.w.p.data.eq(word),
            axi.w.p.strb.eq(~0),
            axi.w.p.last.eq(1),
        ]
        with m.If(lite.b.ready):
            m.d.sync += lite.b.valid.eq(0)
        with m.If(both):
            m.d.sync += lite.b.valid.eq(1)
            if self.refuse is not None:
                m.d.sync += lite.b.p.resp.eq(self.refuse == lite.aw.p.addr << 1)
        with m.FSM():
            with m.State("IDLE"):
                with m.If(both):
                    with m.Switch(lite.aw.p.addr):
                        with m.Case(0x20):
                            m.d.sync += source.eq(lite.w.p.data)
                        with m.Case(0x24):
                            m.d.sync += code.eq(lite.w.p.data)
                        with m.Case(0x28):
                            m.next = "READ"
            for state, channel, after in (("READ", axi.ar, "DATA"), ("ADDRESS", axi.aw, "WRITE"),
                                          ("WRITE", axi.w, "RESPONSE")):  # fmt: skip
                with m.State(state):
                    m.d.comb += channel.valid.eq(1)
                    with m.If(channel.ready):
                        m.next = after
            with m.State("DATA"):
                m.d.comb += axi.r.ready.eq(1)
                with m.If(axi.r.valid):
                    m.d.sync += word.eq(axi.r.p.data)
                    m.next = "ADDRESS"
            with m.State("RESPONSE"):
                m.d.comb += axi.b.ready.eq(1)
                with m.If(axi.b.valid):
                    m.next = "END"
            with m.State("END"):
                m.d.comb += [self.irq.eq(int(not self.hang)), lite.ar.ready.eq(1)]
                with m.If(lite.ar.valid):
                    m.next = "TELL"
            with m.State("TELL"):
                m.d.comb += [self.irq.eq(int(not self.hang)), lite.r.valid.eq(1)]
                with m.If(lite.r.ready):
                    m.next = "END"
        return m


IMAGE = DesignImage(
    name="copy",
    array="1x1",
    configuration=(),
    plan=(("SOURCE", 16), ("CODE", 0), (0x28, 1)),
    memory=((16, WORD), (64, b"\xaa" * 16)),
    outputs=(OutputRegion("copy", 65, 6, crc32(WORD[1:7])), OutputRegion("unknown", 80, 8)),
    memory_bytes=128,
)


def copier_design(image=IMAGE):
    """The copier as a design whose system is Verilog with flat ports, in a module called copier."""
    copier = Copier()
    m = Module()
    m.domains.sync = domain = ClockDomain("sync")
    m.submodules.inner = copier
    irq = Signal(name="irq")
    m.d.comb += irq.eq(copier.irq)
    ports = [*connect_flat(m, copier.m_axi, "m_axi", manager=True),
             *connect_flat(m, copier.s_axil, "s_axil", manager=False), irq, domain.clk, domain.rst]  # fmt: skip
    text = convert(m, "copier", ports=ports)
    return SystemDesign(image=image, registers=REGISTERS, module="copier", sources={"copier.v": text})
