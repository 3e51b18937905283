"""Arrays of recurrences: every choice of space loops is proven by a run of its processes, and faults are found."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from recurrence_programs import APPS, SIZES, program_data, random_recurrence, recurrence, scop

from compiler.bind.systolic.recurrence import Settings, compile_recurrence
from compiler.bind.systolic.recurrence.depths import SizedArray, sized_array
from compiler.bind.systolic.recurrence.mapping import ArrayMapping, space_choices
from compiler.bind.systolic.recurrence.recurrence import analyse_recurrence
from compiler.bind.systolic.recurrence.validate import validate_array
from compiler.frontend.c_scop import load_c
from compiler.ir.program import Program
from compiler.sched.space_time.errors import SpaceTimeError
from hw.systolic.recurrence.spec import CellSpec


def arrays(program: Program) -> list[SizedArray]:
    """Validated arrays for all choices of space loops."""
    found = analyse_recurrence(program)
    return [sized_array(found, space, Settings()) for space in space_choices(found)]


@pytest.mark.parametrize("name", SIZES)
def test_every_choice_of_space_loops_is_valid(name: str) -> None:
    found = arrays(recurrence(name))
    assert len(found) >= 3
    for array in found:
        assert array.network.cycles <= 1.01 * array.unbounded_cycles + 1


@given(random_recurrence())
@settings(max_examples=8, deadline=None)
def test_random_recurrences(text: str) -> None:
    for array in arrays(scop(text)):
        assert array.network.fired


def test_lu_is_a_triangle() -> None:
    """Wang 2021, section 8.2: space loops j and k; A enters the first row only, one result leaves at the diagonal."""
    array = compile_recurrence(load_c(APPS / "lu.c", N=6), ("j", "k")).array.mapping
    places = {cell.place for cell in array.spec.cells}
    assert places == {(j, k) for j in range(6) for k in range(5) if k <= j}
    (load,) = array.spec.loads
    assert {array.spec.cells[cell].place[1] for cell, _ in load.leaves} == {0}
    drained = {stream.statement: {array.spec.cells[cell].place for cell, _ in chain.leaves}
               for stream, chain in zip(array.outputs, array.spec.drains, strict=True)}
    assert drained["S1"] == {(k, k) for k in range(5)}
    assert drained["S0"] == {(j, k) for j, k in places if j > k}
    steps = {tuple(b - a for a, b in zip(array.spec.cells[w.source].place, array.spec.cells[w.sink].place, strict=True))
             for w in array.spec.wires}
    assert steps == {(1, 0), (0, 1)}


def test_what_the_array_does_is_told() -> None:
    design = compile_recurrence(recurrence("lu"), ("j", "k"))
    assert design.resources["dividers"] == 3 and design.resources["cells"] == 9
    assert design.lower_bound <= design.predicted_cycles
    assert design.arrays == (("i",), ("j",), ("k",), ("i", "j"), ("i", "k"), ("j", "k"))
    assert design.choices["space"] == "j, k"
    assert all(s.live_words <= s.allocated_words for s in design.storage)
    page = design.report()
    assert page.count("<rect") == 9 and "from its statement (1, 0, 1)" in page


def broken(mapping: ArrayMapping, change: str) -> ArrayMapping:
    """`mapping` with one fault in its hardware."""
    spec = mapping.spec
    if change == "wire":
        first, second, *_ = (k for k, w in enumerate(spec.wires) if w.sink == spec.wires[-1].sink)
        wires = list(spec.wires)
        wires[first], wires[second] = (replace(wires[first], port=wires[second].port),
                                       replace(wires[second], port=wires[first].port))
        return replace(mapping, spec=replace(spec, wires=tuple(wires)))
    kinds = tuple(_changed(kind, change) for kind in spec.kinds)
    return replace(mapping, spec=replace(spec, kinds=kinds))


def _changed(kind: CellSpec, change: str) -> CellSpec:
    if change == "select":
        always = [tuple(replace(source, select=((),)) for source in o.sources) for o in kind.operands]
        return replace(kind, operands=tuple(replace(o, sources=s) for o, s in zip(kind.operands, always, strict=True)))
    if change == "push":
        return replace(kind, queues=tuple(replace(q, push=((),)) for q in kind.queues))
    if change == "depth":
        return replace(kind, queues=tuple(replace(q, depth=1) for q in kind.queues))
    return replace(kind, nodes=tuple(replace(n, fires=()) if n.name == "S1" else n for n in kind.nodes))


@pytest.mark.parametrize(("space", "change", "message"), [
    (("i", "j"), "wire", r"array lu: (operand \d of S\d\[.*\] is .*, not |it would get stuck: )"),
    (("i",), "select", r"array lu: (cell|operand|it would get stuck|\d+ words stay)"),
    (("i",), "push", r"array lu: cell \(\d,\) uses a word that it does not have, in step "),
    (("i",), "fires", r"array lu: (cell|statement|operand|it would get stuck)"),
    (("k",), "depth", r"array lu: it would get stuck: .* at step \d+ waits for (room in|a word from) "),
])
def test_faults_are_found(space: tuple[str, ...], change: str, message: str) -> None:
    array = sized_array(analyse_recurrence(recurrence("lu")), space, Settings())
    validate_array(array.mapping)
    with pytest.raises(SpaceTimeError, match=message):
        validate_array(broken(array.mapping, change))


def test_data_fit_the_programs() -> None:
    for name in SIZES:
        program = recurrence(name)
        assert set(program_data(program, 1)) == {array.name for array in program.inputs}
