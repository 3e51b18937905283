"""The systolic tuner: its models against plans, its search against brute force, records, budgets, errors."""

from __future__ import annotations

import json
import random
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest

import compiler
from benchmarks.float_areas import HELD_OUT, TRAINING
from benchmarks.results import read_results
from compiler.bind.systolic.kernel import Kernel, recognise
from compiler.bind.systolic.latency import predict
from compiler.bind.systolic.multipliers import multipliers as multipliers_of
from compiler.bind.systolic.plan import Choice, make_plan
from compiler.bind.systolic.sum_orders import time_orders, with_sums_in_order
from compiler.bind.systolic.tuner.budget import Budget, TunerError, Usage, board_budget, parse_budget
from compiler.bind.systolic.tuner.candidate import Candidate, pareto, read_candidate
from compiler.bind.systolic.tuner.estimate import Tilings
from compiler.bind.systolic.tuner.record import Record, RecordError
from compiler.bind.systolic.tuner.resources import FEATURES, block_rams, evaluate_resources, multipliers
from compiler.bind.systolic.tuner.search import Search, follow_events, search_shape
from compiler.bind.systolic.tuner.shapes import Shape, extent_choices, shapes
from compiler.bind.systolic.tuner.spread import Cluster
from compiler.cli.tune import main
from compiler.frontend.c_scop import load_c
from hw.boards.capacity import CapacityUnknown, device_capacity
from hw.boards.registry import boards
from hw.dataflow.floating import FLOAT_LATENCY
from hw.float import Float, FloatError, FloatSpec
from hw.float.area import float_area
from hw.systolic.compute import Compute

APPS = Path(__file__).parents[2] / "apps" / "systolic"


def kernel(app: str, **macros: int) -> Kernel:
    return recognise(load_c(APPS / f"{app}.c", **macros))


def order(of: Kernel) -> tuple[str, ...]:
    return (*(name for name in of.loops if name not in of.reduction_loops), *of.reduction_loops)


@pytest.mark.parametrize("app", ["mm", "cnn", "mttkrp", "ttmc", "depthwise", "pointwise", "gemm",
                                 "quantised_layer", "residual_layer"])
def test_the_fast_models_are_those_of_plans(app: str) -> None:
    of, pick = kernel(app), random.Random(app)
    for shape in pick.sample(list(shapes(of, 24)), 10):
        times = np.array([[pick.choice([1, 1, 2, 3, 5]) for _ in of.loops] for _ in range(4)])
        bus = pick.choice([32, 64, 256])
        found = Tilings(of, shape, times, bus)
        for row, steps in enumerate(times):
            time = dict(zip(of.loops, map(int, steps), strict=True))
            choice = Choice(shape.space, shape.array, time, order(of), shape.simd, shape.lanes, bus_bits=bus)
            plan = make_plan(of, choice)
            spec, result = plan.spec, plan.spec.result
            assert found.cycles[row] == predict(spec, plan.tiles).total
            assert found.feeder_bits[row] == sum(
                2 * o.words * spec.word_bits(o) * spec.feeders(o) for o in spec.operands)
            assert found.accumulator_bits[row] == result.words * spec.word_bits(result) * spec.rows * spec.columns


