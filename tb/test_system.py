"""The whole system as Verilog on both simulators: memory -> bank -> array -> bank -> memory, several tiles."""

from __future__ import annotations

import dataclasses
import struct
from itertools import pairwise

import networkx
import numpy as np
import pytest

from hw.dma.descriptor import DmaDescriptor, DmaLevel
from hw.fabric.bank_config import BankConfig
from hw.fabric.config import ArrayConfig, IoConfig, TileConfig
from hw.fabric.control_registers import control_registers
from hw.fabric.driver import RunFailure, RunPlan, check_status, describe_wait
from hw.fabric.image import configuration_image, image_length
from hw.fabric.routing import CoreInput, CoreOutput, StreamSink, StreamSource, Wire, routing_graph
from hw.fabric.spec import GLB_INPUT_LATENCY, IO_OUTPUT_LATENCY, FabricSpec, GlobalBufferSpec
from hw.fabric.status import RunError
from hw.fabric.system import SYSTEM_MODULE, emit_system
from hw.memtile import Affine, AffineNest
from hw.pe.config import PeConfig
from hw.sim.simulate import Job, SimulationTimeout, StallProfile, run_job

SPEC = FabricSpec(2, 4, glb=GlobalBufferSpec(half_words=256))
REGISTERS = control_registers(SPEC)
MEMORY_BYTES = 1 << 16

ROWS, COLUMNS = 6, 10
"""Shape of a tile in words."""

TILES = (3, 2)
"""Tiles of the image, across and down."""

IMAGE_WIDTH = COLUMNS * TILES[0] + 3
SOURCE, TARGET, CONFIG = 0x1002, 0x4006, 0x8004
ADDEND = 1000


@pytest.fixture(scope="module")
def sources():
    return emit_system(SPEC)


def tile_descriptor(base: int) -> DmaDescriptor:
    """The tiles of an image at `base`, row by row of tiles."""
    pitch = 2 * IMAGE_WIDTH
    return DmaDescriptor(
        base, 2 * COLUMNS, DmaLevel(ROWS, pitch),
        tiles=(DmaLevel(TILES[0], 2 * COLUMNS), DmaLevel(TILES[1], ROWS * pitch)),
    )


class Router:
    """Shortest paths that do not share wires, as the configuration of their tiles."""

    def __init__(self) -> None:
        self.routing = routing_graph(SPEC)
        self.graph = self.routing.networkx.copy()
        self.tiles: dict[tuple[int, int], TileConfig] = {}
        self.ios: dict[int, IoConfig] = {}

    def route(self, before, after) -> int:
        """Configure a path; the result is the number of its wires."""
        path = networkx.shortest_path(self.graph, before, after)
        for previous, node in pairwise(path):
            source = self.routing.source(previous, node)
            if isinstance(node, Wire):
                tile = self.tiles.get((node.row, node.column), TileConfig())
                switches = {**tile.switches, (node.network, node.side, node.track): source}
                self.tiles[node.row, node.column] = dataclasses.replace(tile, switches=switches)
            elif isinstance(node, CoreInput):
                tile = self.tiles.get((node.row, node.column), TileConfig())
                connections = {**tile.connections, node.port: source}
                self.tiles[node.row, node.column] = dataclasses.replace(tile, connections=connections)
            else:
                self.ios[node.column] = IoConfig(source.track)
        wires = [node for node in path if isinstance(node, Wire)]
        self.graph.remove_nodes_from(wires)
        return len(wires)

    def core(self, place, config) -> None:
        tile = self.tiles.get(place, TileConfig())
        self.tiles[place] = dataclasses.replace(tile, core=config)


def tile_nest(first: int, *, transposed: bool = False) -> AffineNest:
    """All words of a tile, one per cycle from `first` on: by rows, or to where the transposed tile has them."""
    if transposed:
        return AffineNest((COLUMNS, ROWS), (1, COLUMNS), first, (Affine((ROWS, 1), 0),))
    return AffineNest((COLUMNS, ROWS), (1, COLUMNS), first, (Affine((1, COLUMNS), 0),))


def bank(direction: str, first: int, **options) -> BankConfig:
    return BankConfig(direction, tile_nest(first, **options), ROWS * COLUMNS, first)


def straight_through(first: int = 0) -> tuple[ArrayConfig, int]:
    """Column 0 to column 3 over switch boxes only; the second result is the latency from bank to bank."""
    router = Router()
    latency = GLB_INPUT_LATENCY + router.route(StreamSource(0), StreamSink(3)) + IO_OUTPUT_LATENCY
    banks = {0: bank("input", first), 3: bank("output", first + latency)}
    return ArrayConfig(router.tiles, router.ios, banks), latency


def through_processing_element() -> tuple[ArrayConfig, int]:
    """Column 1 through an adder to column 2."""
    router = Router()
    place = (1, 1)
    hops = router.route(StreamSource(1), CoreInput(*place, "word0"))
    hops += router.route(CoreOutput(*place, "word0"), StreamSink(2))
    router.core(place, PeConfig("add", constants=(None, ADDEND, None)))
    latency = GLB_INPUT_LATENCY + hops + 2 + IO_OUTPUT_LATENCY
    banks = {1: bank("input", 0), 2: bank("output", latency)}
    return ArrayConfig(router.tiles, router.ios, banks), latency


