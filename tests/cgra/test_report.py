"""The report page: well formed, self-contained, and true to the design."""

from __future__ import annotations

import re
from html import unescape
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest

import compiler
from compiler.bind.cgra.design import CgraDesign
from compiler.bind.cgra.floor_plan import net_colours
from compiler.bind.cgra.netlist import PeNode, Pin
from compiler.bind.cgra.report import activities
from compiler.bind.design import Run
from compiler.frontend.loop_nest import load, prog

VOID = {"meta", "rect", "line", "circle"}


class Checker(HTMLParser):
    """Collects elements; fails if one is closed that is not open."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, Any]]] = []
        self.texts: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def parsed(page: str) -> Checker:
    checker = Checker()
    checker.feed(page)
    checker.close()
    assert checker.open == []
    return checker


def compiled(name: str, memory: str = "pub", array: str = "4x8", **parameters: int) -> CgraDesign:
    design = compiler.compile(load(name, **parameters), memory=memory, array=array)
    assert isinstance(design, CgraDesign)
    return design


@pytest.fixture(scope="module")
def cascade() -> CgraDesign:
    return compiled("cascade", width=30, height=10)


def test_the_page_is_well_formed_and_needs_nothing_else(cascade: CgraDesign) -> None:
    page = cascade.report()
    checker = parsed(page)
    assert page.startswith("<!doctype html>\n")
    assert not {"script", "link", "img", "iframe"} & {tag for tag, _ in checker.elements}
    assert not any(key in ("src", "href") for _, attributes in checker.elements for key in attributes)
    headings = re.findall(r"<h2>(.*?)</h2>", page)
    assert headings == ["Result", "Choices", "Floor plan", "Schedule", "Occupancy", "Buffers", "Hardware",
                        "Compile time"]


def rows(page: str) -> dict[str, str]:
    cells = re.findall(r'<tr><th>(.*?)</th><td class="number">(.*?)</td></tr>', page)
    return {unescape(key): unescape(value) for key, value in cells}


def test_numbers_without_a_run(cascade: CgraDesign) -> None:
    found = rows(cascade.report())
    assert found["unstalled cycles predicted"] == str(cascade.predicted_cycles)
    assert found["lower bound"] == "300"
    assert found["path latency"] == f"{cascade.path_latency} cycles"
    assert found["PEs"] == "18"
    assert found["array"] == "4x8"
    assert found["ratio to the bound"] == f"{cascade.predicted_start_to_done / 300:.4f} (predicted)"
    assert "equal to the reference" not in found


@pytest.mark.parametrize(("equal", "text"), [(True, "yes"), (False, "NO")])
def test_numbers_of_a_run(cascade: CgraDesign, equal: bool, text: str) -> None:
    run = Run({"conv2": np.zeros(1)}, 1234, 56, 7890, "icarus", 9999, 1.0, 2.0)
    found = rows(cascade.report(run, equal))
    assert found["of these unstalled"] == "1234 (and 56 stalled)"
    assert found["cycles from start to done (icarus)"] == "7890"
    assert found["equal to the reference"] == text
    assert found["ratio to the bound"] == f"{7890 / 300:.4f}"


def test_the_floor_plan_shows_every_tile_and_unit(cascade: CgraDesign) -> None:
    page = cascade.report()
    titles = [unescape(t) for t in re.findall(r"<title>(.*?)</title>", page)]
    tiles = dict(re.findall(r"tile \((\d+, \d+)\): (.*)", "\n".join(titles)))
    assert len(tiles) == 32
    placed = {f"{site.row}, {site.column}": name for name, site in cascade.physical.placement.sites.items()
              if site.row >= 0}
    assert {where: name for where, name in tiles.items() if name != "unused"} == placed
    assert sum(title.startswith("bank ") for title in titles) == 8
    wires = [title for title in titles if " on " in title and not title.startswith("cascade")]
    assert len(wires) == cascade.physical.routes.wires


def test_every_unit_is_labelled_with_its_operation(cascade: CgraDesign) -> None:
    texts = parsed(cascade.report()).texts
    operations = [node.config.op for node in cascade.application.netlist.nodes.values() if isinstance(node, PeNode)]
    for name in set(operations):
        assert texts.count(name) == operations.count(name)


def test_activity_of_streams_and_statements(cascade: CgraDesign) -> None:
    found = {a.name: a for a in activities(cascade)}
    assert list(found) == ["load_input", "Conv1", "Conv2", "store_conv2"]
    assert [found[n].busy for n in found] == [300, 224, 156, 156]
    assert found["store_conv2"].last == cascade.predicted_cycles - 1
    assert all(a.first < a.last for a in found.values())
    assert rows(cascade.report())["load_input"] == f"{300 / cascade.predicted_cycles:.1%}"


def test_buffers_are_drawn_to_scale(cascade: CgraDesign) -> None:
    page = cascade.report()
    for buffer in cascade.storage:
        assert f"{buffer.live_words} live, {buffer.allocated_words} allocated ({', '.join(buffer.units)})" in page
    live = [float(w) for w in re.findall(r'<rect class="live" [^>]*width="([\d.]+)"', page)]
    allocated = [float(w) for w in re.findall(r'<rect class="allocated" [^>]*width="([\d.]+)"', page)]
    most = max(max(b.live_words, b.allocated_words) for b in cascade.storage)
    assert live == [pytest.approx(600 * b.live_words / most, abs=0.1) for b in cascade.storage]
    assert allocated == [pytest.approx(600 * b.allocated_words / most, abs=0.1) for b in cascade.storage]


def test_a_design_without_memories() -> None:
    prg = prog("<plain> & \"simple\"")
    prg.add_input("a", shape=(4, 6))
    prg.add_output("b")
    op = prg.add_loop("y", 0, 4).add_loop("x", 0, 6).add_op("Copy")
    op.add_load("a", "x", "y")
    op.add_store("b", "x", "y")
    design = compiler.compile(prg.build(), array="2x4")
    page = design.report()
    checker = parsed(page)
    assert "No buffer needs a memory tile." in page
    assert '<plain> & "simple" on a 2x4 array' in checker.texts


@pytest.mark.parametrize(("name", "parameters"), [
    ("brighten_blur", {"tiles": 2, "size": 6}), ("upsample", {"width": 6, "height": 4}),
])
@pytest.mark.parametrize("memory", ["pub", "dual-port"])
def test_every_kind_of_application_has_a_page(name: str, parameters: dict[str, int], memory: str) -> None:
    parsed(compiled(name, memory, **parameters).report())


def test_nets_have_different_colours() -> None:
    colours = net_colours([Pin(f"u{k}", "word0") for k in range(40)])
    assert len(set(colours.values())) == 40
