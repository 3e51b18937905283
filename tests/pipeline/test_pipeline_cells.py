"""Random nets of cells: the hardware gives what the emulator gives, run after run, whatever the stalls."""

from __future__ import annotations

import random

import numpy as np
import pytest
from amaranth.sim import Simulator
from pipeline_emulator import run_pipeline

from hw.labels import Label
from hw.pipeline.pipeline import Pipeline
from hw.pipeline.spec import (
    BufferCell,
    ConstantCell,
    CounterCell,
    InputCell,
    Level,
    LineCell,
    MergeCell,
    OperatorCell,
    OutputCell,
    PipelineError,
    PipelineSpec,
    Tap,
    Walk,
    Word,
)

BYTE, WORD = Word(8, False), Word(16, True)
EVERY = Walk(0, (Level(40, 1),))


def every_kind() -> PipelineSpec:
    """All kinds of cells, two delay lines of one depth, a buffer that is read at another rate than it is written, a sum
    that starts again with every fifth word."""
    read = Walk(9, (Level(4, 1, (0, 1)), Level(8, 2, (1,))), 6)
    return PipelineSpec("kinds", (
        InputCell("a", BYTE, EVERY),
        InputCell("b", WORD, EVERY),
        ConstantCell(-3, WORD),
        LineCell(Tap(0, 1), BYTE, 7),
        LineCell(Tap(1), WORD, 7),
        OperatorCell("mul", (Tap(3), Tap(2)), (WORD, WORD), WORD, 2),
        OperatorCell("add", (Tap(5, 1), Tap(4, 2)), (WORD, WORD), WORD, 1),
        BufferCell(Tap(0, 2), BYTE, 6, Walk(2, (Level(17, 2, (1,)),), 6), read),
        OperatorCell("table", (Tap(7),), (BYTE,), WORD, 2),
        CounterCell(WORD, Walk(3, (Level(40, 1, (1,)),), 1 << 16, 65530)),
        OperatorCell("lt", (Tap(9), Tap(6)), (WORD, WORD), Word(1, False), 1),
        OperatorCell("select", (Tap(10), Tap(8), Tap(6, 1)), (Word(1, False), WORD, WORD), WORD, 3),
        OperatorCell("cast", (Tap(11),), (WORD,), BYTE),
        OutputCell("x", Tap(12, 1), BYTE, Walk(20, (Level(10, 2),))),
        OutputCell("y", Tap(6), WORD, Walk(20, (Level(18, 1),))),
        MergeCell((Tap(2), Tap(16)), WORD, Walk(1, (Level(5, 1, (1,)), Level(7, 1, (1,))), 5), 1),
        OperatorCell("add", (Tap(15), Tap(1, 1)), (WORD, WORD), WORD, 1),
        OutputCell("z", Tap(16), WORD, Walk(2, (Level(35, 1),))),
    ), (tuple(k * 257 % 1000 - 500 for k in range(256)),))


def run_hardware(spec, inputs, runs):
    """Words of the outputs of every run; each but the last is given up in the middle."""
    dut, chance = Pipeline(spec), random.Random(3)
    results = []

    async def bench(ctx):
        for run in range(runs):
            ctx.set(dut.start, 1)
            await ctx.tick()
            ctx.set(dut.start, 0)
            places = [0] * len(spec.inputs)
            given = {cell.name: [] for cell in spec.outputs}
            cycle = 0
            while ctx.get(dut.left) and (run == runs - 1 or cycle < spec.cycles // 2):
                for k, cell in enumerate(spec.inputs):
                    words = inputs[cell.name]
                    ctx.set(getattr(dut, f"i_{k}"), int(words[places[k]]) if places[k] < len(words) else 0)
                enabled = chance.random() < 0.7
                ctx.set(dut.en, enabled)
                if enabled:
                    for k, cell in enumerate(spec.outputs):
                        if ctx.get(dut.give) >> k & 1:
                            given[cell.name].append(ctx.get(getattr(dut, f"o_{k}")))
                    places = [place + (ctx.get(dut.take) >> k & 1) for k, place in enumerate(places)]
                await ctx.tick()
                cycle += enabled
            ctx.set(dut.en, 0)
            results.append((given, cycle))

    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    return results


def test_every_kind_of_cell_in_hardware():
    spec = every_kind()
    generator = np.random.default_rng(8)
    inputs = {"a": generator.integers(0, 256, 40), "b": generator.integers(-(1 << 15), 1 << 15, 40)}
    expected = run_pipeline(spec, inputs)
    _, _, (found, cycles) = run_hardware(spec, inputs, 3)
    assert cycles == spec.cycles
    assert found["x"] == expected["x"].tolist()
    assert found["y"] == expected["y"].tolist()
    groups = inputs["b"][:35].reshape(7, 5).cumsum(axis=1) - 3
    assert found["z"] == expected["z"].tolist() == ((groups.ravel() + (1 << 15)) % (1 << 16) - (1 << 15)).tolist()


def test_impossible_pipelines():
    with pytest.raises(PipelineError, match="cell 1 of pipeline p uses Tap"):
        PipelineSpec("p", (InputCell("a", BYTE, EVERY), OutputCell("x", Tap(1), BYTE, EVERY)))
    turns = Walk(0, (Level(40, 1, (1,)),), 2)
    with pytest.raises(PipelineError, match="pipeline p has a loop without a register: cells 0, 1"):
        PipelineSpec("p", (MergeCell((Tap(1), Tap(0, 1)), BYTE, turns, 1),
                           OperatorCell("cast", (Tap(0),), (BYTE,), BYTE), OutputCell("x", Tap(1), BYTE, EVERY)))
    with pytest.raises(PipelineError, match=r"a merge that changes over at address 2 of 0\.\.1 always takes the same"):
        MergeCell((Tap(0), Tap(1)), BYTE, turns, 2)
    with pytest.raises(PipelineError, match=r"^pipeline p has 2 cells and 1 labels$"):
        PipelineSpec("p", (InputCell("a", BYTE, EVERY), OutputCell("x", Tap(0), BYTE, EVERY)), (), (Label("a"),))
    with pytest.raises(PipelineError, match="pipeline p has no output"):
        PipelineSpec("p", (InputCell("a", BYTE, EVERY),))
    with pytest.raises(PipelineError, match="a delay line in memory has at least 4 cycles, not 3"):
        LineCell(Tap(0), BYTE, 3)
    with pytest.raises(PipelineError, match="a buffer of 6 words has walks over 1 and 1"):
        BufferCell(Tap(0), BYTE, 6, EVERY, EVERY)
