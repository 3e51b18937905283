"""Tiles on both simulators: every source of every switch, and random configurations, with all tracks in view."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from array_patterns import random_tile
from fabric_model import TileModel, Track

from hw.fabric.array import TILE_MODULES, emit_tiles
from hw.fabric.config import TileConfig
from hw.fabric.routing import Network, Side, connection_sources, core_inputs, switch_sources
from hw.fabric.spec import FabricSpec, TileKind
from hw.pe import PeConfig
from hw.sim.bench import run_bench

SPEC = FabricSpec.parse("1x4")
TRACKS = [(network, side, track) for network in Network for side in Side for track in range(SPEC.tracks)]


def ports(values: dict[Track, int]) -> dict[str, int]:
    """Values of tracks as values of a tile's ports, without their direction."""
    result: dict[str, int] = {}
    for (network, side, track), value in values.items():
        if network is Network.WORD:
            result[f"word_{side.name.lower()}{track}"] = value
        else:
            result[f"bit_{side.name.lower()}"] = result.get(f"bit_{side.name.lower()}", 0) | value << track
    return result


def every_switch(kind: TileKind) -> list[TileConfig]:
    """Source number k of every outgoing track, for every k."""
    configs = []
    for number in range(5):
        switches = {}
        for network, side, track in TRACKS:
            sources = switch_sources(SPEC, kind, network, side, track)
            switches[network, side, track] = sources[number % len(sources)]
        configs.append(TileConfig(switches, core=PeConfig("pass") if kind is TileKind.PE else None))
    return configs


def every_connection() -> list[TileConfig]:
    """Every track into every input of a processing element, with every delay, seen through mad and lut3."""
    configs = []
    for number in range(20):
        for op in ("mad", "lut3"):
            switches = {key: switch_sources(SPEC, TileKind.PE, *key)[3] for key in TRACKS}
            connections, delays = {}, {}
            for network in Network:
                for index, port in enumerate(core_inputs(SPEC, TileKind.PE, network)):
                    sources = connection_sources(SPEC, network)
                    connections[port] = sources[(number + 7 * index) % len(sources)]
                    delays |= {port: delay} if (delay := (number + 5 * index) % SPEC.delay_depth) else {}
            configs.append(TileConfig(switches, connections, delays, PeConfig(op, table=0x96)))
    return configs


def runs(kind: TileKind, configs: list[TileConfig], length: int) -> list[dict[str, Any]]:
    """The configurations one after the other, with random tracks, in step with the model."""
    model = TileModel(SPEC, kind)
    rng = random.Random(4)
    result = []
    for number, config in enumerate(configs):
        model.config = config
        cycles = []
        for _ in range(length):
            incoming = {key: rng.getrandbits(16 if key[0] is Network.WORD else 1) for key in TRACKS}
            cycles.append([ports(incoming), ports(model.tracks)])
            model.step(incoming)
        words = [[0, *key, data] for key, data in config.words(SPEC, kind).items()]
        result.append({"name": f"configuration {number}", "words": words, "cycles": cycles})
    return result


@pytest.mark.parametrize("kind", TileKind)
def test_tile(kind: TileKind, simulator: str) -> None:
    rng = random.Random(8)
    configs = [*every_switch(kind), *(random_tile(rng, SPEC, kind) for _ in range(12))]
    data = runs(kind, configs, 8)
    if kind is TileKind.PE:
        data = runs(kind, [*configs, *every_connection()], 22)
    name = TILE_MODULES[kind]
    sources = {f"{name}.v": emit_tiles(SPEC)[f"{name}.v"]}
    run_bench(sources, name, Path(__file__).with_name("tile_bench.py"), simulator=simulator, data=data, seed=6)
