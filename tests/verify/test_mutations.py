"""Correct mappings pass, and every kind of damage to them is caught, with a witness."""

from __future__ import annotations

import re
import time
from dataclasses import replace

import pytest
from verify_mappings import Mapping, mapping, mapping_of
from verify_mutations import MUTATIONS, controllers, memories

from compiler.bind.cgra.validate import ValidationError
from compiler.frontend.kernel import lookup
from compiler.frontend.loop_nest import prog
from compiler.ir.program import Program
from compiler.ir.types import Int
from hw.memtile import DualPortConfig, PubConfig

MEMORIES = ("pub", "dual-port")
APPS = ("brighten_blur", "cascade", "conv_3_3", "gaussian", "gaussian_tiled", "upsample")
DAMAGED = ("brighten_blur", "gaussian", "upsample")
ONLY_WIDE_FETCH = {"far_schedule_offset", "shared_port"}
ONLY_COMPUTING = {"pe_constant", "pe_opcode"}
"""Kinds of damage that need a controller of the wide-fetch memory, or a PE that computes (upsample has none)."""
DAMAGE = [(app, memory, mutation) for app in DAMAGED for memory in MEMORIES for mutation in MUTATIONS
          if (memory == "pub" or mutation not in ONLY_WIDE_FETCH)
          and (app != "upsample" or mutation not in ONLY_COMPUTING)]


def flipped(height: int, width: int) -> Program:
    """An image upside down: all of it must be stored before the first word leaves."""
    prg = prog("flip")
    prg.add_input("input", shape=(height, width))
    prg.add_output("output")
    y = prg.add_loop("y", 0, height)
    x = y.add_loop("x", 0, width)
    op = x.add_op("Flip")
    op.add_load("input", "x", f"{height - 1} - y")
    op.add_store("output", "x", "y")
    return prg.build()


def looked_up() -> Program:
    """A tone curve."""
    prg = prog("tone")
    prg.add_input("input", shape=(4, 8), type=Int(8, signed=False))
    prg.add_output("output")
    curve = prg.add_table("curve", [(5 * k * k + 3) % 65536 for k in range(256)])
    y = prg.add_loop("y", 0, 4)
    x = y.add_loop("x", 0, 8)
    op = x.add_op("Tone")
    op.add_function(lambda a: lookup(curve, a))
    op.add_load("input", "x", "y")
    op.add_store("output", "x", "y")
    return prg.build()


def rejection(damaged: Mapping) -> str:
    with pytest.raises(ValidationError) as caught:
        damaged.validate()
    message = str(caught.value)
    assert "\n" not in message
    return message


@pytest.mark.parametrize("memory", MEMORIES)
@pytest.mark.parametrize("app", APPS)
def test_applications_pass(app, memory):
    good = mapping(app, memory)
    report = good.validate()
    assert report.statements == len(good.program.statements)
    assert report.elements == sum(_size(a.shape) for a in good.program.outputs)
    assert report.memory_outputs >= 1


def _size(shape: tuple[int, ...]) -> int:
    size = 1
    for extent in shape:
        size *= extent
    return size


def test_validation_of_all_applications_takes_seconds_at_most():
    good = [mapping(app, memory) for app in APPS for memory in MEMORIES]
    start = time.process_time()
    for one in good:
        one.validate()
    assert time.process_time() - start < 6


def test_report_says_what_was_proven():
    assert re.fullmatch(
        r"validated: 9 reads of 1 statements see their values through 2 memory outputs, 3 pairs of controllers never "
        r"share a port, \d+ units compute their expressions on \d+ operand vectors, 3844 output elements are captured "
        r"by 2 banks in time", str(mapping("gaussian", "pub").validate()))


@pytest.mark.parametrize(("app", "memory", "mutation"), DAMAGE)
def test_damage_is_caught(app, memory, mutation):
    missed = [label for label, damaged in MUTATIONS[mutation](mapping(app, memory)) if _passes(damaged)]
    assert missed == []


@pytest.mark.parametrize("memory", MEMORIES)
@pytest.mark.parametrize("mutation", ["schedule_offset", "time_stride", "address_coefficient", "input_delay"])
def test_damage_to_a_chain_is_caught(memory, mutation):
    missed = [label for label, damaged in MUTATIONS[mutation](mapping_of(flipped(64, 64), memory))
              if _passes(damaged)]
    assert missed == []


def test_kinds_of_damage_are_there():
    for name, mutation in MUTATIONS.items():
        assert list(mutation(mapping("gaussian", "pub"))), name


def _passes(damaged: Mapping) -> bool:
    try:
        damaged.validate()
    except ValidationError:
        return False
    return True


@pytest.mark.parametrize("memory", MEMORIES)
def test_wrong_place_in_a_chain_is_caught(memory):
    good = mapping_of(flipped(64, 64), memory)
    assert good.validate().memory_outputs == 2
    for place, core in memories(good):
        for chain_id in (1 - core.chain_id, 3):
            message = rejection(good.with_tile(place, core=replace(core, chain_id=chain_id)))
            assert message.startswith("statement 'Flip'")
        for chained in (True, False):
            outputs = tuple(p and replace(p, chained=chained) for p in core.outputs)
            if outputs != core.outputs and core.chain_id:
                rejection(good.with_tile(place, core=replace(core, outputs=outputs)))


