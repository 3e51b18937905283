"""The hand-written vector benchmarks on the simulator of instructions, the median's networks, the command line."""

import json
import re
import shutil

import numpy as np
import pytest

from benchmarks import vector, vector_compiled, vector_median, vector_tables
from benchmarks.results import read_results
from benchmarks.vector_cases import CASES, ELEMENTS, Case
from hw.vector_lanes.spec import VectorSpec

RUNS = [(case, element, lanes) for i, (case, element) in
        enumerate((case, element) for case in CASES for element in CASES[case].elements)
        for lanes in ((1, 64) if i % 2 else (4, 16))]


@pytest.mark.parametrize("case, element, lanes", RUNS)
def test_small_problems(case, element, lanes):
    figures = vector.model_vector(CASES[case], element, lanes, CASES[case].smoke)
    assert figures["bound"] >= figures["ALU bound"] > 0
    assert figures["wavefronts"] >= figures["ALU bound"]


@pytest.mark.parametrize("case, per_element", [("fir", 16), ("2Dfir", 10), ("life", 6), ("imgblend", 3)])
def test_operations_per_element(case, per_element):
    """What the algorithms need: no more than 3 % above that, for halos and margins."""
    macros = CASES[case].sizes
    elements = macros.get("N") or macros["ROWS"] * macros["COLUMNS"]
    figures = vector.model_vector(CASES[case], "word", 64, macros)
    assert per_element * elements * 0.98 < figures["operations"] < per_element * elements * 1.03


def test_lower_bound():
    counts = {"operations": 70, "operation_bytes": 65, "dma_bytes": 63}
    assert vector.lower_bound(counts, VectorSpec(1)) == {
        "operations": 70, "transferred bytes": 63, "ALU bound": 17, "memory bound": 16, "bound": 17}


# --- median -----------------------------------------------------------------------------------------------------------


def bits_of_all_inputs(count):
    """Input k of a network as the bits of all 2**count combinations, packed in words of 64."""
    words = 1 << (count - 6)
    low = [sum(((i >> k) & 1) << i for i in range(64)) for k in range(6)]
    rows = [np.full(words, value, np.uint64) for value in low]
    index, ones = np.arange(words, dtype=np.uint64), ~np.uint64(0)
    return rows + [np.where(index >> np.uint64(k) & np.uint64(1), ones, np.uint64(0)) for k in range(count - 6)]


def logic(network, inputs):
    """The network on bits: the minimum is and, the maximum is or."""
    values = dict(inputs)
    for node, (op, a, b) in network.operations.items():
        values[node] = values[a] & values[b] if op == "VMIN" else values[a] | values[b]
    return {name: values[node] for name, node in network.outputs.items()}


def sorted_row(networks, row):
    """What compare_neighbours of median.c does, then the network."""
    low, high, low2, high2 = row[0] & row[1], row[0] | row[1], row[2] & row[3], row[2] | row[3]
    smaller = low & low2
    inputs = {"s0": row[4] & smaller, "c0": row[4] | smaller, "e1": low | low2, "o0": high & high2, "o1": high | high2}
    result = logic(networks["sort_row"], inputs)
    return [result[f"s{i}"] for i in range(5)]


def at_least(bits, least):
    """Per position, whether at least `least` of the inputs are one: sums of bits, digit by digit."""
    digits = [np.zeros_like(bits[0]) for _ in range(5)]
    for carry in bits:
        for i, digit in enumerate(digits):
            digits[i], carry = digit ^ carry, digit & carry
    result, equal = np.zeros_like(bits[0]), ~np.zeros_like(bits[0])
    for i in reversed(range(5)):
        if not least >> i & 1:
            result |= equal & digits[i]
        equal &= digits[i] if least >> i & 1 else ~digits[i]
    return result | equal


@pytest.mark.parametrize("output, alone", [("x0", "a"), ("y0", "b")])
def test_median_of_every_input_of_zeros_and_ones(output, alone):
    """0-1 principle: right for all 2**25 windows of bits means right for all windows."""
    networks = vector_median.networks()
    values = bits_of_all_inputs(25)
    rows = [sorted_row(networks, values[5 * i:5 * i + 5]) for i in range(5)]
    pairs = [logic(networks["merge_pair"], {**{f"a{i}": a[i] for i in range(5)}, **{f"b{i}": b[i] for i in range(5)}})
             for a, b in ((rows[0], rows[1]), (rows[2], rows[3]))]
    inputs = {f"p{i}": pairs[0][f"p{i}"] for i in range(10)} | {f"q{i}": pairs[1][f"p{i}"] for i in range(10)}
    inputs |= {f"{letter}{i}": rows[4][i] for letter in "ab" for i in range(5)}
    network = networks["medians"]
    assert alone in "ab" and np.array_equal(logic(network, inputs)[output], at_least(values, 13))