@pytest.mark.parametrize(("app", "reassociate"), [("mm", False), ("mm", True), ("cnn", True), ("mttkrp", True)])
def test_the_fast_models_of_floating_point_sums(app: str, reassociate: bool) -> None:
    """Steps that wait for an adder, partial sums, bits and multipliers are those of the plan."""
    of, pick = recognise(load_c(APPS / f"{app}.c", FLOAT_BITS=32), reassociate=reassociate), random.Random(app)
    delays, parts_seen = {"add": 5, "mul": 3}, set()
    for shape in pick.sample(list(shapes(of, 12)), 10):
        times = np.array([[pick.choice([1, 1, 2, 4]) for _ in of.loops] for _ in range(4)])
        times = with_sums_in_order(of, np.vstack([times, np.ones_like(times[:1])]))
        found = Tilings(of, shape, times, 64, delays)
        used = evaluate_resources(found)
        for row, steps in enumerate(times):
            time, parts = dict(zip(of.loops, map(int, steps), strict=True)), int(found.parts[row])
            orders = time_orders(of) if parts == 1 else [order(of)]
            plans = [make_plan(of, Choice(shape.space, shape.array, time, way, shape.simd, shape.lanes, latency=delays,
                                          partial_sums=parts)) for way in orders]
            spec = plans[0].spec
            assert found.step_cycles[row] == min(plan.spec.step_cycles for plan in plans)
            assert found.latency[row] == Compute(spec).completion
            accumulators = spec.result.accumulators * spec.word_bits(spec.result)
            assert found.accumulator_bits[row] == accumulators * spec.rows * spec.columns
            assert used.multipliers[row] == spec.macs * sum(multipliers_of(operator) for operator in spec.body)
            parts_seen.add(parts > 1)
    assert parts_seen == {False, reassociate}


def test_arrays_of_floating_point_numbers_in_a_budget() -> None:
    """The tuner's options give a design with its cycles, in the program's order and in any order of the terms."""
    program = load_c(APPS / "mm.c", FLOAT_BITS=32, I=5, J=4, K=6)
    for reassociate in (False, True):
        search = Search(program, Budget(multipliers=16), reassociate=reassociate, latency=(("add", 5),))
        found = search.run(Record(None, search.key))
        assert found[0].multipliers <= 16 and found[0].reassociate == reassociate
        for candidate in found[:3]:
            design = compiler.compile(program, target="systolic", **candidate.options)
            assert design.predicted_cycles == candidate.cycles
            assert design.resources["multipliers"] == candidate.multipliers
        assert read_candidate(json.loads(json.dumps(asdict(found[0])))) == found[0]


def test_operators_of_floating_point_numbers_take_area() -> None:
    """An array in float has the LUTs of its operators more than one that passes as many bits, more with lanes."""
    shape, times = Shape(("i", "j"), (2, 2), "", 1), np.array([[4, 4, 4]])
    whole, single = (evaluate_resources(Tilings(recognise(load_c(APPS / "mm.c", **macros)), shape, times, 64))
                     for macros in ({"DATA_BITS": 32}, {"FLOAT_BITS": 32}))
    operators = [float_area(FloatSpec(op, Float(8, 23), FLOAT_LATENCY[op])) for op in ("add", "mul")]
    assert single.luts[0] - whole.luts[0] > 3 * sum(area.luts for area in operators)
    assert single.multipliers[0] == 16
    assert float_area(FloatSpec("neg", Float(8, 23))).luts == 0


def test_the_model_of_areas_is_near_what_was_counted() -> None:
    """Of every operator that was synthesized, those that it is not fitted to among them: registers and multipliers are
    counted in the operators as they are built now."""
    recorded = read_results("float_areas")
    for group, specs in (("training", TRAINING), ("held out", HELD_OUT)):
        for name, spec in specs.items():
            found, cells = float_area(spec), recorded[group][name]["measured"]
            assert found.multipliers == cells["multipliers"], name
            luts, flip_flops = (0.4, 0.4) if spec.op == "cast" else (0.2, 0.06)
            assert abs(found.luts - cells["luts"]) <= luts * cells["luts"], name
            assert abs(found.flip_flops - cells["flip_flops"]) <= flip_flops * cells["flip_flops"], name
    with pytest.raises(FloatError, match="the model of areas has no operator 'exp' for floating-point numbers"):
        float_area(FloatSpec("exp", Float(8, 23), 24))


