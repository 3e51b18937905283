"""Arrays whose words are narrower or of another sign than the program needs are rejected: operands, operators, sums in
lanes, accumulators, results, extras; in the description and in what the hardware makes of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from systolic_emulator import body as emulated
from systolic_emulator import wrapped
from systolic_programs import kernel_app, scop

from compiler.bind.systolic.choose import choose
from compiler.bind.systolic.kernel import recognise
from compiler.bind.systolic.options import Options
from compiler.bind.systolic.plan import Plan
from compiler.bind.systolic.validate import validate_plan
from compiler.ir.program import Program
from compiler.sched.verify import ValidationError
from hw.dataflow.spec import Operator, Word
from hw.systolic import formats
from hw.systolic.compute import Compute
from hw.systolic.spec import ArraySpec, SystolicError


def largest() -> Program:
    """Comparisons of numbers of both signs, whose steps beyond the bound are guarded."""
    return scop("for (int i = 0; i < 4; i++) { m[i] = -32768; for (int k = 0; k < 5; k++) { int t = x[i][k] - w[k]; "
                "m[i] = m[i] > t ? m[i] : t; } }", "const uint8_t x[4][5], const int16_t w[5], int32_t m[4]")


def scaled() -> Program:
    """Sums of unsigned numbers that are shifted and scaled with an extra before they are stored in fewer bits."""
    return scop("for (int i = 0; i < 4; i++) { int32_t s = 0; for (int k = 0; k < 6; k++) s += x[i + k] * w[k]; "
                "y[i] = (s * z[i]) >> 3; }",
                "const uint8_t x[9], const uint16_t w[6], const int16_t z[4], int16_t y[4]")


PROGRAMS = {
    "product": lambda: kernel_app("mm", I=4, J=4, K=8), "gemm": lambda: kernel_app("gemm", I=4, J=4, K=4),
    "quantised": lambda: kernel_app("quantised_layer"), "largest": largest, "scaled": scaled,
}


@pytest.fixture(scope="module")
def plans() -> dict[str, Plan]:
    return {name: choose(recognise(make()), Options(array="2" if name in ("largest", "scaled") else "2x2"))
            for name, make in PROGRAMS.items()}


def narrower(word: Word) -> Word:
    return replace(word, width=word.width - 1)


def other_sign(word: Word) -> Word:
    return replace(word, signed=not word.signed)


CHANGES = {"narrower": narrower, "of another sign": other_sign}


def rejected(plan: Plan, spec: ArraySpec) -> None:
    with pytest.raises(ValidationError, match=f"array {plan.spec.name}: "):
        validate_plan(replace(plan, spec=spec))


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_the_compiler_made_is_right(plans: dict[str, Plan], name: str) -> None:
    validate_plan(plans[name])


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("name", PROGRAMS)
def test_operands(plans: dict[str, Plan], name: str, change: str) -> None:
    plan = plans[name]
    operands = plan.spec.operands
    assert operands
    for k, operand in enumerate(operands):
        wrong = replace(operand, word=CHANGES[change](operand.word))
        with pytest.raises((ValidationError, SystolicError)):
            validate_plan(replace(plan, spec=replace(plan.spec, operands=(*operands[:k], wrong, *operands[k + 1 :]))))


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("name", PROGRAMS)
def test_accumulators(plans: dict[str, Plan], name: str, change: str) -> None:
    plan = plans[name]
    result = plan.spec.result
    rejected(plan, replace(plan.spec, result=replace(result, word=CHANGES[change](result.word))))


@pytest.mark.parametrize("change", CHANGES)
def test_results_after_a_conversion(plans: dict[str, Plan], change: str) -> None:
    for plan in (plans["quantised"], plans["scaled"]):
        result = plan.spec.result
        assert result.conversion is not None
        stored = CHANGES[change](result.conversion.stored)
        rejected(plan, replace(plan.spec, result=replace(result, conversion=replace(result.conversion, stored=stored))))


@pytest.mark.parametrize("change", CHANGES)
def test_elements_before_a_conversion(plans: dict[str, Plan], change: str) -> None:
    plan = plans["quantised"]
    *others, operand = plan.spec.operands
    assert operand.conversion is not None
    wrong = replace(operand, conversion=replace(operand.conversion, stored=CHANGES[change](operand.conversion.stored)))
    rejected(plan, replace(plan.spec, operands=(*others, wrong)))


@pytest.mark.parametrize("change", CHANGES)
def test_extras(plans: dict[str, Plan], change: str) -> None:
    plan = plans["scaled"]
    (extra,) = plan.spec.extras
    rejected(plan, replace(plan.spec, extras=(replace(extra, word=CHANGES[change](extra.word)),)))


def scheduled(body: tuple[Operator, ...]) -> tuple[Operator, ...]:
    """The body with the words that the hardware has."""
    return formats.find_format("integer").schedule(body)


def damaged(body: tuple[Operator, ...], change: str) -> Iterator[tuple[Operator, ...]]:
    """The body with one operator whose word is changed."""
    for k, operator in enumerate(scheduled(body)):
        if operator.op != "const" and operator.word.width > 1:
            yield (*body[:k], replace(body[k], word=CHANGES[change](operator.word)), *body[k + 1 :])


def computes_alike(body: tuple[Operator, ...], other: tuple[Operator, ...], words: list[Word], result: Word) -> bool:
    """Whether both give the same in `result` for elements of `words`, in an emulation of their own."""
    random = np.random.default_rng(1)
    reads = []
    for word in words:
        low, high = -(1 << word.width - 1) if word.signed else 0, (1 << word.width - word.signed) - 1
        corners = random.choice([low, 0, high], 300)
        reads.append(np.concatenate([random.integers(low, high + 1, 3000), corners]).astype(object))
    first, second = (wrapped(result, np.asarray(emulated(scheduled(part), reads))) for part in (body, other))
    return bool((first == second).all())


def is_rejected(plan: Plan, spec: ArraySpec) -> bool:
    try:
        validate_plan(replace(plan, spec=spec))
    except ValidationError:
        return True
    return False


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("name", PROGRAMS)
def test_operators(plans: dict[str, Plan], name: str, change: str) -> None:
    """Rejected, unless they compute the same: a sum takes as many bits of a product as it has itself."""
    spec = plans[name].spec
    words = [operand.word for operand in spec.operands]
    found = 0
    for body in damaged(spec.body, change):
        wrong = is_rejected(plans[name], replace(spec, body=body))
        assert wrong or computes_alike(spec.body, body, words, spec.result.word)
        found += wrong
    assert found >= 3


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("name", ["quantised", "scaled"])
def test_operators_of_functions_of_results(plans: dict[str, Plan], name: str, change: str) -> None:
    spec = plans[name].spec
    conversion = spec.result.conversion
    assert conversion is not None
    words = [spec.result.word, *(extra.word for extra in spec.extras)]
    found = 0
    for body in damaged(conversion.body, change):
        other = replace(spec.result, conversion=replace(conversion, body=body))
        wrong = is_rejected(plans[name], replace(spec, result=other))
        assert wrong or computes_alike(conversion.body, body, words, conversion.stored)
        found += wrong
    assert found >= 2


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("level", [0, 1, 2])
def test_the_tree_over_lanes(plans: dict[str, Plan], monkeypatch: pytest.MonkeyPatch, level: int, change: str) -> None:
    plan = plans["product"]
    assert plan.spec.lanes == 4
    own = Compute.lane_word

    def wrong(self: Compute, number: int) -> Word:
        word = own(self, number)
        return CHANGES[change](word) if number == level else word

    monkeypatch.setattr(Compute, "lane_word", wrong)
    rejected(plan, plan.spec)


@pytest.mark.parametrize("change", CHANGES)
def test_words_of_the_number_format(plans: dict[str, Plan], monkeypatch: pytest.MonkeyPatch, change: str) -> None:
    own = formats._narrowed

    def wrong(operator: Operator, words: list[Word]) -> Word:
        word = own(operator, words)
        return CHANGES[change](word) if operator.op in ("mul", "sub") else word

    monkeypatch.setattr(formats, "_narrowed", wrong)
    for name in ("product", "quantised", "largest", "scaled"):
        rejected(plans[name], plans[name].spec)


def test_what_beyond_a_bound_changes_nothing(plans: dict[str, Plan], monkeypatch: pytest.MonkeyPatch) -> None:
    plan = plans["largest"]
    monkeypatch.setattr(formats.Integers, "neutral", lambda self, op, word: 5)
    rejected(plan, plan.spec)
