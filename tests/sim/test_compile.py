"""How Verilator is told to treat modules that are used often."""

from pathlib import Path

import pytest

from hw.sim.bench import run_bench
from hw.sim.compile import (
    _VERY_LARGE,
    BuildError,
    BuildRequest,
    _hierarchy,
    _optimisation,
    _public_signals,
    _verilator_options,
)
from hw.sim.simulate import Job, prepare

TILE = "module tile(input clk, input [7:0] a, output reg [7:0] y);\n" + "// a large module\n" * 1200 + "endmodule\n"
SMALL = "module small(input clk, input [7:0] a, output reg [7:0] y);\nendmodule\n"


def grid(count: int) -> dict[str, str]:
    instances = [f"  tile #(.N({n})) \\t[{n}] (.clk(clk));\n  small s{n} (.clk(clk));" for n in range(count)]
    body = "\n".join(instances)
    return {"grid.v": f"module grid(input clk);\n{body}\nendmodule\n", "tile.v": TILE, "small.v": SMALL}


def test_a_module_used_once_is_dissolved():
    assert _hierarchy(BuildRequest(grid(1), "grid")) == ("", [])


def test_a_large_module_used_twice_is_kept():
    assert _hierarchy(BuildRequest(grid(2), "grid")) == ('no_inline -module "tile"\n', [])


def test_very_many_instances_share_their_code():
    text, options = _hierarchy(BuildRequest(grid(64), "grid"))
    assert text.splitlines() == ['no_inline -module "tile"', 'public_flat_rw -module "tile" -var "a"']
    assert options == ["-fno-dfg"]


def test_what_is_only_read_is_no_input():
    """The logic behind a signal that a bench writes is compiled once more."""
    request = BuildRequest(grid(1) | {"top.v": "module top(input a, output y);\nendmodule\n"}, "top",
                           public=("tile.a",), visible=("tile.y",))
    assert _public_signals(request).splitlines() == [
        "`verilator_config", 'public_flat_rw -module "top" -var "a"', 'public_flat_rw -module "tile" -var "a"',
        'public_flat_rd -module "top" -var "y"', 'public_flat_rd -module "tile" -var "y"']


@pytest.mark.parametrize(("expected", "fast", "option"), [(None, False, "-O1"), (100_001, False, "-O1"),
                                                          (100_000, False, "-O0"), (10, True, "-O2")])
def test_short_runs_are_built_in_less_time(expected: int | None, fast: bool, option: str, monkeypatch):
    """As far as their length is known, and nobody asks for speed."""
    asked: list[BuildRequest] = []
    monkeypatch.setattr("hw.sim.simulate.build", asked.append)
    copier = Path(__file__).parents[2] / "tb" / "sim_copier.v"
    prepare(Job({copier.name: copier.read_text()}, copier.stem, 4096, expected_cycles=expected, fast=fast))
    assert _optimisation(asked[0])["OPT_FAST"].startswith(option)
    assert ("-fno-merge-cond-motion" in _verilator_options(asked[0], None)) is (option == "-O0")


def test_benches_are_built_in_less_time(monkeypatch):
    asked: list[BuildRequest] = []

    def ask(request: BuildRequest) -> None:
        asked.append(request)
        raise BuildError("asked")

    monkeypatch.setattr("hw.sim.bench.build", ask)
    with pytest.raises(BuildError, match=r"^asked$"):
        run_bench({"tile.v": TILE}, "tile", "bench")
    assert _optimisation(asked[0])["OPT_FAST"].startswith("-O0")


@pytest.mark.parametrize(("instances", "fast", "left_out"), [(1, False, True), (2, False, False), (1, True, False)])
def test_very_long_functions_are_compiled_with_less_effort(instances: int, fast: bool, left_out: bool):
    """Where a large module is dissolved, and nobody asks for speed."""
    sources = grid(instances) | {"tile.v": TILE + "// more\n" * (_VERY_LARGE // 8)}
    request = BuildRequest(sources, "grid", fast=fast)
    assert ("-fno-merge-cond-motion" in _verilator_options(request, None)) is left_out
    assert ("-fno-tree-fre" in _optimisation(request)["OPT_FAST"]) is left_out
