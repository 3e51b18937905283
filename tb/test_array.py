"""The array on both simulators: exact latencies of routes and units, stalls, and random configurations."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from array_patterns import Routes, random_array, random_routes
from fabric_model import ArrayModel
from memtile_patterns import delay_line

from hw.fabric.array import emit_array
from hw.fabric.config import ArrayConfig
from hw.fabric.connection_box import INPUT_LATENCY
from hw.fabric.routing import CoreInput, CoreOutput, Network, Side, StreamSink, StreamSource, Wire
from hw.fabric.spec import IO_INPUT_LATENCY, IO_OUTPUT_LATENCY, FabricSpec
from hw.memtile import MemTileSpec, PubConfig
from hw.memtile.model import simulate
from hw.pe import PE_LATENCY, PeConfig
from hw.sim.bench import run_bench

SPEC = FabricSpec.parse("4x4")
Expected = list[list[int | None]]


def streams(cycles: int, seed: int) -> list[list[int]]:
    rng = random.Random(seed)
    return [[rng.getrandbits(16) for _ in range(SPEC.columns)] for _ in range(cycles)]


def run(name: str, config: ArrayConfig, words: list[list[int]], expected: Expected, stalls: float) -> dict[str, Any]:
    image = [list(pair) for pair in config.words(SPEC)]
    return {"name": name, "words": image, "streams": words, "expected": expected, "stalls": stalls}


def expect(words: list[list[int]], column: int, function: Callable[[Callable[[int, int], int]], int],
           history: int) -> Expected:  # fmt: skip
    """Rows of expected words: in `column`, `function` of ``at(stream, cycles ago)``, from cycle `history` on."""
    rows: Expected = [[None] * SPEC.columns for _ in words]
    for cycle in range(history, len(words)):
        rows[cycle][column] = function(lambda stream, ago, cycle=cycle: words[cycle - ago][stream])
    return rows


def passing(stalls: float) -> dict[str, Any]:
    """A stream through the far corner: only hops and edge registers."""
    routes = Routes(SPEC)
    corner = Wire(3, 3, Network.WORD, Side.N, 2)
    hops = routes.connect(StreamSource(0), StreamSink(1), via=corner)
    assert hops > 9
    words = streams(60, 1)
    latency = IO_INPUT_LATENCY + hops + IO_OUTPUT_LATENCY
    return run("passing", routes.config(), words, expect(words, 1, lambda at: at(0, latency), latency), stalls)


def every_delay(stalls: float) -> list[dict[str, Any]]:
    """a - b with every delay of b, four of them side by side, one for each stream."""
    places = [(0, 0), (1, 1), (2, 2), (3, 0)]
    return [differences(dict(zip(places, range(first, first + len(places)), strict=True)), stalls)
            for first in range(0, SPEC.delay_depth, len(places))]


def differences(delays: dict[tuple[int, int], int], stalls: float) -> dict[str, Any]:
    """Stream k less stream k + 2 with a delay, in the k-th of some places."""
    routes = Routes(SPEC)
    words = streams(50, sum(delays.values()))
    expected: Expected = [[None] * SPEC.columns for _ in words]
    for stream, (place, delay) in enumerate(delays.items()):
        routes.tile(*place).core = PeConfig("sub")
        other = (stream + 2) % SPEC.columns
        hops = [routes.connect(StreamSource(stream), CoreInput(*place, "word0")),
                routes.connect(StreamSource(other), CoreInput(*place, "word1"), delay=delay)]
        after = routes.connect(CoreOutput(*place, "word0"), StreamSink(stream))
        latency = IO_INPUT_LATENCY + PE_LATENCY + after + IO_OUTPUT_LATENCY
        a, b = latency + hops[0], latency + hops[1] + delay
        for cycle in range(max(a, b), len(words)):
            expected[cycle][stream] = (words[cycle - a][stream] - words[cycle - b][other]) % 65536
    seen = [row[stream] for row in expected for stream in range(len(delays)) if row[stream] is not None]
    assert len(set(seen)) > 20 * len(delays)
    return run(f"delays {[*delays.values()]}", routes.config(), words, expected, stalls)


def chain(stalls: float) -> dict[str, Any]:
    """Word and bit networks: select(a < 1000, a * 3 + b, b), the parts on five different tiles."""
    routes = Routes(SPEC)
    routes.tile(0, 0).core = PeConfig("lt", constants=(None, 1000, None))
    routes.tile(2, 0).core = PeConfig("mul", constants=(None, 3, None))
    routes.tile(2, 2).core = PeConfig("add")
    routes.tile(3, 1).core = PeConfig("lut3", table=0b10101010)
    routes.tile(1, 2).core = PeConfig("select")
    core = PE_LATENCY
    a = IO_INPUT_LATENCY
    compare = a + routes.connect(StreamSource(0), CoreInput(0, 0, "word0")) + core
    product = a + routes.connect(StreamSource(0), CoreInput(2, 0, "word0")) + core
    bit = compare + routes.connect(CoreOutput(0, 0, "bit0"), CoreInput(3, 1, "bit0")) + core
    # Every sum and choice takes a value of stream 0 and the stream 1 of its own moment: their ages, in cycles.
    total = product + routes.connect(CoreOutput(2, 0, "word0"), CoreInput(2, 2, "word0")) + core
    b = a + routes.connect(StreamSource(1), CoreInput(2, 2, "word1"), delay=2) + 2 + core
    wait = 3
    chosen = total + routes.connect(CoreOutput(2, 2, "word0"), CoreInput(1, 2, "word0")) + core
    bit += routes.connect(CoreOutput(3, 1, "bit0"), CoreInput(1, 2, "bit0"), delay=wait) + wait + core
    other = a + routes.connect(StreamSource(1), CoreInput(1, 2, "word1")) + core
    end = routes.connect(CoreOutput(1, 2, "word0"), StreamSink(2)) + IO_OUTPUT_LATENCY
    words = streams(100, 5)
    for row in words:
        row[0] %= 2000
    b += chosen - total

    def result(at: Callable[[int, int], int]) -> int:
        if at(0, bit + end) < 1000:
            return (at(0, chosen + end) * 3 + at(1, b + end)) % 65536
        return at(1, other + end)

    expected = expect(words, 2, result, max(bit, chosen, b, other) + end)
    return run("chain", routes.config(), words, expected, stalls)


def memory(stalls: float, spec: MemTileSpec = SPEC.mem) -> dict[str, Any]:
    """Two delay lines of a memory tile; its controllers wait until the first word is there."""
    pattern = delay_line(spec.kind, delay=16, count=64)
    assert isinstance(pattern.config, PubConfig)
    routes = Routes(SPEC)
    hops = routes.connect(StreamSource(2), CoreInput(1, 3, "in0"), delay=1)
    ends = [routes.connect(CoreOutput(1, 3, f"out{port}"), StreamSink(port)) for port in range(2)]
    arrival = IO_INPUT_LATENCY + hops + INPUT_LATENCY + 1
    config = routes.tile(1, 3).core = later(pattern.config, arrival)
    cycles = pattern.data_in.shape[1] + arrival + 20
    words = streams(cycles, 9)
    data = np.zeros((2, cycles), dtype=np.int64)
    data[0, arrival:] = [row[2] for row in words[: cycles - arrival]]
    outputs = simulate(config, spec, data).data_out
    expected: Expected = [[None] * SPEC.columns for _ in words]
    for port, end in enumerate(ends):
        for cycle in range(arrival + 40, cycles):
            expected[cycle][port] = int(outputs[port, cycle - end - IO_OUTPUT_LATENCY])
    return run("memory", routes.config(), words, expected, stalls)


def later(config: PubConfig, cycles: int) -> PubConfig:
    """The same with all events `cycles` later."""

    def port(item: Any, *names: str) -> Any:
        nests = {name: getattr(item, name) for name in names}
        return replace(item, **{n: replace(nest, time_offset=nest.time_offset + cycles) for n, nest in nests.items()})

    return replace(
        config,
        inputs=tuple(item and port(item, "write", "store") for item in config.inputs),
        outputs=tuple(item and port(item, "fetch", "read") for item in config.outputs),
    )


def at_random(configs: list[ArrayConfig], cycles: int) -> list[dict[str, Any]]:
    """Configurations one after the other, in step with the model of the whole array."""
    model = ArrayModel(SPEC)
    rng = random.Random(2)
    runs = []
    for number, config in enumerate(configs):
        model.configure(config)
        words = streams(cycles, number)
        expected: Expected = [[*model.step(row)] for row in words]
        runs.append(run(f"random {number}", config, words, expected, rng.choice([0.0, 0.3])))
    return runs


def simulate_runs(runs: list[dict[str, Any]], simulator: str) -> None:
    bench = Path(__file__).with_name("array_bench.py")
    run_bench(emit_array(SPEC), "cgra_array", bench, simulator=simulator, data=runs, seed=3)


def test_latencies_are_exact(simulator: str) -> None:
    """Everything without and with stalls."""
    simulate_runs([item for stalls in (0.0, 0.4)
                   for item in [passing(stalls), *every_delay(stalls), chain(stalls), memory(stalls)]], simulator)


def test_random_configurations(simulator: str) -> None:
    rng = random.Random(11)
    configs = [random_routes(rng, SPEC, elements=10) for _ in range(8)]
    configs[4:4] = [random_array(rng, SPEC) for _ in range(4)]
    data = at_random(configs, 100)
    # What is seen must change, or nothing would be tested.
    alive = [len({row[column] for row in item["expected"]}) > 20 for item in data for column in range(SPEC.columns)]
    assert sum(alive) >= 12
    simulate_runs(data, simulator)
