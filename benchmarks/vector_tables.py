"""The tables of the soft vector processor: those of Liu 2012, chapter 5, and what bounds every figure.

    python -m benchmarks.vector_tables [--measure]

prints them from the committed results, as they are in docs/figures.md; with `--measure` it runs every program first.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any

from benchmarks import vector, vector_compiled
from benchmarks.markdown import table
from benchmarks.results import read_results
from benchmarks.vector_cases import ELEMENTS
from benchmarks.vector_compiled import HAND_WRITTEN

__all__ = ["main", "vector_tables"]

PUBLISHED = {"fir": 7000, "2Dfir": 29000, "life": 23000, "imgblend": 33000, "median": 250000, "motest": 15000}
"""Liu 2012, table 5.3: run time on 64 lanes, words, at 100 MHz, in cycles."""

_SCALAR = "plain C"
"""Key of the results that are no element type."""


def vector_tables() -> str:
    """All tables as Markdown."""
    return "\n\n".join([_cycles(), _rate(), _compiled(), _compiled_bounds(), _compiled_scaling(),
                        _compiled_element_sizes(), _scaling(), _element_sizes()])


def _benchmarks() -> dict[str, dict[str, dict[str, Any]]]:
    """Results by benchmark, element type and machine."""
    found = read_results("vector")["benchmarks"]
    return {name: {e: figures for e, figures in elements.items() if e != _SCALAR} for name, elements in found.items()}


def _applications() -> list[tuple[str, str, dict[str, dict[str, Any]]]]:
    """Application, element type and results by machine, of compiled programs: wide elements first."""
    found = read_results("vector_compiled")["applications"]
    return [(app, element, elements[element]) for app, elements in found.items()
            for element in sorted(elements, key=list(ELEMENTS).index)]


def _machines() -> list[str]:
    """Names of the machines, smallest first."""
    names = {name for elements in _benchmarks().values() for figures in elements.values() for name in figures}
    return sorted(names, key=lambda name: int(name[1:]))


def _cycles() -> str:
    largest = _machines()[-1]
    rows = []
    for name, elements in _benchmarks().items():
        for element, machines in elements.items():
            figures = machines[largest]
            published = PUBLISHED.get(name, "-") if element == "word" else "-"
            rows.append([name, element, figures["cycles"], published, figures["bound"], figures["ratio"],
                         figures["operations"], figures["speed-up"]])
    head = ["benchmark", "elements", f"{largest} cycles", "published", "bound", "ratio", "operations",
            "times plain C"]
    text = ("Soft vector processor (Liu 2012, table 5.3): C programs on the emitted Verilog, the scalar core issuing; "
            "main memory answers after 20 cycles and passes at most 32 bytes per cycle (`python -m benchmarks.vector`; "
            "all tables of the processor: `python -m benchmarks.vector_tables`). The bound is what the lanes or the "
            "memory need for the operations and bytes that the program uses. Plain C, on words, runs on the same "
            "scalar core; the median there is the definition's bubble sort.")
    return f"{text}\n\n{table(head, rows)}"


def _rate() -> str:
    rate = read_results("vector")["instruction rate"]
    return (f"Instruction rate: with vectors of {rate['vector length']} words the core keeps {rate['lanes']} lanes "
            f"busy in {100 * rate['busy share']:.1f} % of {rate['cycles']} cycles.")


def _compiled() -> str:
    """Liu 2012, tables 5.2 and 5.8."""
    hand, plain, machines = _benchmarks(), read_results("vector")["benchmarks"], _machines()
    rows = []
    for app, element, figures in _applications():
        by_hand = hand[HAND_WRITTEN[app]][element]
        largest = figures.get(machines[-1])
        times = round(plain[HAND_WRITTEN[app]][_SCALAR]["cycles"] / largest["cycles"], 1) if largest else "-"
        rows.append([app, element, *(_beside(figures[m], by_hand[m]) if m in figures else "-" for m in machines),
                     times, max(f["compile seconds"] for f in figures.values())])
    head = ["application", "elements", *machines, f"{machines[-1]} times plain C", "compile s"]
    text = ("The same compiled from parallel arrays (Liu 2012, tables 5.2 and 5.8): cycles, and how many times as fast "
            "as the program written by hand (`python -m benchmarks.vector_compiled`).")
    return f"{text}\n\n{table(head, rows)}"


def _beside(compiled: dict[str, Any], by_hand: dict[str, Any]) -> str:
    return f"{compiled['cycles']} ({by_hand['cycles'] / compiled['cycles']:.3f})"


def _compiled_bounds() -> str:
    machines = _machines()
    rows = [[app, element, *(_bounded(figures.get(m)) for m in machines)] for app, element, figures in _applications()]
    text = ("What bounds compiled programs: cycles that the lanes or the memory need for the operations and bytes that "
            "the program uses; in brackets the ratio of its cycles to them; then its operations, of which two on "
            "halfwords or four on bytes count as one.")
    return f"{text}\n\n{table(['application', 'elements', *machines], rows)}"


def _bounded(figures: dict[str, Any] | None) -> str:
    return f"{figures['bound']} ({figures['ratio']}) {figures['operations']}" if figures else "-"


def _compiled_scaling() -> str:
    """How far compiled programs are from linear scaling, and from what the ends of a program allow."""
    shortest = read_results("vector")["shortest program"]
    smallest, *_, largest = _machines()
    lanes = int(largest[1:]) // int(smallest[1:])
    rows = []
    for app, element, figures in _applications():
        if smallest not in figures or largest not in figures:
            continue
        one, all_, linear = figures[smallest], figures[largest], figures[smallest]["cycles"] / lanes
        bound, kind = _bound(all_, shortest[largest])
        rows.append([app, element, one["cycles"], all_["cycles"], f"{one['cycles'] / all_['cycles']:.1f}",
                     f"{all_['cycles'] / linear:.2f}", all_["wavefronts"], all_["memory bound"], kind, bound,
                     f"{all_['cycles'] / bound:.3f}"])
    head = ["application", "elements", smallest, largest, "times", "of linear", "wavefronts", "beats", "more", "bound",
            "ratio"]
    text = (f"Scaling of compiled programs. The shortest program that loads, computes and stores takes "
            f"{shortest[largest]} cycles on {largest}; with it the bound is the wavefronts that the program needs (a "
            "row of a 2-D instruction needs one at least), or the beats of memory. *of linear*: cycles over those of "
            f"{smallest} divided by {lanes}.")
    return f"{text}\n\n{table(head, rows)}"


def _bound(figures: dict[str, Any], shortest: int) -> tuple[int, str]:
    """What a compiled program takes at least, with the ends of the shortest program, and what has more to do."""
    lanes, memory = figures["wavefronts"], figures["memory bound"]
    return max(lanes + shortest - 1, memory), "lanes" if lanes >= memory else "memory"


def _compiled_element_sizes() -> str:
    """Narrower elements against words, as measured and as far as the bound of the narrower program allows."""
    shortest, machines = read_results("vector")["shortest program"], _machines()
    words = {app: figures for app, element, figures in _applications() if element == "word"}
    rows = []
    for app, element, narrow in [line for line in _applications() if line[1] != "word"]:
        cells, limits = [], ["-"] * 4
        for machine in machines:
            word, figures = (found.get(machine) for found in (words.get(app, {}), narrow))
            if word is None or figures is None:
                cells.append("-")
                continue
            bound, kind = _bound(figures, shortest[machine])
            cells.append(f"{word['cycles'] / figures['cycles']:.2f} ({word['cycles'] / bound:.2f})")
            if machine == machines[-1]:
                limits = [figures["cycles"], bound, f"{figures['cycles'] / bound:.3f}", kind]
        rows.append([app, element, *cells, *limits])
    head = ["application", "elements", *machines, f"{machines[-1]} cycles", "bound", "ratio", "more"]
    text = ("Times faster than on words, compiled; in brackets: if the program took no more than its bound, wavefronts "
            "and the ends of the shortest program or beats of memory. Programs on words keep in bytes what fits them "
            "(*motest*: pixels of 0 to 255), so that there is nothing to gain.")
    return f"{text}\n\n{table(head, rows)}"


def _scaling() -> str:
    machines = _machines()
    rows = [[name, element, *(_over(figures[m]) if m in figures else "-" for m in machines)]
            for name, elements in _benchmarks().items() for element, figures in elements.items()]
    text = "Programs written by hand by number of lanes: cycles, their bound and the ratio of the two."
    return f"{text}\n\n{table(['benchmark', 'elements', *machines], rows)}"


def _over(figures: dict[str, Any]) -> str:
    return f"{figures['cycles']} / {figures['bound']} ({figures['ratio']})"


def _element_sizes() -> str:
    """Liu 2012, tables 5.5 and 5.6: narrower elements against words."""
    machines = _machines()
    rows = []
    for name, elements in _benchmarks().items():
        for element in (e for e in elements if e != "word"):
            gains = [elements["word"][m]["cycles"] / elements[element][m]["cycles"] for m in machines]
            rows.append([name, element, *(f"{gain:.2f}" for gain in gains)])
    text = "Times faster than on words, written by hand (Liu 2012, tables 5.4 to 5.6)."
    return f"{text}\n\n{table(['benchmark', 'elements', *machines], rows)}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables; run all programs first if that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--measure", action="store_true", help="run every program in RTL simulation first")
    if parser.parse_args(arguments).measure:
        for measurement in (vector, vector_compiled):
            if measurement.main([]):
                return 1
    print(vector_tables())
    return 0


if __name__ == "__main__":
    sys.exit(main())
