"""The random search finds what is wrong, makes it small, and writes a test of it."""

from __future__ import annotations

import runpy
import sys
from functools import partial

import numpy as np
import pytest

from tests.fuzz import __main__ as command
from tests.fuzz.programs import MODELS, Job, draw, failure_of, is_same_failure, text_of
from tests.fuzz.reduce import reduce_text


def test_a_seed_always_draws_the_same_program():
    assert draw(11) == draw(11)
    assert text_of(draw(11)) == text_of(draw(11))
    assert len({text_of(draw(seed)) for seed in range(20)}) == 20


def test_every_target_and_simulator_is_drawn():
    jobs = [draw(seed) for seed in range(3000)]
    assert {job.target for job in jobs} == set(MODELS)
    assert {job.simulator for job in jobs} == {"", "verilator", "icarus"}


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
    monkeypatch.setattr("tests.fuzz.programs._failure", lambda job, text: f"in line 3\n{text}: 4: 5\n")
    job = Job(1, "fpga", "")
    assert is_same_failure(job, "AssertionError: 1", "AssertionError")
    assert not is_same_failure(job, "AssertionError: 1", "IndexError")


def test_what_gcc_refuses_is_no_smaller_program():
    assert not is_same_failure(Job(1, "fpga", ""), "AssertionError: 1", "void f(const int a[8], int b[8], int y[8]) {")


def test_a_wrong_model_is_found_and_written_as_a_test(monkeypatch, tmp_path, capsys):
    def wrong(program, inputs, options):
        return {array.name: np.ones(array.shape, int) for array in program.outputs}

    monkeypatch.setitem(MODELS, "fpga", wrong)
    monkeypatch.setattr("tests.fuzz.programs._RTL", 0)
    seed = next(s for s in range(100) if failure_of(Job(s, "fpga", "")))
    monkeypatch.setattr(command, "_BATCH", 1)
    monkeypatch.setattr(command, "reduce_text", partial(reduce_text, attempts=5))
    kind, count, failures = command.search_programs(seed, ("fpga",))
    assert (kind, count) == ("programs", 1)
    ((name, text),) = failures
    path = tmp_path / name
    path.write_text(text)
    scope = runpy.run_path(str(path))
    with pytest.raises(AssertionError):
        scope["test_results_are_those_of_gcc"]()


def test_batches_end_with_the_time():
    assert command.search_programs(1, ("fpga",), end=0) == ("programs", 0, [])


def test_refused_programs_are_no_failures():
    from hw.errors import SluiceError

    def refusing(program, inputs, options):
        raise SluiceError("not taken")

    MODELS["refusing"] = refusing
    try:
        assert failure_of(Job(3, "refusing", "")) == ""
    finally:
        del MODELS["refusing"]


def test_the_command_line_names_its_targets(capsys):
    with pytest.raises(SystemExit):
        command.main(["--target", "abacus"])
    assert "abacus" in capsys.readouterr().err
    assert "vector" in sys.modules["tests.fuzz.programs"].MODELS
