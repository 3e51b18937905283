"""The cost model: constants by machine, recorded by the calibration, and what the timeline makes of them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from compiler.bind.vector import calibrate, cost
from compiler.bind.vector.apps import load
from compiler.bind.vector.cost import CodeWords, Constants, Timeline, constants, recorded
from compiler.bind.vector.dma_timing import Job, SharedMemory, TransferTimes
from compiler.bind.vector.ir import Instruction, Loop, Setting, Statement, Transfer, unrolled
from compiler.bind.vector.select_loop_form import arranged
from compiler.bind.vector.target import Options, compile_arrays
from hw.vector_lanes.isa import Mode, Op, Size
from hw.vector_lanes.spec import VectorSpec

ADD = Mode(Op.VADD, False, Size.WORD, Size.WORD)


def test_a_machine_takes_the_constants_of_the_next_smaller_one() -> None:
    known = recorded()
    assert constants(64) == known[max(known)] and constants(1) == known[min(known)]
    assert all(constants(lanes) == known[lanes] for lanes in known)


def test_calibration_writes_what_it_measures(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "cost_model.json"
    path.write_text(cost.CONSTANTS_FILE.read_text())
    for module in (cost, calibrate):
        monkeypatch.setattr(module, "CONSTANTS_FILE", path)
    before = recorded()
    monkeypatch.setattr(calibrate, "measure", lambda spec: Constants(start=100.0 + spec.lanes))
    assert calibrate.main(["--lanes", "2,4"]) == 0 and recorded() == before
    assert calibrate.main(["--write", "--lanes", "2,4"]) == 0
    assert recorded() == before | {2: Constants(start=102.0), 4: Constants(start=104.0)}
    assert list(json.loads(path.read_text())) == [str(n) for n in sorted({*before, 2, 4})]


@pytest.mark.parametrize(("lanes", "message"), [
    ("4;1", "error: --lanes 4;1: write numbers with commas, e.g. 1,4,16\n"),
    ("3", "error: a vector processor has 1, 2, 4, … 64 lanes, not 3\n"),
])
def test_machines_that_are_none(lanes: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert calibrate.main(["--lanes", lanes]) == 1
    assert capsys.readouterr().err == message


def cycles(body: list, model: Constants, cold: bool = True) -> float:
    timeline = Timeline(VectorSpec(4), model)
    timeline.cold = cold
    timeline.feed_program(body)
    return timeline.now


def test_code_is_fetched_once_if_the_cache_holds_it() -> None:
    model = Constants(instruction=2.0, operand=0.0, fetch=9.0, dependence=0.0)
    few = [Instruction(ADD, 0, 2048 + 16 * i, 4096) for i in range(10)]
    start = [Setting("length", (4,))]
    once, many = (cycles([*start, Loop(n, tuple(few))], model) for n in (2, 12))
    assert many - once == pytest.approx(10 * (10 * 2.0 + cost.LOOP))
    long = tuple(Instruction(ADD, 0, 2048 + 16 * i, 4096) for i in range(cost.CACHED // 2))
    assert cycles([*start, Loop(3, long)], model) == pytest.approx(3 * cycles([*start, Loop(1, long)], model), rel=0.05)


def turns(length: int, count: int) -> list[list[Statement]]:
    """Groups of instructions with ten numbers of their own, all alike but for where the result goes."""
    scale = Mode(Op.VMUL, False, Size.WORD, Size.WORD, scalar=True)
    return [[Setting("length", (length,))],
            *([Instruction(scale, 1024 * turn, 100 + i, 8192) for i in range(10)] for turn in range(count))]


@pytest.mark.parametrize(("length", "count", "loops"), [
    (16, 2, False), (16, 20, True), (2000, 2, True), (16, 90, True),
])
def test_few_turns_of_short_vectors_are_no_loop(length: int, count: int, loops: bool) -> None:
    """The core would first bring the numbers of the loop into registers, while the lanes wait."""
    groups = turns(length, count)
    cycles, body = arranged(groups, VectorSpec(4))
    assert any(isinstance(s, Loop) for s in body) == loops
    assert list(unrolled(body)) == [s for group in groups for s in group]
    timeline = Timeline(VectorSpec(4))
    timeline.cold = True
    timeline.feed_program(body)
    assert timeline.now == cycles


def test_words_of_code_for_operands() -> None:
    code = CodeWords()
    assert code.bring(("", 0), ("", 7), ("", 2047)) == 2
    assert code.bring(("", 7), ("", 2000), ("", 2054)) == 2 and code.bring(("", 9000)) == 2
    assert code.bring(("x", 0)) == 2 and code.bring(("x", 2047), ("x", -1)) == 2 and code.bring(("x", 9000)) == 2
    assert code.bring(*(("y", 10_000 * i) for i in range(CodeWords.HELD))) == 2 * CodeWords.HELD
    assert code.bring(("x", 9000)) == 2 and code.bring(("", 0)) == 0


def test_code_takes_longer_to_fetch_beside_transfers() -> None:
    code = [Instruction(ADD, 16 * i, 16 * i, 16 * i) for i in range(8)]
    times = {}
    for contention in (1.0, 1.5):
        timeline = Timeline(VectorSpec(4), Constants(fetch=3.0, contention=contention, operand=0.0))
        timeline.cold = True
        timeline.feed_program([Setting("length", (4,)), Transfer(False, 8192, "x", 0, 16384, 1)])
        before = timeline.core
        timeline.feed_program(code)
        times[contention] = timeline.core - before
    # Two words each, and one for the operands of all but the first.
    assert times[1.0] == pytest.approx((8 * 2 + 7) * 3.0) and times[1.5] == pytest.approx(1.5 * times[1.0])


def test_a_store_beside_a_load_takes_turns_with_it() -> None:
    memory = SharedMemory()
    load, store = memory.add(0, 10.0, 100.0), memory.add(1, 30.0, 40.0)
    # 20 beats alone, 12 to the end of the turn, 32 and 32 in turns, then 8 of the store and what is left of the load.
    assert memory.end(store) == 10 + 20 + 12 + 32 + 32 + 8 and memory.end(load) == 10 + 100 + 40
    assert memory.end(memory.add(0, 0.0, 5.0)) == 155 and memory.end(memory.add(1, 200.0, 5.0)) == 205


def test_transfers_end_in_their_order() -> None:
    times = TransferTimes(VectorSpec(4), latency=20.0, store=8.0, answer=18.0)
    store = Job(True, 0, 64, ("y", 0, 64), 4.0, 0)
    load = Job(False, 64, 128, ("x", 0, 64), 4.0, 0)
    again = Job(False, 64, 128, ("x", 64, 128), 4.0, 0)
    for job in (store, load, again):
        times.add(job, 0.0)
    assert times.done(store) == 2 + 8 + 4 + 18 + 2
    assert times.done(load) == times.done(store) + 1     # its beats have passed long before
    assert times.done(again) > times.done(load) + 20     # to the same bytes: it waits
    assert times.finished() == times.done(again)


def test_plans_are_predicted_as_they_are_carried_out() -> None:
    """A plan of many tiles, of which the model times only some, and the whole program by the same model."""
    design = compile_arrays(load("imgblend", rows=60), Options(lanes=16, segment=(1, 320)))
    assert sum(phase.cycles for phase in design.phases) == pytest.approx(design.predicted_cycles, rel=0.005)


def test_rows_that_lie_differently_in_beats_cost_more() -> None:
    model = replace(Constants(), row=3.0)
    aligned, apart = ([Setting("transfer", (256, 512)), Transfer(False, place, "x", 0, 128, 10)] for place in (32, 36))
    assert cycles(apart, model) - cycles(aligned, model) == pytest.approx(30.0)
