"""The random search finds what is wrong or takes too long, makes it small, writes a test of it, and counts."""

from __future__ import annotations

import json
import runpy
import subprocess
import sys
from dataclasses import fields
from functools import partial
from random import Random

import numpy as np
import pytest
from random_data import function_data, parameters_of
from random_target_options import target_options

from compiler.bind.cgra.options import Options as ArrayOptions
from compiler.bind.dataflow.options import Options as NetworkOptions
from compiler.bind.fpga.options import Options as PipelineOptions
from compiler.bind.systolic.options import Options as ElementsOptions
from compiler.bind.vector.options import Options as MachineOptions
from tests.fuzz import __main__ as command
from tests.fuzz.limit import TooSlow, limited
from tests.fuzz.programs import (
    FRONT_END,
    GENERATORS,
    MODELS,
    NAME,
    SIMULATORS,
    Job,
    Outcome,
    case_of,
    check,
    draw,
    generator_name,
    is_same_failure,
    options_of,
    text_of,
)
from tests.fuzz.reduce import reduce_text
from tests.fuzz.tally import Tally

OPTIONS = {"cgra": ArrayOptions, "fpga": PipelineOptions, "dataflow": NetworkOptions, "systolic": ElementsOptions,
           "vector": MachineOptions}
NOT_DRAWN = {"transform", "hardware", "check", "space", "time", "order", "technology"}
"""Options whose values depend on the program's names, files, whether a plan is proved, and primitives of one vendor."""

_BAD = Outcome("wrong", "AssertionError: 1")


def outcome_of(seed: int, target: str) -> Outcome:
    return check(Job(seed, target), case_of(text_of(seed), seed), 100)


def test_a_seed_always_draws_the_same_program():
    assert draw(11) == draw(11)
    assert text_of(11) == text_of(11)
    assert len({text_of(seed) for seed in range(20)}) == 20


def test_every_target_generator_and_simulator_is_drawn():
    jobs = [job for seed in range(300) for job in draw(seed, rtl=0.1)]
    assert {job.target for job in jobs} == set(MODELS)
    assert {job.simulators for job in jobs} == {(), SIMULATORS}
    assert {generator_name(seed) for seed in range(300)} == set(GENERATORS)


@pytest.mark.parametrize("target", OPTIONS)
def test_every_option_of_every_target_is_drawn(target):
    drawn = [target_options(target, Random(seed)) for seed in range(200)]
    assert {} in drawn or target == "cgra"
    for option in fields(OPTIONS[target]):
        if option.name not in NOT_DRAWN:
            assert len({repr(options.get(option.name, option.default)) for options in drawn}) > 1, option.name


@pytest.mark.parametrize("generator", GENERATORS)
def test_gcc_takes_what_generators_draw(generator, tmp_path):
    texts = {f"f{seed}": GENERATORS[generator].draw(Random(seed), NAME) for seed in range(30)}
    for name, text in texts.items():
        (tmp_path / f"{name}.c").write_text(text)
        assert function_data(text, NAME, 1)
    subprocess.run(["gcc", "-fsyntax-only", "-w", *(f"{name}.c" for name in texts)], cwd=tmp_path, check=True)


def test_data_have_the_types_and_extents_of_the_parameters():
    text = "void f(const bool a[2][3], uint64_t out_in[4], float z[1], const unsigned short n[5]) {"
    assert {name: (str(kind), shape) for name, (kind, shape) in parameters_of(text, "f").items()} == {
        "a": ("bool", (2, 3)), "out_in": ("uint64", (4,)), "z": ("float32", (1,)), "n": ("uint16", (5,))}
    words = function_data("void f(int8_t x[1000])", "f", 3)["x"]
    assert {-128, 127, 0, 1} <= set(words.tolist())


def test_texts_are_reduced_to_what_fails():
    text = "#pragma scop\n  y[i] = ((a[i] + (3 * b[i])) << (known & 7)) - (a[i] >> (b[i] & 3));\n"
    assert reduce_text(text, lambda t: ">>" in t) == "#pragma scop\n  y[i] = (0) - (a[i] >> (0));\n"


def test_lines_and_blocks_are_left_out():
    text = """static int g(int v) {
  return v;
}
void f(const int a[8]) {
#pragma scop
  for (int i = 0; i < 8; i++) {
    int s = 1;
    y[i] = (a[i] / (s & 3 | 1)) + (a[i] % (1 + g(3)));
  }
#pragma endscop
}
"""
    assert reduce_text(text, lambda t: "/" in t and "#pragma endscop\n}" in t) == """void f(const int a[8]) {
#pragma scop
  for (int i = 0; i < 8; i++) {
    y[i] = (a[i] / (1)) + (0);
  }
#pragma endscop
}
"""


def test_a_smaller_program_fails_in_the_same_way(monkeypatch):
    monkeypatch.setattr("tests.fuzz.programs.check",
                        lambda job, case, seconds: Outcome("wrong", f"in line 3\n{case}: 4: 5\n"))
    monkeypatch.setattr("tests.fuzz.programs.case_of", lambda text, seed: text)
    job = Job(1, "fpga")
    assert is_same_failure(job, _BAD, 9, "AssertionError")
    assert not is_same_failure(job, _BAD, 9, "IndexError")


def test_what_gcc_refuses_is_no_smaller_program():
    assert not is_same_failure(Job(1, "fpga"), _BAD, 9, "void f(const int a[8], int b[8], int y[8]) {")