def test_network_in_c_is_current():
    """Written by ``python -m benchmarks.vector_median``."""
    assert vector_median.HEADER.read_text() == vector_median.header_text()


def test_operations_of_the_median():
    sizes = {name: len(network.operations) for name, network in vector_median.networks().items()}
    # compare_neighbours of median.c comes before sort_row and takes eight.
    sort = sizes["sort_row"] + 8
    assert sort + sizes["merge_pair"] / 2 + sizes["medians"] / 2 == vector_median.OPERATIONS_PER_OUTPUT


# --- command line -----------------------------------------------------------------------------------------------------


def test_command_without_simulation(tmp_path, capsys):
    target = tmp_path / "figures.json"
    arguments = ["--model", "--smoke", "--case", "imgblend", "--element", "byte", "--lanes", "4", "-o", str(target)]
    assert vector.main(arguments) == 0
    figures = json.loads(target.read_text())["benchmarks"]["imgblend"]["byte"]["V4"]
    assert figures["operations"] == 3 * 5000 and figures["transferred bytes"] == 3 * 5000
    assert "bound 1875 (ALU 1875, memory 938)" in capsys.readouterr().out


def test_update_keeps_other_figures(tmp_path, capsys):
    target = tmp_path / "figures.json"
    for lanes in ("4", "16"):
        assert vector.main(["--model", "--smoke", "--case", "fir", "--element", "half", "--lanes", lanes, "--update",
                            "-o", str(target)]) == 0
    assert list(json.loads(target.read_text())["benchmarks"]["fir"]["half"]) == ["V4", "V16"]
    capsys.readouterr()
    assert vector.main(["--model", "--case", "fir", "--update", "-o", str(target)]) == 1
    assert capsys.readouterr().err == f"error: {target} has figures of another kind of run and cannot be updated\n"
    target.write_text("{")
    assert vector.main(["--model", "--case", "fir", "--update", "-o", str(target)]) == 1
    assert capsys.readouterr().err.startswith(f"error: {target} cannot be updated: ")


def test_errors_of_the_command(capsys):
    assert vector.main(["--lanes", "x", "--model", "--smoke", "--case", "fir"]) == 1
    assert capsys.readouterr().err == "error: --lanes takes numbers with commas between them, not 'x'\n"


def test_wrong_results_are_no_figures(monkeypatch, tmp_path):
    """A program that forgets a tap is caught, with the place and both values."""
    folder = tmp_path / "vector_c"
    shutil.copytree(vector.__file__.replace("vector.py", "vector_c"), folder)
    text = (folder / "fir.c").read_text()
    (folder / "fir.c").write_text(text.replace("int i = 1; i < TAPS", "int i = 2; i < TAPS"))
    monkeypatch.setattr(vector, "_FOLDER", folder)
    message = r"^fir, word, V4, simulator: y\[0\] is -?\d+, the reference says -?\d+$"
    with pytest.raises(vector.VectorFigureError, match=message):
        vector.model_vector(CASES["fir"], "word", 4, CASES["fir"].smoke)


def test_cases_cover_the_benchmarks():
    assert list(CASES) == ["fir", "2Dfir", "life", "imgblend", "median", "motest"]
    assert all(isinstance(case, Case) and set(case.elements) <= set(ELEMENTS) for case in CASES.values())
    assert re.fullmatch(r"[a-z0-9 ]+", " ".join(case.source for case in CASES.values()))


# --- tables -----------------------------------------------------------------------------------------------------------


def test_tables_have_every_figure(capsys):
    """Cycles, bound, ratio and operations of every program, element type and machine that has been measured."""
    assert vector_tables.main([]) == 0
    text = capsys.readouterr().out
    for elements in read_results("vector_compiled")["applications"].values():
        for line in [line for machines in elements.values() for line in machines.values()]:
            assert f"| {line['cycles']} (" in text
            assert f"| {line['bound']} ({line['ratio']}) {line['operations']} |" in text
    for elements in read_results("vector")["benchmarks"].values():
        for line in [line for element in elements if element in ELEMENTS for line in elements[element].values()]:
            assert f"| {line['cycles']} / {line['bound']} ({line['ratio']}) |" in text
    assert all(f"Liu 2012, table{number}" in text for number in (" 5.3", "s 5.2 and 5.8", "s 5.4 to 5.6"))


def test_one_command_measures_what_the_tables_need(monkeypatch, capsys):
    run = []
    for module, status in ((vector, 0), (vector_compiled, 1)):
        monkeypatch.setattr(module, "main", lambda arguments, m=module, s=status: run.append((m, arguments)) or s)
    assert vector_tables.main(["--measure"]) == 1
    assert run == [(vector, []), (vector_compiled, [])] and capsys.readouterr().out == ""
