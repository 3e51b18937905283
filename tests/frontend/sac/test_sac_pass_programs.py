"""Each pass is at work on random programs that ask for it; and sequences of passes come to an end."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_sac import Writer
from random_sac_loops import LoopWriter
from test_sac_loop_passes import did, same

from compiler.frontend.apps import sac_applications
from compiler.frontend.sac import SacError, load_sac, parse_sac
from compiler.frontend.sac.passes import CYCLE, count_nodes, optimise


@pytest.mark.parametrize("kind, passes", [
    ("unused", ["windows"]), ("narrowed", ["narrow"]), ("invariant", ["hoist"]), ("converted", ["casts"]),
])
@given(seed=st.integers(0, 2**32))
@settings(max_examples=12)
def test_passes_change_programs_that_ask_for_them(kind, passes, seed):
    done = same(parse_sac(getattr(LoopWriter(seed), kind)()), passes, seed)
    assert list(done.changes) == passes
    if passes[0] in ("windows", "narrow"):
        assert did(done, passes[0])


@pytest.mark.parametrize("name", sac_applications())
def test_sequences_end_where_nothing_changes(name):
    program = load_sac(sac_applications()[name])
    done = optimise(program.module, program.main.name)
    assert all(1 <= rounds < 10 for rounds in done.rounds) and len(done.rounds) == 2
    again = optimise(done.module, program.main.name, ["cycle"])
    assert again.module == done.module and again.changes == {} and again.rounds == (1,)
    before, after = (sum(count_nodes(module).values()) for module in (program.module, done.module))
    assert after == before + sum(done.nodes.values())


@given(st.integers(0, 2**32))
@settings(max_examples=15)
def test_sequences_end_on_random_programs(seed):
    program = parse_sac(Writer(seed).program())
    try:
        done = optimise(program.module, "main", ["most"])
    except SacError:
        return
    assert set(optimise(done.module, "main", ["cycle"]).changes) <= set(CYCLE)
    assert optimise(optimise(done.module, "main", ["cycle"]).module, "main", ["cycle"]).changes == {}