@pytest.mark.parametrize("memory", MEMORIES)
def test_wrong_table_contents_are_caught(memory):
    good = mapping_of(looked_up(), memory)
    assert good.validate().units >= 1
    place, core = next((p, c) for p, c in memories(good) if c.rom)
    for entry in range(0, 256, 17):
        contents = (*core.contents[:entry], core.contents[entry] ^ 4, *core.contents[entry + 1:])
        message = rejection(good.with_tile(place, core=replace(core, contents=contents)))
        assert re.fullmatch(rf"statement 'Tone' \(.*\): the memory at \({place[0]}, {place[1]}\) holds not table "
                            rf"'curve' \(entry {entry} differs\)", message)


def test_witness_names_the_read_and_the_word_that_is_delivered():
    good = mapping("gaussian", "dual-port")
    place, core = next(memories(good))
    read = core.outputs[0].read
    late = replace(core.outputs[0], read=replace(read, time_offset=read.time_offset + 1))
    message = rejection(good.with_tile(place, core=replace(core, outputs=(late, *core.outputs[1:]))))
    assert re.fullmatch(
        r"statement 'Gaussian' \(.*gaussian\.py:\d+\) reads input\[\d, \d\] at y = 0, x = 0 from mem\d\.out0"
        r"( from mem\d\.out0)?.*, (but stream in_input delivers the word of input\[\d, \d+\] in cycle \d+"
        r"|which delivers no word that was written \(cycle \d+\))", message)


def test_conflict_is_reported_with_its_cycle():
    good = mapping("gaussian", "pub")
    nests = {name.split()[-1]: (nest, put) for name, nest, put in controllers(good)}
    (store, _), (_, put_fetch) = nests["store0"], nests["fetch0"]
    fetch, _ = nests["fetch0"]
    clash = store.time_offset + -(-(fetch.time_offset - store.time_offset) // 4) * 4
    message = rejection(put_fetch(replace(fetch, time_offset=clash)))
    assert message == f"memory mem0: controllers store0 and fetch0 use one SRAM port in cycle {clash}"


def test_run_that_is_too_short():
    good = mapping("gaussian", "pub")
    cycles = good.plan.run_cycles
    message = rejection(replace(good, plan=replace(good.plan, run_cycles=cycles - 1)))
    assert message == f"output output has its last word in cycle {cycles - 1}, the run has {cycles - 1} cycles"


def test_bank_too_many_and_bank_missing():
    good = mapping("gaussian", "pub")
    columns = sorted(good.config.banks)
    spare = next(c for c in good.spec.bank_columns if c not in columns)
    banks = {**good.config.banks, spare: good.config.banks[columns[0]]}
    config = replace(good.config, banks=banks)
    assert rejection(replace(good, config=config)) == (
        f"banks are configured in columns {sorted(banks)}, DMA descriptors in {columns}")
    plan = replace(good.plan, banks={**good.plan.banks, spare: good.plan.banks[columns[0]]})
    assert rejection(replace(good, config=config, plan=plan)) == (
        f"the bank of column {spare} is on, but serves no array")


def test_half_that_is_too_small():
    good = mapping("gaussian", "pub")
    spec = replace(good.spec, glb=replace(good.spec.glb, half_words=4096))
    replace(good, spec=spec).validate()
    from compiler.bind.cgra.validate.banks import BankProof

    column = next(c for c, b in good.config.banks.items() if b.direction == "input")
    tiny = replace(good.spec, glb=replace(good.spec.glb, half_words=2048))
    with pytest.raises(ValidationError, match=re.escape(
            f"the bank of column {column} (input input): it has no room for 128 bands of 64 words")):
        BankProof(column, good.config.banks[column], good.plan.banks[column], good.program.array("input"),
                  good.addresses["input"], good.plan, tiny)


def test_damaged_words_do_not_decode():
    good = mapping("gaussian", "pub")
    place = next(p for p, c in memories(good))
    core = good.config.tiles[place].core
    assert isinstance(core, PubConfig | DualPortConfig)
    from compiler.bind.cgra.validate import validate

    words = good.config.words(good.spec)[1:]
    with pytest.raises(ValidationError, match="the configuration words cannot be decoded: the configuration does not "
                                              "begin with the word that clears the array"):
        validate(good.program, good.application, good.physical, words, good.plan, good.addresses, good.spec)


def test_claims_that_are_wrong_are_caught():
    """The validator trusts no time that retiming or scheduling claims."""
    good = mapping("gaussian", "pub")
    times = good.physical.retiming.times
    for pin in times:
        if pin == good.application.results["Gaussian"].pin:
            retiming = replace(good.physical.retiming, times={**times, pin: times[pin] + 1})
            rejection(replace(good, physical=replace(good.physical, retiming=retiming)))


def test_effort_is_bounded(monkeypatch):
    from compiler.sched.verify import relations

    good = mapping("gaussian", "pub")
    monkeypatch.setattr(relations, "_EFFORT", 2000)
    assert rejection(good).startswith("the mapping could not be proven right within 2000 steps: ")
    monkeypatch.undo()
    good.validate()
