"""Boot sequencer, self-check and the whole core of a board around a small system that copies memory."""

import dataclasses

import pytest
from amaranth.sim import Simulator
from board_copier import IMAGE, REGISTERS, WORD, Copier

from hw.boards.core import BoardCore, resolve_plan
from hw.designs.directory import OutputRegion, crc32
from hw.dma.registers import RegisterError


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
