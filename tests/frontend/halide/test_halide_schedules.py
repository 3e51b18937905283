"""Schedules of Halide: what becomes copies, tiles and places, what is listed, and what is refused."""

from __future__ import annotations

import pytest
from halide_check import check_pipeline, random_inputs, require_halide_results

from compiler.attempts import record_attempts
from compiler.bind.registry import compile_program
from compiler.bind.schedule_forms import ScheduleError
from compiler.frontend.halide import PipelineError, from_bytes, load_pipeline
from compiler.ir.floating import same
from compiler.ir.interpret import interpret
from compiler.passes.scheduled import ScheduledProgram

hl = pytest.importorskip("halide")
x, y, k, xo, yo, xi, yi = (hl.Var(name) for name in ("x", "y", "k", "xo", "yo", "xi", "yi"))
SIZES = [13, 8]


def blur():
    source = hl.ImageParam(hl.UInt(8), 2, "image")
    across, down = hl.Func("across"), hl.Func("down")
    across[x, y] = (hl.cast(hl.UInt(16), source[x, y]) + source[x + 1, y] + source[x + 2, y]) // 3
    down[x, y] = hl.cast(hl.UInt(8), (across[x, y] + across[x, y + 1] + across[x, y + 2]) // 3)
    return across, down


def unroll(across, down):
    down.unroll(x, 2)


def vectorize(across, down):
    across.compute_root().split(x, xo, xi, 8, hl.TailStrategy.GuardWithIf).vectorize(xi, 4)
    down.vectorize(x, 4, hl.TailStrategy.GuardWithIf)


def strips(across, down):
    down.split(y, yo, yi, 4, hl.TailStrategy.GuardWithIf).parallel(yo)


def rows(across, down):
    down.split(y, yo, yi, 4).reorder(yi, x, yo).unroll(yi)


def whole(across, down):
    down.bound(y, 0, 8).unroll(y)


def tiled(across, down):
    down.tile(x, y, xo, yo, xi, yi, 4, 4, hl.TailStrategy.GuardWithIf)
    across.compute_at(down, xo).store_in(hl.MemoryType.Heap)


def parallel_tiles(across, down):
    down.tile(x, y, xo, yo, xi, yi, 4, 2, hl.TailStrategy.GuardWithIf).vectorize(xi).parallel(yo)
    across.compute_root()


def loaded(schedule, use="lanes", sizes=SIZES):
    across, down = blur()
    schedule(across, down)
    return load_pipeline(down, sizes, schedule=use)


def require_same_results(halide, program):
    """A program that targets get computes what Halide does."""
    inputs = random_inputs(halide.program)
    wanted, found = halide.reference(inputs), interpret(program, inputs)
    assert all(same(found[name], values) for name, values in wanted.items())


@pytest.mark.parametrize(("schedule", "statements", "remarks"), [
    (unroll, 2, ("unroll(x, 2) of down",)),
    (vectorize, 8, ("unroll(x, 4) of across", "unroll(x, 4) of down")),
    (strips, 2, ("parallelize(y, 2) of down",)),
    (rows, 4, ("unroll(y, 4) of down", "tile (down) not used")),
    (whole, 8, ("unroll(y, 8) of down",)),
    (parallel_tiles, 17, ("unroll(x, 4) of down", "parallelize(y, 4) of down", "tile (down) not used"))])
def test_copies_become_statements_or_lanes(schedule, statements, remarks):
    halide = loaded(schedule)
    program = halide.program
    assert isinstance(program, ScheduledProgram)
    assert program.remarks == remarks
    copied, options = program.for_target({}, {})
    assert (len(copied.statements), options) == (statements, {})
    require_same_results(halide, copied)
    plain, options = program.for_target({"lanes": 1}, {})
    assert plain == program.algorithm
    assert options == {"lanes": program.lanes}
    assert program.for_target({"lanes": 1}, {"lanes": 2})[1] == {"lanes": 2}


def test_whole_outer_loops_that_lanes_do_not_fit_are_statements_everywhere():
    halide = loaded(lambda across, down: down.bound(y, 0, 3).unroll(y).vectorize(x, 4), sizes=[8, 3])
    copied, options = halide.program.for_target({"lanes": 1}, {})
    assert (len(copied.statements), options) == (3, {"lanes": 4})
    require_same_results(halide, copied)


def test_loops_of_reductions_are_unrolled_in_their_order():
    source = hl.ImageParam(hl.UInt(8), 2, "image")
    r = hl.RDom([(0, 3), (0, 2)], "r")
    total = hl.Func("total")
    total[x, y] = hl.cast(hl.UInt(16), 0)
    total[x, y] += hl.cast(hl.UInt(16), source[x + r.x, y + r.y])
    total.update().unroll(r.x).unroll(r.y)
    halide = load_pipeline(total, [6, 4])
    copied, _ = halide.program.for_target({}, {})
    assert len(copied.statements) == 7
    require_same_results(halide, copied)


def test_splits_alone_are_no_loops_and_no_copies():
    halide = loaded(tiled)
    assert [s.iterators for s in halide.program.statements] == [("y", "x"), ("y", "x")]
    assert halide.remarks == ("store_in (across) not used", "tile (down) not used")


def test_a_pipeline_without_a_schedule_has_no_remarks():
    assert loaded(lambda across, down: None).remarks == ()


def test_order_is_all_that_is_used_on_request():
    program = loaded(unroll, "order").program
    assert program.remarks == ("unroll(x, 2) (down) not used",)
    assert program.for_target({"lanes": 1}, {}) == (program.algorithm, {})


def test_tiles_on_request():
    halide = loaded(tiled, "tiles")
    program = halide.program
    assert program.remarks == ("store(across, memory)", "overlap(y=4, x=4) of down")
    assert program.statement("down_pure").iterators == ("y_o", "x_o", "y", "x")
    assert program.for_target({"tile_depth": None}, {})[1] == {"tile_depth": 2}
    require_halide_results(halide)
    alone = loaded(parallel_tiles, "tiles")
    assert alone.program.remarks[:2] == ("tile(y=2, x=4) of down", "unroll(x_i, 4) of down")
    copied, _ = alone.program.for_target({}, {})
    require_same_results(alone, copied)


def test_what_has_no_meaning_is_listed_once():
    across, down = blur()
    across.compute_root().fold_storage(y, 8).align_storage(x, 16).store_in(hl.MemoryType.Stack).parallel(y)
    down.fuse(x, y, k).parallel(k).hoist_storage_root()
    program = load_pipeline(down, SIZES).program
    assert [remark for remark in program.remarks if "hoist" not in remark] == [
        "parallel(y) of 10, at most 16 of a split are hardware (across) not used",
        "parallel of a fused loop (down) not used", "fuse (down) not used",
        "fold_storage (across) not used", "align_storage (across) not used", "store_in (across) not used"]


def test_gpu_loops_are_listed():
    _, down = blur()
    down.gpu_tile(x, y, xo, yo, xi, yi, 4, 4, hl.TailStrategy.GuardWithIf)
    program = load_pipeline(down, SIZES).program
    assert program.remarks == ("gpu loops (down) not used", "tile (down) not used")


def test_illegal_schedules_are_refused_in_halides_words():
    across, down = blur()
    last = hl.Func("last")
    last[x, y] = down[x, y] + 1
    down.compute_root()
    across.compute_at(last, x)
    with pytest.raises(PipelineError) as caught:
        load_pipeline(last, SIZES)
    text = str(caught.value)
    assert text.startswith('Halide refuses this pipeline: Func "across')
    assert "is computed at the following invalid location" in text
    assert "\n" not in text
    assert len(load_pipeline(last, SIZES, schedule="order").program.statements) == 3


def test_unknown_uses_are_refused():
    with pytest.raises(PipelineError, match=r"^schedule='fast': there are order, lanes, tiles, auto$"):
        loaded(unroll, "fast")
    with pytest.raises(PipelineError, match=r"^schedule='fast': "):
        from_bytes(hl.serialize_pipeline(hl.Pipeline([blur()[1]])), SIZES, schedule="fast")


def test_serialised_pipelines_have_their_schedules():
    _, down = blur()
    down.unroll(x, 2)
    program = from_bytes(hl.serialize_pipeline(hl.Pipeline([down])), SIZES)
    assert program.remarks == ("unroll(x, 2) of down",)


def gathered():
    source, curve = hl.ImageParam(hl.UInt(8), 2, "image"), hl.ImageParam(hl.UInt(8), 1, "curve")
    out = hl.Func("out")
    out[x, y] = curve[hl.cast(hl.Int(32), source[x, y] % 8)]
    out.unroll(x, 2)
    return load_pipeline(out, [4, 4]).program


def test_copies_that_cannot_be_say_why():
    with pytest.raises(ScheduleError) as caught:
        compile_program(gathered(), "systolic")
    assert str(caught.value).endswith("this is with what the schedule asks for, unroll(x, 2): leave it out with "
                                      "schedule='order'")


def test_lanes_that_a_target_has_no_place_for_are_left_out():
    program = gathered()
    with record_attempts() as attempts:
        design = compile_program(program, "dataflow")
    assert design.predicted_cycles == compile_program(program.algorithm, "dataflow").predicted_cycles
    asked, without = (a for a in attempts if "schedule" in a.choice)
    assert asked.choice == "what the schedule asks for, unroll(x, 2)"
    assert asked.outcome.endswith("compile it with lanes=1")
    assert without.choice == "without the schedule's lanes"


def test_lanes_of_the_schedule_make_designs_faster():
    plain, fast = (compile_program(loaded(schedule).program, "dataflow") for schedule in (lambda a, d: None, vectorize))
    assert fast.predicted_cycles < 0.5 * plain.predicted_cycles


def _sum(schedule):
    source, total = hl.ImageParam(hl.Int(16), 1, "samples"), hl.Func("total")
    r = hl.RDom([(0, 3)], "r")
    total[x] = hl.cast(hl.Int(16), 0)
    total[x] += source[2 * x + r.x]
    if schedule:
        total.vectorize(x, 4)
        total.update().vectorize(x, 4)
    return total


@pytest.mark.parametrize(("pipeline", "sizes"), [
    (lambda wanted: (blur() if not wanted else _with(vectorize))[1], [6, 5]), (_sum, [16])])
def test_designs_without_a_schedule_are_no_worse(pipeline, sizes):
    found = compile_program(load_pipeline(pipeline(False), sizes, schedule="auto").program, "dataflow")
    users = compile_program(load_pipeline(pipeline(True), sizes).program, "dataflow")
    assert found.predicted_start_to_done <= 1.05 * users.predicted_start_to_done


def _channels(schedule):
    source, out, c = hl.ImageParam(hl.UInt(16), 3, "source"), hl.Func("out"), hl.Var("c")
    out[x, y, c] = source[x, y, c] * 3 + source[x + 1, y, 2 - c]
    if schedule:
        out.bound(c, 0, 3).unroll(c)
    return out


def test_short_outer_loops_are_unrolled_without_a_schedule():
    users, found = (compile_program(load_pipeline(_channels(wanted), [4, 4, 3], schedule=use).program, "fpga")
                    for wanted, use in ((True, "lanes"), (False, "auto")))
    assert found.predicted_start_to_done <= 1.05 * users.predicted_start_to_done


def _with(schedule):
    funcs = blur()
    schedule(*funcs)
    return funcs


def test_a_whole_pipeline_is_checked_with_its_schedule():
    across, down = blur()
    parallel_tiles(across, down)
    check_pipeline(down, SIZES)