def test_a_wrong_model_is_found_and_written_as_a_test(monkeypatch, tmp_path):
    def wrong(program, inputs, options):
        return {array.name: np.full(array.shape, 77) for array in program.outputs}

    monkeypatch.setitem(MODELS, "fpga", wrong)
    monkeypatch.setattr(command, "_BATCH", 1)
    monkeypatch.setattr(command, "reduce_text", partial(reduce_text, attempts=5))
    seed = next(s for s in range(100) if generator_name(s) == "constants")
    found = command.search_programs(seed, command.Search(("fpga",), rtl=0))
    assert [outcome.kind for _, outcome in found.outcomes] == ["wrong"]
    ((name, text),) = found.failures
    assert name == f"test_wrong_fpga_{seed}.py"
    path = tmp_path / name
    path.write_text(text)
    scope = runpy.run_path(str(path))
    with pytest.raises(AssertionError):
        scope["test_results_are_those_of_gcc"]()


def test_a_wrong_program_is_found_once_for_all_targets(monkeypatch):
    monkeypatch.setattr("tests.fuzz.programs.interpret", lambda program, inputs: {"y": np.full(8, 77)})
    monkeypatch.setattr(command, "_BATCH", 1)
    monkeypatch.setattr(command, "reduce_text", lambda text, fails: text)
    seed = next(s for s in range(100) if generator_name(s) == "constants")
    found = command.search_programs(seed, command.Search())
    assert {outcome.kind for _, outcome in found.outcomes} == {"wrong"}
    assert [name for name, _ in found.failures] == [f"test_wrong_{FRONT_END}_{seed}.py"]


def test_batches_end_with_the_time():
    assert command.search_programs(1, command.Search(end=0)) == command.Found()


def _endless(program, inputs, options):
    while True:
        pass


def test_programs_that_take_too_long_are_reported(monkeypatch):
    monkeypatch.setitem(MODELS, "fpga", _endless)
    monkeypatch.setattr(command, "_BATCH", 1)
    seed = next(s for s in range(100) if generator_name(s) == "constants")
    found = command.search_programs(seed, command.Search(("fpga",), seconds=0.3))
    ((_, outcome),) = found.outcomes
    assert (outcome.kind, outcome.reason) == ("slow", "more than 0.3 s of processor time")
    ((name, text),) = found.failures
    assert name == f"test_slow_fpga_{seed}.py"
    assert "# more than 0.3 s of processor time\n" in text


def test_a_limit_ends_with_its_work():
    with pytest.raises(TooSlow), limited(0.05):
        _endless(None, None, None)
    with limited(0.05):
        pass
    sum(range(3_000_000))


def test_refused_programs_are_counted_by_reason(monkeypatch):
    from hw.errors import SluiceError

    def refusing(program, inputs, options):
        raise SluiceError("statement 'S3' is not taken")

    monkeypatch.setitem(MODELS, "fpga", refusing)
    tally = Tally(1)
    for seed in (s for s in range(30) if generator_name(s) == "constants"):
        outcome = outcome_of(seed, "fpga")
        assert outcome.kind == "refused"
        tally.add(Job(seed, "fpga"), outcome)
    (known,) = tally.refusals.values()
    assert known["count"] == tally.targets["fpga"]["refused"] == tally.generators["constants"]["programs"] > 1


def test_counts_go_on_where_they_were(tmp_path):
    tally = Tally(7)
    tally.add(Job(3, "fpga", SIMULATORS), Outcome("right", seconds=1.25))
    tally.add(Job(3, "fpga", SIMULATORS), Outcome("slow"))
    tally.save(tmp_path / "counts.json")
    assert json.loads((tmp_path / "counts.json").read_text())["targets"]["fpga"] == {
        "right": 1, "programs": 2, "icarus": 1, "verilator": 1, "slow": 1}
    assert Tally.load(tmp_path / "counts.json") == tally


def test_an_interrupted_search_keeps_its_counts(tmp_path, monkeypatch, capsys):
    def results(executor, options, tally):
        yield command.Found([(Job(7, "fpga"), _RIGHT)])
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "_results", results)
    assert command.main(["--jobs", "1", "--folder", str(tmp_path), "--minutes", "1"]) == 0
    assert Tally.load(tmp_path / "counts.json").targets["fpga"]["programs"] == 1
    assert "interrupted; programs under way are left\n" in capsys.readouterr().out


def test_the_command_line_counts_and_resumes(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(command, "ProcessPoolExecutor", _Serial)
    monkeypatch.setattr(command, "search_programs", lambda first, search: command.Found([(Job(first, "fpga"), _RIGHT)]))
    arguments = ["--seed", "5", "--jobs", "1", "--folder", str(tmp_path), "--target", "fpga", "--minutes", "0.0002"]
    assert command.main(arguments) == 0
    before = Tally.load(tmp_path / "counts.json")
    assert command.main([*arguments, "--resume"]) == 0
    after = Tally.load(tmp_path / "counts.json")
    assert after.seed > before.seed > 5
    assert after.targets["fpga"]["programs"] > before.targets["fpga"]["programs"] > 0
    assert f"0 failures; counts in {tmp_path}/counts.json" in capsys.readouterr().out


_RIGHT = Outcome("right", seconds=0.1)


class _Serial:
    """An executor that does everything at once."""

    def __init__(self, jobs: int, **options: object) -> None:
        self.jobs = jobs

    def __enter__(self) -> _Serial:
        return self

    def __exit__(self, *reason: object) -> None:
        pass

    def submit(self, work, *arguments):
        from concurrent.futures import Future

        future: Future = Future()
        future.set_result(work(*arguments))
        return future


def test_the_command_line_names_its_targets(capsys):
    with pytest.raises(SystemExit):
        command.main(["--target", "abacus"])
    assert "abacus" in capsys.readouterr().err
    assert "vector" in sys.modules["tests.fuzz.programs"].MODELS


def test_options_of_the_front_end_are_none():
    assert options_of(Job(1, FRONT_END)) == {}