def test_the_search_finds_what_trying_everything_finds() -> None:
    of = kernel("mm", I=6, J=5, K=4)
    search = Search(of.program, Budget(multipliers=4))
    found = search.run(Record(None, search.key))
    every = [c for shape in shapes(of, 4) for c in search_shape(of, shape, Budget(multipliers=4), 64)]
    assert found[0].cycles == min(follow_events(of, c, 64).cycles for c in every)
    assert all(c.multipliers <= 4 for c in found)
    assert found == pareto(found) and found == sorted(found, key=Candidate.costs)
    design = compiler.compile(of.program, target="systolic", **found[0].options)
    assert design.predicted_cycles == found[0].cycles
    assert design.resources["multipliers"] == found[0].multipliers


def test_programs_that_the_tuner_cannot_search() -> None:
    search = Search(load_c(APPS / "lu.c", N=4), Budget())
    with pytest.raises(TunerError, match="searches arrays for reduction kernels, and program 'lu' is none: statement"):
        search.run(Record(None, search.key))
    search = Search(kernel("mm").program, Budget(), macs=9973)
    with pytest.raises(TunerError, match="no array with 9973 evaluations per cycle that is not mostly padding"):
        search.run(Record(None, search.key))


def test_exactly_so_many_macs() -> None:
    of = kernel("mm", I=8, J=8, K=8)
    search = Search(of.program, Budget(), macs=8)
    assert {Shape(c.space, c.array, c.simd, c.lanes).macs for c in search.run(Record(None, search.key))} == {8}


def test_extents_worth_a_look() -> None:
    assert extent_choices(12, 12) == [1, 2, 3, 4, 6, 12]
    assert extent_choices(7, 7) == [1, 2, 3, 4, 7]
    assert extent_choices(1, 9) == [1]
    assert extent_choices(100, 10)[-1] == 10


def test_multipliers_by_width_of_the_operands() -> None:
    assert multipliers(kernel("mm").body) == 1
    assert multipliers(kernel("mm", DATA_BITS=32).body) == 4
    assert multipliers(kernel("mttkrp").body) == 2
    assert multipliers(kernel("ttmc", DATA_BITS=16).body) == 3
    assert multipliers(kernel("gemm").body) == 2


def test_multipliers_of_functions_of_single_elements() -> None:
    """A 32-bit element times a constant takes two, and one element of a beat after the other is scaled at once."""
    found = evaluate_resources(Tilings(kernel("gemm"), Shape(("i", "j"), (3, 2), "", 1), np.array([[2, 1, 8]]), 64))
    assert found.multipliers[0] == 2 * 6 + 2 * 2


def test_block_rams_take_the_best_of_their_shapes() -> None:
    depths = np.array([16, 64, 65, 512, 513, 1024, 16384])
    assert block_rams(depths, 8).tolist() == [1, 1, 1, 1, 1, 1, 8]
    assert block_rams(depths, 72).tolist() == [2, 2, 2, 2, 4, 4, 64]


def test_more_memory_takes_more_resources() -> None:
    of = kernel("mm")
    times = np.array([[1, 1, 2], [1, 1, 16], [4, 4, 16]])
    found = evaluate_resources(Tilings(of, Shape(("i", "j"), (4, 4), "", 1), times, 64))
    assert (np.diff(found.luts) >= 0).all()
    assert (found.multipliers == 16).all()


def test_budgets() -> None:
    assert parse_budget("multipliers=3, luts=100") == Budget(3, None, 100)
    assert Budget(3).exceeded(Usage(4, 0, 0, 0)) == "4 multipliers of 3"
    assert Budget(3).exceeded(Usage(3, 900, 0, 0)) is None
    assert board_budget("ulx3s-85f").multipliers == 156
    assert board_budget("de3").multipliers == 384
    for text in ("multiplier=3", "luts", "luts=-1", "luts=many"):
        with pytest.raises(TunerError, match="write NAME=NUMBER with a name out of multipliers, block_ram, luts"):
            parse_budget(text)


def test_boards_of_measured_families_have_a_capacity() -> None:
    for board in boards().values():
        if board.family in ("ecp5", "stratix3"):
            assert device_capacity(board.device).multipliers > 0
    with pytest.raises(CapacityUnknown, match="the size of device XC7A35T is not on record; known are LFE5U-12"):
        device_capacity("XC7A35T")


