"""Boot sequencer, self-check and the whole core of a board around a small system that copies memory."""

import dataclasses

import pytest
from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.sim import Simulator

from hw.boards.core import BoardCore, resolve_plan, system_signature
from hw.designs.directory import DesignImage, OutputRegion, crc32
from hw.dma.registers import Field, Register, RegisterError, RegisterMap

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


def lights(image=IMAGE, *, cycles=300, **system):
    """The status lights at the end, and the cycle in which the core was done."""
    core = BoardCore(Copier(**system), image, REGISTERS, timeout=100, heartbeat_bits=3)
    simulator = Simulator(core)
    simulator.add_clock(1e-6)
    result = {}

    async def bench(ctx):
        result["busy"] = ctx.get(core.busy)
        for cycle in range(cycles):
            if ctx.get(core.done):
                result.setdefault("cycle", cycle)
            await ctx.tick()
        result["lit"] = {name for name in ("busy", "done", "error", "passed") if ctx.get(getattr(core, name))}

    simulator.add_testbench(bench)
    simulator.run()
    assert result["busy"] == 1
    return result["lit"]


def test_right_result_passes():
    assert lights() == {"done", "passed"}


def test_two_outputs():
    outputs = (*IMAGE.outputs, OutputRegion("first", 64, 1, crc32(WORD[:1])))
    assert lights(dataclasses.replace(IMAGE, outputs=outputs)) == {"done", "passed"}


@pytest.mark.parametrize("bad", [0, 1])
def test_wrong_result_of_either_output_fails(bad):
    outputs = [OutputRegion("a", 64, 3, crc32(WORD[:3])), OutputRegion("b", 67, 5, crc32(WORD[3:]))]
    outputs[bad] = dataclasses.replace(outputs[bad], crc32=outputs[bad].crc32 ^ 1)
    assert lights(dataclasses.replace(IMAGE, outputs=tuple(outputs))) == {"done", "error"}


def test_results_from_before_do_not_pass():
    """The right result is in memory already; the run copies another word. Only clearing shows the difference."""
    stale = dataclasses.replace(IMAGE, memory=((16, WORD), (64, WORD)), plan=(("SOURCE", 0), ("GO", 1)))
    assert lights(stale) == {"done", "error"}


def test_error_code_lights_the_error():
    failing = dataclasses.replace(IMAGE, plan=(("SOURCE", 16), ("CODE", 4), ("GO", 1)))
    assert lights(failing) == {"done", "error"}


def test_refused_write_lights_the_error():
    assert lights(refuse=0x24 << 1) == {"done", "error"}


def test_hang_lights_the_error():
    assert lights(hang=True) == {"done", "error"}


def test_nothing_to_check_never_passes():
    assert lights(dataclasses.replace(IMAGE, outputs=())) == {"done"}


def test_unknown_register():
    with pytest.raises(RegisterError, match=r"^there is no register 'NONE' in copier$"):
        resolve_plan(REGISTERS, dataclasses.replace(IMAGE, plan=(("NONE", 0),)))
