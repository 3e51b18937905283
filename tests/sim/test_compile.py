"""How Verilator is told to treat modules that are used often."""

from hw.sim.compile import BuildRequest, _hierarchy

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
