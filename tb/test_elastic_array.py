"""The ready-valid array on both simulators: words arrive in order and unchanged, whoever waits for whom and when."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
from array_patterns import Routes

import compiler
from compiler.bind.cgra.elastic.design import ElasticDesign
from compiler.cli.input_files import random_inputs
from compiler.frontend.apps import load
from compiler.ir.interpret import interpret
from compiler.ir.program import Program
from hw.fabric.array import emit_array
from hw.fabric.bank_config import BankConfig
from hw.fabric.routing import CoreInput, CoreOutput, Network, Side, StreamSink, StreamSource, Wire
from hw.fabric.spec import FabricSpec
from hw.memtile import MemTileSpec
from hw.pe import PeConfig
from hw.sim.bench import run_bench

SPEC = FabricSpec(2, 4, mem=MemTileSpec(kind="buffet"), protocol="ready-valid")


def a_run(name: str, words: list[tuple[int, int]], send: dict[int, list[int]], expected: dict[int, list[int | None]],
          patience: float, cycles: int) -> dict[str, Any]:
    limit = 60 * max(map(len, [*send.values(), *expected.values()])) + 500
    return {"name": name, "words": [list(word) for word in words], "send": send, "expected": expected,
            "patience": patience, "limit": limit, "cycles": cycles}


def words(count: int, seed: int) -> list[int]:
    rng = random.Random(seed)
    return [rng.getrandbits(16) for _ in range(count)]


def forks(patience: float) -> dict[str, Any]:
    """A stream that goes to three places at once: a - 3 * a of two tokens before, and a as it is, by a far corner."""
    routes = Routes(SPEC)
    routes.tile(0, 0).core = PeConfig("mul", constants=(None, 3, None))
    routes.tile(1, 2).core = PeConfig("sub")
    routes.connect(StreamSource(0), CoreInput(0, 0, "word0"), delay=2)
    routes.connect(StreamSource(0), CoreInput(1, 2, "word0"))
    routes.connect(CoreOutput(0, 0, "word0"), CoreInput(1, 2, "word1"))
    routes.connect(CoreOutput(1, 2, "word0"), StreamSink(1))
    routes.connect(StreamSource(0), StreamSink(3), via=Wire(1, 3, Network.WORD, Side.N, 2))
    a = words(80, 1)
    differences = [None, None, *((x - 3 * y) % 65536 for x, y in zip(a[2:], a, strict=False))]
    return a_run("forks", routes.config().words(SPEC), {0: a}, {1: differences, 3: list(a)}, patience, len(a) + 30)


def choice(patience: float) -> dict[str, Any]:
    """Bits and words that wait for each other: the smaller of two streams of their own timing."""
    routes = Routes(SPEC)
    routes.tile(0, 1).core = PeConfig("lt")
    routes.tile(1, 1).core = PeConfig("select")
    for unit in ((0, 1), (1, 1)):
        routes.connect(StreamSource(0), CoreInput(*unit, "word0"))
        routes.connect(StreamSource(2), CoreInput(*unit, "word1"))
    routes.connect(CoreOutput(0, 1, "bit0"), CoreInput(1, 1, "bit0"))
    routes.connect(CoreOutput(1, 1, "word0"), StreamSink(3))
    a, b = words(60, 2), words(60, 3)
    smaller = [min(pair) for pair in zip(a, b, strict=True)]
    return a_run("choice", routes.config().words(SPEC), {0: a, 2: b}, {3: list(smaller)}, patience, len(a) + 30)


def application(program: Program, patience: float) -> dict[str, Any]:
    """A compiled program whose whole input is one tile."""
    design = compiler.compile(program, memory="buffet", array=str(SPEC))
    assert isinstance(design, ElasticDesign)
    inputs = random_inputs(program, 3)
    values = inputs | interpret(program, inputs)
    columns = {name: design.physical.placement[unit].column
               for name, unit in (design.application.streams_in | design.application.streams_out).items()}
    send: dict[int, list[int]] = {}
    expected: dict[int, list[int | None]] = {}
    for name, column in columns.items():
        bank = design.config.banks[column]
        flat = (values[name].ravel() & 0xFFFF).tolist()
        if bank.direction == "input":
            send[column] = [word or 0 for word in tokens(bank, flat)] + [0] * 200
        else:
            expected[column] = tokens(bank, flat)
    # Here nothing comes before or after the edge of the array: a bank takes a cycle more on each side.
    return a_run(program.name, design.words, send, expected, patience, design.predicted_cycles)


def tokens(bank: BankConfig, data: list[int]) -> list[int | None]:
    """The stream of a bank with a tile of `data`."""
    stream: list[int | None] = [None] * (bank.nest.last_time + 1)
    places = bank.nest.evaluate(bank.nest.addresses[0])
    for time, place in zip(bank.nest.times().tolist(), places.tolist(), strict=True):
        stream[time] = data[place]
    return stream


def test_elastic_array(simulator: str) -> None:
    program = load("brighten_blur", tiles=1, size=21)
    data = [make(patience) for patience in (0.0, 0.5) for make in (forks, choice)]
    data += [application(program, patience) for patience in (0.0, 0.4)]
    assert len(np.unique([word for word in data[0]["expected"][1] if word is not None])) > 50
    bench = Path(__file__).with_name("elastic_array_bench.py")
    run_bench(emit_array(SPEC), "cgra_array", bench, simulator=simulator, data=data, seed=3)
