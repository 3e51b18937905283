"""Option `reassociate`: floating-point sums in partial sums, exact to the program that states their order."""

import numpy as np
import pytest

import compiler
from compiler.bind.registry import TargetError
from compiler.frontend.c_scop import parse_scop
from compiler.hints import find_hints
from compiler.ir.floating import same
from compiler.ir.interpret import interpret
from compiler.passes.directives import TransformError, apply_script

DOT = """
void dot(const float a[48], const float b[48], float r[1]) {
#pragma scop
  float sum = 0.5f;
  for (int k = 0; k < 48; k++)
    sum -= a[k] * b[k];
  r[0] = sum;
#pragma endscop
}
"""


def drawn() -> dict[str, np.ndarray]:
    generator = np.random.default_rng(4)
    return {name: generator.standard_normal(48).astype(np.float32) for name in "ab"}


def test_the_directive_states_the_order_of_the_sum() -> None:
    inputs = drawn()
    after = apply_script(parse_scop(DOT), "reassociate(S1, k, 4)")
    terms = -(inputs["a"] * inputs["b"]).reshape(12, 4)
    parts = np.full(4, -0.0, np.float32)
    for row in terms:
        parts = parts + row
    wanted = (np.float32(0.5) + parts[0]) + (parts[1] + (parts[2] + parts[3]))
    assert same(interpret(after, inputs)["r"], np.array([wanted], np.float32))
    assert not same(interpret(parse_scop(DOT), inputs)["r"], np.array([wanted], np.float32))


def test_the_last_round_may_be_shorter() -> None:
    inputs = drawn()
    after = interpret(apply_script(parse_scop(DOT), "reassociate(S1, k, 5)"), inputs)["r"]
    parts = [np.float32(-0.0)] * 5
    for k, term in enumerate(-(inputs["a"] * inputs["b"])):
        parts[k % 5] = parts[k % 5] + term
    wanted = (np.float32(0.5) + (parts[0] + parts[1])) + (parts[2] + (parts[3] + parts[4]))
    assert same(after, np.array([wanted], np.float32))


def test_partial_keeps_the_results_of_floating_point_sums() -> None:
    with pytest.raises(TransformError) as error:
        apply_script(parse_scop(DOT), "partial(S1, k, 4)")
    assert str(error.value) == ("statement 'S1' (scop.c:6) does not add to its own result, or with an operation that "
                                "needs an order; directive reassociate takes sums of floating-point numbers, whose "
                                "results it changes")


@pytest.mark.parametrize("target", ["fpga", "dataflow"])
def test_a_sum_takes_a_term_per_cycle(target: str) -> None:
    plain = compiler.compile(parse_scop(DOT), target=target)
    design = compiler.compile(parse_scop(DOT), target=target, reassociate=True)
    assert plain.reference is plain.program and plain.predicted_cycles > 48 * 12
    assert design.predicted_cycles < 48 + 120
    run = design.simulate(drawn(), "icarus")
    assert same(run.outputs["r"], interpret(design.reference, drawn())["r"])
    assert run.cycles == design.predicted_cycles


def test_a_hint_names_the_option_where_an_adder_limits() -> None:
    (hint,) = find_hints(compiler.compile(parse_scop(DOT), target="fpga"))
    assert str(hint) == (
        "statement 'S1' (scop.c:6): a loop-carried dependence with a recurrence latency of 12 cycles, so an iteration "
        "starts every 12 cycles; try --reassociate (sums in another order, whose last bits may differ)")


def test_targets_without_floating_point_sums_refuse_the_option() -> None:
    with pytest.raises(TargetError, match="target cgra has no option 'reassociate'; there are: "):
        compiler.compile(parse_scop(DOT), target="cgra", reassociate=True)
