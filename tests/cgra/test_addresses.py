"""Memories whose addresses processing elements compute: which units that takes, and what is refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import compiler
from compiler.bind.buffers.wide_fetch import AccessPatternError
from compiler.bind.cgra.address_patterns import AddressPattern, Level
from compiler.bind.cgra.addresses import AddressUnits
from compiler.bind.cgra.design import CgraDesign
from compiler.bind.cgra.netlist import PeNode
from compiler.bind.cgra.validate import ValidationError, validate
from compiler.frontend.apps import load
from compiler.frontend.loop_nest import prog
from compiler.ir.types import Int
from hw.lib.configuration import ConfigurationError
from hw.memtile import AddressedConfig, AddressedInput, AddressedOutput, MemTileSpec
from hw.ops import OPERATIONS, Kind
from hw.pe import PeConfig, PeSpec

MEM = MemTileSpec(kind="dual-port-pe", inputs=1, outputs=1)


def compiled(app: str, counter: bool, array: str, **parameters: int) -> CgraDesign:
    options = {"memory": "dual-port-pe", "counter": counter, "array": array, "sums": "chain"}
    design = compiler.compile(load(app, **parameters), **options)
    assert isinstance(design, CgraDesign)
    return design


@pytest.mark.parametrize(("app", "counter", "addresses", "array", "parameters"), [
    ("gaussian", True, 3, "8x4", {"width": 40, "height": 8}),
    ("gaussian", False, 8, "8x4", {"width": 40, "height": 8}),
    ("upsample", True, 7, "8x4", {"width": 64, "height": 4}),
    ("upsample", False, 15, "8x8", {"width": 64, "height": 4}),
])
def test_units_for_addresses(app: str, counter: bool, addresses: int, array: str, parameters: dict[str, int]) -> None:
    """Delay lines share one counter, without that operation a ramp of 6 elements; each read takes one more."""
    design = compiled(app, counter, array, **parameters)
    assert design.resources["address PEs"] == addresses
    same = compiler.compile(load(app, **parameters), memory="dual-port", array=array, sums="chain")
    assert isinstance(same, CgraDesign)
    for kind in ("PEs", "memory tiles"):
        assert design.resources[kind] == same.resources[kind]


def test_a_reduction_selects_by_computed_addresses() -> None:
    """Tables of control bits and weights that stay have computed addresses too."""
    design = compiled("gemm", True, "8x12", size=8, unroll=2)
    assert design.application.controls and design.resources["address PEs"] > 4


@pytest.mark.parametrize("size", [4, 6])
def test_reads_in_another_order_do_not_follow_the_ramp(size: int) -> None:
    """Addresses of writes that start anywhere are those of reads at another time only if both grow by 1; proven by the
    validation of the design."""
    prg = prog("turned")
    prg.add_input("a", shape=(size, size))
    prg.add_output("b")
    for name, source, target, where in (("Copy", "a", "m", ("x", "y")), ("Turn", "m", "b", ("y", "x"))):
        op = prg.add_loop("y", 0, size).add_loop("x", 0, size).add_op(name)
        op.add_function(lambda word: word + 1)
        op.add_load(source, *where)
        op.add_store(target, "x", "y")
    design = compiler.compile(prg.build(), memory="dual-port-pe", array="8x4", half_words=64)
    assert isinstance(design, CgraDesign)
    assert design.resources["memory tiles"] == 1
    assert design.predicted_cycles <= 2 * size * size + 40


# What the units compute, from their configurations alone.

def _stream(units: AddressUnits, pin: tuple[str, str], times: range) -> np.ndarray:
    """Logical values of an output; every unit is taken to be there in its logical cycle 0."""
    configs = {name: node.config for name, node in units.nodes.items()}
    configs |= units.configurations(_Zero())
    edges = {(e.sink.node, e.sink.port): e for e in units.edges}

    def value(node: str, port: str, cycle: int) -> int:
        config = configs[node]
        if config.op == "count":
            first, _, last = config.constants
            assert first is not None and last is not None
            now = (first + cycle) % (last + 1)
            return int(now == last) if port == "bit0" else now
        counts, operands = {Kind.WORD: 0, Kind.BIT: 0}, []
        for kind in config.operation.operands:
            index = counts[kind]
            counts[kind] += 1
            constant = (config.constants if kind is Kind.WORD else config.bit_constants)[index]
            edge = edges.get((node, f"{kind.value}{index}"))
            operands.append(constant if edge is None else value(edge.source.node, edge.source.port, cycle))
        table = [config.table] if config.op == "lut3" else []
        wrapped = [Int(16, False).wrap(np.array(o)) if k is Kind.WORD else o
                   for o, k in zip(operands, config.operation.operands, strict=True)]
        return int(OPERATIONS[config.op].evaluate(16, *table, *wrapped)) & 0xFFFF

    return np.array([value(*pin, cycle) for cycle in times])


class _Zero(dict):
    def __missing__(self, key: object) -> int:
        return 0

    def __contains__(self, key: object) -> bool:
        return True


def test_what_is_read_behind_the_end_of_a_run() -> None:
    """Instances that no output needs may come after the last output; their addresses are proven all the same."""
    design = compiled("laplacian_pyramid", True, "16x32", size=32)
    assert design.predicted_cycles <= 1.15 * design.lower_bound


@pytest.mark.parametrize("levels", [
    [Level(1, 1, None)], [Level(1, 1, 6), Level(8, 6, None)], [Level(2, 1, 5), Level(11, 5, 3), Level(50, 16, None)],
    [Level(3, 2, 4), Level(12, 1, 7), Level(100, 9, None)], [Level(2, 0, 2), Level(4, 1, 9), Level(36, 9, None)],
    [Level(1, -1, 10), Level(16, 10, 4), Level(70, 33, None)],
])
def test_units_compute_the_addresses_of_a_nest(levels: list[Level]) -> None:
    units = AddressUnits(True, 1000, [], [])
    units.write("m", AddressPattern.of(levels, 0, 64, 0), follow=False)
    source = {e.sink.port: (e.source.node, e.source.port) for e in units.edges if e.sink.node == "m"}
    events = {0: 0}
    for level in levels:
        trips = level.trips or 3
        events = {c + k * level.time: a + k * level.address for c, a in events.items() for k in range(trips)}
    cycles = range(max(events) + 1)
    address = _stream(units, source["write_address"], cycles)
    assert {c: address[c] % 64 for c in events} == {c: a % 64 for c, a in events.items()}
    if "write_enable" in source:
        assert set(np.flatnonzero(_stream(units, source["write_enable"], cycles))) == set(events)
    else:
        assert set(cycles) == set(events)


@pytest.mark.parametrize(("counter", "levels", "message"), [
    (True, [Level(70000, 1, None)], "addresses repeat after 4480000 cycles, a word counts 65536"),
    (False, [Level(50, 1, None)], "addresses repeat after 3200 cycles, which does not divide 65536, in a run "
                                  "of 100000"),
])
def test_what_words_are_too_narrow_for(counter: bool, levels: list[Level], message: str) -> None:
    units = AddressUnits(counter, 100_000, [], [])
    with pytest.raises(AccessPatternError) as caught:
        units.read("m", AddressPattern.of(levels, 0, 64, 0))
    assert str(caught.value) == message


# Validation.



@pytest.mark.parametrize("counter", [True, False])
def test_a_wrong_constant_is_found(counter: bool) -> None:
    design = compiled("gaussian", counter, "8x4", width=40, height=8)
    names = {(site.row, site.column): name for name, site in design.physical.placement.sites.items()}
    wrong = "mem0.read0"
    assert isinstance(design.physical.netlist.nodes[wrong], PeNode)
    tiles = dict(design.config.tiles)
    place = next(place for place, name in names.items() if name == wrong)
    core = tiles[place].core
    assert isinstance(core, PeConfig)
    shift = core.constants[1]
    assert core.op == "add" and shift is not None
    changed = replace(core, constants=(None, (shift + 1) & 0xFFFF, None))
    tiles[place] = replace(tiles[place], core=changed)
    with pytest.raises(ValidationError, match=r"reads input\[0, 2\] at y = 0, x = 0 from mem1.out0"):
        validate(design.parts.program, design.application, design.physical,
                 replace(design.config, tiles=tiles).words(design.spec), design.plan, design.layout.addresses,
                 design.spec)


# Configurations and options.

def test_words_decode_to_the_configuration() -> None:
    for config in (AddressedConfig(), AddressedConfig((AddressedInput(64, 63, True),), (AddressedOutput(64, 63),)),
                   AddressedConfig((None,), (AddressedOutput(0, 4095, True),), 1, (7, 8, 9)),
                   AddressedConfig(contents=(1, 2), rom=True)):
        assert AddressedConfig.decode(config.words(MEM), MEM) == config.canonical(MEM)


@pytest.mark.parametrize(("config", "message"), [
    (AddressedConfig((AddressedInput(32, 63),)), "input: base 0x20 and mask 0x3f overlap"),
    (AddressedConfig(outputs=(AddressedOutput(0, 63, True),)), "a chained output needs a chain_id"),
    (AddressedConfig((AddressedInput(), AddressedInput())), "a dual-port-pe memory tile has one input and one output"),
    (AddressedConfig((AddressedInput(),), rom=True),
     "ROM mode leaves no SRAM port for the memory tile's inputs and outputs"),
])
def test_what_no_tile_can_do(config: AddressedConfig, message: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        config.words(MEM)
    assert str(caught.value) == message


def test_kinds_and_ports_have_to_agree() -> None:
    with pytest.raises(ConfigurationError, match="a dual-port-pe configuration for a pub memory tile"):
        AddressedConfig().words(MemTileSpec())
    with pytest.raises(ConfigurationError, match="kind 'dual-port-pe' has 1 of inputs, not 2"):
        MemTileSpec(kind="dual-port-pe")


def test_counters_are_only_in_elements_that_have_them() -> None:
    config = PeConfig("count", constants=(3, 1, 9))
    assert PeConfig.decode(config.words(PeSpec(counter=True)), PeSpec(counter=True)) == config
    with pytest.raises(ConfigurationError, match="processing element: it has no counter"):
        config.words(PeSpec())
    with pytest.raises(ConfigurationError, match="a counter takes three constants and no input"):
        PeConfig("count", constants=(3, None, 9)).words(PeSpec(counter=True))
