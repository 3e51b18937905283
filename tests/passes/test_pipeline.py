"""Passes and pipelines: every registered pass keeps what programs compute, and pipelines print, parse and refuse."""

from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from pass_programs import TARGET_PIPELINES, before_pass, pass_of, program_for
from random_constants import constant_function
from random_kernels import kernel_function
from random_nests import nest_function
from random_orders import order_function
from random_programs import programs

import compiler
import compiler.bind.registry  # the passes of the targets
from compiler.bind.cgra.pipeline import Preparation, prepare_program
from compiler.bind.cgra.target import Options
from compiler.cli.input_files import read_inputs
from compiler.frontend.apps import load
from compiler.frontend.c_scop import parse_scop
from compiler.ir.interpret import interpret
from compiler.ir.program import Program
from compiler.ir.text import parse_program, print_program
from compiler.ir.verify import verify
from compiler.passes.arrays.passes import PackStreams
from compiler.passes.arrays.stream_lanes import NotPackableError
from compiler.passes.normalize.passes import NormalizeLoops, PadDomains, SelectSources, StaticForm
from compiler.passes.pipeline import PassPipeline, PipelineError, observe_passes, pass_class
from compiler.passes.program_pass import ProgramPass
from compiler.passes.recurrence.array_expansion import BEHIND_GUARDS
from compiler.passes.recurrence.passes import Reassociate
from compiler.passes.registry import PASSES, register_passes
from compiler.passes.state import State
from hw.errors import SluiceError

DRAWN = (constant_function, kernel_function, nest_function, order_function)
def random_programs(count: int) -> list[Program]:
    """Programs that C functions give, of several generators; those that the front end refuses are left out."""
    found = []
    for seed in range(count):
        with_errors = DRAWN[seed % len(DRAWN)](Random(seed), "f")
        try:
            found.append(parse_scop(with_errors))
        except SluiceError:
            continue
    assert len(found) > count // 2
    return found


def outputs_of(state: State, program: Program, seed: int = 1) -> tuple[dict, dict]:
    """What the program computes, and what the one of the state does, through the host's conversions."""
    inputs = read_inputs(program, [], seed)
    layout = state.layout()
    return interpret(program, inputs), layout.join(interpret(state.program, layout.split(inputs)), inputs)


def require_kept(one: ProgramPass, program: Program) -> bool:
    """Assert that the pass keeps the outputs, leaves a program that verifies and round-trips; whether it changed it."""
    before = before_pass(one, program)
    try:
        after = one.apply(before)
    except NotPackableError:
        return False
    verify(after.program, guarded=after.padded is not None or isinstance(one, SelectSources | PackStreams))
    assert parse_program(print_program(after.program)) == after.program
    wanted, found = outputs_of(after, program)
    for name, values in wanted.items():
        np.testing.assert_array_equal(found[name], values, f"{one} changes {name} of\n{print_program(program)}")
    return after is not before and after != before


@pytest.mark.parametrize("name", PASSES)
def test_a_pass_keeps_what_programs_compute(name: str) -> None:
    one = pass_of(name)
    drawn = [] if name == "directives" else random_programs(8)
    named = [program_for(name), program_for("normalize-loops")]
    changed = [require_kept(one, program) for program in (*drawn, *named)]
    assert any(changed), f"{name} had nothing to do"


@given(programs())
@settings(max_examples=10)
def test_the_pipeline_of_the_array_keeps_what_programs_compute(program: Program) -> None:
    try:
        state = PassPipeline.parse(TARGET_PIPELINES).run(State(program))
    except SluiceError:
        return
    wanted, found = outputs_of(state, program)
    assert all(np.array_equal(found[name], values) for name, values in wanted.items())