def test_a_search_goes_on_from_its_record(tmp_path: Path) -> None:
    path = tmp_path / "record.jsonl"
    search = Search(load_c(APPS / "mm.c", I=4, J=4, K=4), Budget(multipliers=2))
    whole = search.run(Record(path, search.key))
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[: len(lines) // 2]) + lines[-1][:9])
    seen: list[tuple[int, int]] = []
    assert search.run(Record(path, search.key), progress=lambda done, total: seen.append((done, total))) == whole
    assert seen[0][0] == len(lines) // 2 - 1 and seen[-1][0] == seen[-1][1] == len(lines) - 1
    assert sorted(path.read_text().splitlines()) == sorted(line.rstrip("\n") for line in lines)


@pytest.mark.parametrize(("content", "message"), [
    ('{"search": "other"}\n', "belongs to another search; give another file, or remove it"),
    ("nonsense\n", "line 1: that is no JSON object"),
    ('{"search": KEY}\n{"shape": "i 1", "candidates": [{"cycles": 3}]}\n', "line 2: that is no entry of a search"),
    ('{"search": KEY}\n[]\n', "line 2: that is no JSON object"),
])
def test_damaged_records(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "record.jsonl"
    path.write_text(content.replace("KEY", json.dumps("abc")))
    with pytest.raises(RecordError, match=message):
        Record(path, "abc")


def test_the_model_has_all_features() -> None:
    of = kernel("mm")
    model = {name: dict.fromkeys(FEATURES, 1.0) for name in ("luts", "flip_flops")}
    found = evaluate_resources(Tilings(of, Shape(("i",), (2,), "", 1), np.array([[1, 1, 1]]), 64), model)
    assert found.luts[0] == found.flip_flops[0] > 0


# The command.


def test_the_command_lists_and_draws(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plot = tmp_path / "front.png"
    assert main([str(APPS / "mm.c"), "--set", "I=4", "--set", "J=4", "--set", "K=4", "--budget", "multipliers=4",
                 "--plot", str(plot)]) == 0
    shown = capsys.readouterr().out
    assert "arrays by the models, fastest first" in shown
    assert "--target systolic --option space=" in shown
    assert plot.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(("arguments", "message"), [
    (["--budget", "multipliers=0"], "nothing fits: one processing element takes 1 multipliers, and the budget has 0"),
    (["--budget", "luts=10"], "nothing fits the budget (10 luts); the smallest array that was tried needs 1 mul"),
    (["--board", "ulx3s"], "there is no board 'ulx3s'"),
    (["--macs", "0"], "--macs is 0, not at least 1"),
    (["--bus-bits", "48"], "bus_bits is 48, not one of 32, 64, 128, 256, 512, 1024"),
    (["--plot", "x.txt"], "--plot x.txt: the picture is a .png, .svg or .pdf"),
    (["--set", "I"], "--set I: write NAME=VALUE"),
    (["--latency", "add:x"], "latency is 'add:x'; write operations with numbers of at least 1, like add:6,mul:4"),
    (["--scheduler", "tcp://127.0.0.1:9"], "no dask scheduler answers at tcp://127.0.0.1:9"),
])
def test_what_cannot_be(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(APPS / "mm.c"), "--set", "K=4", *arguments]) == 1
    error = capsys.readouterr().err
    assert error.startswith("error: ") and message in error and "Traceback" not in error


def test_spread_over_a_cluster() -> None:
    """A scheduler and a worker of this process stand for other machines."""
    from distributed import LocalCluster

    search = Search(load_c(APPS / "mm.c", I=4, J=4, K=4), Budget(multipliers=2))
    with LocalCluster(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None,
                      protocol="tcp://") as cluster, Cluster(cluster.scheduler_address) as workers:
        found = search.run(Record(None, search.key), lambda shapes: workers.search(search.text(), shapes))
    assert found == search.run(Record(None, search.key))