def image(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 1 << 16, (ROWS * TILES[1], IMAGE_WIDTH), dtype=np.uint16)


def job_of(sources, simulator: str, config: ArrayConfig, columns: tuple[int, int], path: int, **options) -> Job:
    pairs = config.words(SPEC)
    tiles, period = TILES[0] * TILES[1], ROWS * COLUMNS
    banks = {columns[0]: tile_descriptor(SOURCE), columns[1]: tile_descriptor(TARGET)}
    plan = RunPlan(CONFIG, image_length(len(pairs)), period, tiles, tiles * period + path, banks)
    loads = [(CONFIG, configuration_image(pairs)), (SOURCE, image(1).tobytes())]
    status = {name: REGISTERS.address(name) for name in ("STATUS", "DETAIL")}
    return Job(
        sources, SYSTEM_MODULE, MEMORY_BYTES, loads=loads, writes=plan.writes(REGISTERS),
        reads=[REGISTERS.address(name) for name in ("STATUS", "DETAIL", "CYCLES", "STALLS", "LAST_OUTPUT")],
        dumps=[(TARGET, 2 * ROWS * TILES[1] * IMAGE_WIDTH)], simulator=simulator, cycle_limit=100_000,
        expected_cycles=tiles * period, status=status,
        explain=lambda values: describe_wait(REGISTERS, values["DETAIL"]), **{"seed": 1, **options},
    )


def register(result, name: str) -> int:
    return result.registers[REGISTERS.address(name)]


def check_image(result, expected: np.ndarray) -> None:
    """The words of all tiles are `expected`, those between the tiles' right edge and the image's are untouched."""
    written = np.frombuffer(result.dumps[0], dtype=np.uint16).reshape(expected.shape)
    inside = COLUMNS * TILES[0]
    np.testing.assert_array_equal(written[:, :inside], expected[:, :inside])
    assert not written[:, inside:].any()


def check_run(result, latency: int) -> None:
    check_status(REGISTERS, register(result, "STATUS"), register(result, "DETAIL"))
    total = TILES[0] * TILES[1] * ROWS * COLUMNS + latency
    assert register(result, "CYCLES") == total
    assert register(result, "LAST_OUTPUT") == total - 1


STALLS = [
    pytest.param({}, id="fast memory"),
    pytest.param({"seed": 3, "stall": StallProfile.uniform(0.4), "latency": 30}, id="slow memory"),
]


@pytest.mark.parametrize("memory", STALLS)
def test_words_go_straight_through(sources, simulator, memory):
    config, latency = straight_through()
    result = run_job(job_of(sources, simulator, config, (0, 3), latency, **memory))
    check_run(result, latency)
    check_image(result, image(1))


@pytest.mark.parametrize("memory", STALLS)
def test_words_go_through_a_processing_element(sources, simulator, memory):
    config, latency = through_processing_element()
    result = run_job(job_of(sources, simulator, config, (1, 2), latency, **memory))
    check_run(result, latency)
    check_image(result, image(1) + np.uint16(ADDEND))


def test_wrong_latency_gives_wrong_words(sources, simulator):
    """The bench can fail: an output bank one cycle late takes every word's successor."""
    config, latency = straight_through()
    late = dataclasses.replace(config, banks={**config.banks, 3: bank("output", latency + 1)})
    result = run_job(job_of(sources, simulator, late, (0, 3), latency + 1))
    written = np.frombuffer(result.dumps[0], dtype=np.uint16).reshape(image(1).shape)
    np.testing.assert_array_equal(written[:, : COLUMNS - 1], image(1)[:, 1:COLUMNS])


def test_error_of_memory_ends_the_run(sources, simulator):
    config, latency = straight_through()
    fault = SOURCE + 2 * IMAGE_WIDTH * ROWS
    result = run_job(job_of(sources, simulator, config, (0, 3), latency, errors=(fault, fault + 7)))
    with pytest.raises(RunFailure) as caught:
        check_status(REGISTERS, register(result, "STATUS"), register(result, "DETAIL"))
    assert str(caught.value) == "the run ended with error READ_RESPONSE (column 0)"


def test_damaged_configuration_ends_the_run(sources, simulator):
    config, latency = straight_through()
    job = job_of(sources, simulator, config, (0, 3), latency)
    damaged = bytearray(job.loads[0][1])
    struct.pack_into("<I", damaged, 12, struct.unpack_from("<I", damaged, 12)[0] ^ 1 << 9)
    result = run_job(dataclasses.replace(job, loads=[(CONFIG, bytes(damaged)), job.loads[1]]))
    state = REGISTERS.decode("STATUS", register(result, "STATUS"))
    assert state == {"busy": 0, "done": 1, "start_ignored": 0, "error": RunError.CONFIGURATION_CHECKSUM}


def test_hang_names_the_bank(sources, simulator):
    """A run of more cycles than the host waits for, on a memory that is slower than the array."""
    config, latency = straight_through()
    job = job_of(sources, simulator, config, (0, 3), latency, latency=3000)
    with pytest.raises(SimulationTimeout, match="the input bank in column 0 has no filled band"):
        run_job(dataclasses.replace(job, cycle_limit=8000))