def test_pipelines_print_and_parse_back() -> None:
    options = Options(transform="tile(y=8, x=8)")
    for preparation in (Preparation(), Preparation(coalesced=True), Preparation(split=True),
                        Preparation(bordered=True), Preparation(predicated=BEHIND_GUARDS[2])):
        pipeline = preparation.pipeline(options)
        assert PassPipeline.parse(str(pipeline)) == pipeline
    assert str(PassPipeline((NormalizeLoops(), PadDomains(everywhere=True)))) == (
        "normalize-loops,pad-domains{everywhere=true}")


@pytest.mark.parametrize(("text", "message"), [
    ("normalise-loops", "there is no pass 'normalise-loops'; there are: directives, coalesce-tile-loops, "
     "rename-clashing-statements"),
    ("static-form,pad-domains", "pass static-form follows pad-domains, which comes after it: write pad-domains first"),
    ("pad-domains{mode=1}", "pass pad-domains has no option 'mode'; it has: everywhere"),
    ("normalize-loops{a=1}", "pass normalize-loops has no option 'a'; it has: none"),
    ("pad-domains{everywhere=3}", "option everywhere of pass pad-domains is 3, which is no bool"),
    ("pad-domains{everywhere=true, everywhere=true}", "an option of pass pad-domains is given twice"),
    ("pad-domains{", "'pad-domains{' is no list of passes such as normalize-loops,static-form: "),
    ("", "'' is no list of passes such as normalize-loops,static-form: "),
])
def test_what_is_no_pipeline_is_refused(text: str, message: str) -> None:
    with pytest.raises(PipelineError) as error:
        PassPipeline.parse(text)
    assert str(error.value).startswith(message)


@pytest.mark.parametrize("text", ["pad-domains,pad-domains", "partition-arrays,partition-arrays"])
def test_arrays_are_changed_once_by_a_pass(text: str) -> None:
    name = text.partition(",")[0]
    with pytest.raises(PipelineError) as error:
        PassPipeline.parse(f"normalize-loops,{text}").run(State(program_for(name)))
    assert str(error.value) == (f"pass {name} has changed the arrays already: name it once, and partition-arrays not "
                                "at all, which every target runs last")


def test_observers_see_every_pass() -> None:
    seen: list[str] = []
    with observe_passes(lambda one, before, after, seconds: seen.append(one.name)):
        prepare_program(load("gaussian", width=8, height=8), Options(), Options().fabric())
    assert seen == ["directives", "fold-extremes", "shorten-recurrences", "normalize-loops", "reassociate",
                    "pad-domains", "narrow-iterator-values", "legalize-tables", "legalize-arrays", "static-form",
                    "insert-window-copies", "expand-arrays", "materialize-iterator-values", "partition-arrays"]


def test_an_asked_pipeline_replaces_the_one_of_the_target() -> None:
    seen: list[str] = []
    options = Options(passes="normalize-loops,static-form")
    with observe_passes(lambda one, before, after, seconds: seen.append(one.name)):
        prepare_program(load("gaussian", width=8, height=8), options, options.fabric())
    assert seen == ["normalize-loops", "static-form", "partition-arrays"]


def test_names_of_passes_are_taken_once() -> None:
    with pytest.raises(ValueError, match="there is a pass 'static-form' already"):
        register_passes({"static-form": "elsewhere:StaticForm"})
    assert pass_class("static-form") is StaticForm and str(Reassociate()) == "reassociate"


@pytest.mark.parametrize("passes", ["", "normalize-loops,pad-domains,static-form"])
def test_the_passes_of_fpga_are_those_that_run(passes: str) -> None:
    """What is observed is one list, and the list that a user gives is all of it, but for the parts of arrays."""
    ran: list[str] = []
    with observe_passes(lambda one, *_: ran.append(one.name)):
        compiler.compile(load("gaussian", width=8, height=8), target="fpga", passes=passes)
    usual = "shorten-recurrences,fold-constant-fills,pack-drains,normalize-loops,pad-domains,static-form,expand-arrays"
    assert ran == [*(passes or usual).split(","), "partition-arrays"]
