"""The command line of SA-C: graphs as text and as pictures, what passes did, what became of loops."""

import xml.etree.ElementTree as ElementTree
from itertools import pairwise

import pytest
from PIL import Image

from compiler.cli.main import main
from compiler.frontend.apps import sac_applications
from compiler.frontend.sac import load_sac
from compiler.frontend.sac.ddcf import parse_module
from compiler.frontend.sac.dfg import parse_dfgs, verify_dfg
from compiler.frontend.sac.picture.layout import Box, Diagram, Placed, Wire, place


def test_dataflow_graphs_as_text(tmp_path):
    assert main(["sac/prewitt", "--passes", "all", "--random", "1", "--dfg", str(tmp_path / "out.dfg")]) == 0
    (dfg,) = parse_dfgs((tmp_path / "out.dfg").read_text())
    verify_dfg(dfg)
    assert dfg.name == "prewitt_6"


def test_pictures_of_graphs(tmp_path):
    assert main(["sac/prewitt", "--passes", "all", "--random", "1", "--ddcf", str(tmp_path / "graph.svg"), "--dfg",
                 str(tmp_path / "flow.png")]) == 0
    texts = ["".join(e.itertext()) for e in ElementTree.parse(tmp_path / "graph.svg").iter() if e.tag.endswith("text")]
    nodes = sum(1 for _ in load_sac(sac_applications()["sac/prewitt"]).optimised()[0].main.graph.walk())
    assert "function prewitt" in texts and texts.count("line 9") and "INTRINSIC sqrt" in texts
    assert sum("line " in text for text in texts) == nodes
    with Image.open(tmp_path / "flow.png") as image:
        assert image.width > 600 and image.height > 600


def test_pictures_are_the_same_each_time(tmp_path):
    for name in ("a.svg", "b.svg"):
        assert main(["sac/median", "--random", "1", "--ddcf", str(tmp_path / name)]) == 0
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()


def overlap(one, other) -> bool:
    return all(a < b + other[2 + axis] and b < a + one[2 + axis]
               for axis, (a, b) in enumerate(zip(one[:2], other[:2], strict=True)))


def check_places(placed: Placed) -> None:
    """No two boxes overlap, all are inside, wires go down."""
    for number, one in enumerate(placed.rectangles):
        assert 0 <= one[0] <= one[0] + one[2] <= placed.width and 0 <= one[1] <= one[1] + one[3] <= placed.height
        assert not any(overlap(one, other) for other in placed.rectangles[:number])
    for path in placed.paths:
        assert all(a[1] <= b[1] for a, b in pairwise(path))
    for parts in placed.inside:
        for _, _, part in parts:
            check_places(part)


def test_boxes_do_not_overlap():
    inner = Diagram((Box(("a",), "node"), Box(("b" * 30,), "node")), (Wire(0, 0, 1, 0),))
    boxes = (*(Box((f"number {n}", "x" * n), "node") for n in range(12)), Box(("loop",), "loop", (inner, inner)))
    wires = tuple(Wire(n, 0, m, n) for n in range(12) for m in (n + 1, n + 5) if m < 13)
    check_places(place(Diagram(boxes, wires)))


def test_what_became_of_loops(tmp_path, capsys):
    assert main(["sac/matrix_product", "--random", "1", "--report", str(tmp_path)]) == 0
    shown = " ".join(capsys.readouterr().out.replace("│", " ").split())
    page = (tmp_path / "report.html").read_text()
    assert "line 5 in main: FORALL of 7 nodes: dataflow graph main_5, 4 nodes" in shown
    assert "line 4: CROSS: generators that are crossed are loops in each other; write the outer generator" in page
    assert "<th>CROSS</th><td class=\"number\">1 → 1</td>" in page and "dfg main_5 {" in page


def test_graphs_after_a_pass(capsys):
    assert main(["sac/prewitt", "--passes", "inline,sizes,inline", "--print-after", "inline", "--print-after", "dead",
                 "--random", "1"]) == 0
    out = capsys.readouterr().out
    rest = out.partition("// after inline\n")[2]
    text = rest[:rest.index("\n}\n") + 3]
    assert len(parse_module(text).functions) == 1 and "FCALL" not in text
    assert "// after sizes" not in out and "dead changed nothing" in out


@pytest.mark.parametrize("arguments, message", [
    (["sac/prewitt", "--print-after", "inline"],
     "--print-after shows what a pass does: give --passes, too, such as --passes all"),
    (["gaussian", "--dfg", "x"], "--dfg is for SA-C programs; the name of one ends in .sc"),
])
def test_command_lines_that_ask_for_what_is_not_there(arguments, message, capsys):
    assert main(arguments) == 1
    assert " ".join(capsys.readouterr().err.split()).endswith(message)


def test_programs_without_dataflow_graphs(tmp_path, capsys):
    (tmp_path / "p.sc").write_text("uint8 f (uint8 a) return (a);")
    (tmp_path / "q.sc").write_text("uint8 f (uint8 n) return (while (n > 1) { next n = n / 2; } return (final (n)));")
    for name, message in (("p", "program p has no loops, so it has no dataflow graphs"),
                          ("q", "no loop of program q can be a dataflow graph: ")):
        assert main([str(tmp_path / f"{name}.sc"), "--random", "1", "--dfg", str(tmp_path / "x")]) == 1
        assert message in " ".join(capsys.readouterr().err.split())
