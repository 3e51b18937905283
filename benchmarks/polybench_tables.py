"""The table of PolyBench's kernels, made from the committed results."""

from __future__ import annotations

from typing import Any

from benchmarks.markdown import table
from benchmarks.results import read_results

__all__ = ["polybench_float_table", "polybench_sizes_tables", "polybench_table"]


def polybench_table() -> str:
    """Cycles from start to done by kernel and target, as Markdown."""
    return _integer_table("own", "Thirty kernels of PolyBench in integers of 16 bits, arrays of about eight elements "
                                 "in each dimension (`python -m benchmarks.polybench`)")


def polybench_sizes_tables() -> str:
    """The same at the suite's own sizes MINI and SMALL, as far as they are measured."""
    measured = {size for sizes in read_results("polybench")["kernels"].values() for size in sizes}
    return "\n\n".join(
        _integer_table(size, f"The same kernels at the suite's own size {size.upper()}, {extents} "
                             f"(`python -m benchmarks.polybench --size {size}`)")
        for size, extents in (("mini", "8 to 64 elements in a dimension"), ("small", "20 to 192 elements"))
        if size in measured)


def _integer_table(size: str, what: str) -> str:
    results = read_results("polybench")
    kernels = {name: sizes[size] for name, sizes in results["kernels"].items() if size in sizes}
    targets = [name for name in results["options"] if any(name in found for found in kernels.values())]
    rows = [[name, *(_cell(found.get(target)) for target in targets)] for name, found in kernels.items()]
    taken = [_taken([found[target] for found in kernels.values() if target in found], len(kernels))
             for target in targets]
    where = " The array (cgra) has 16x32 tiles with dual-port memories." if "cgra" in targets else ""
    text = f"{what}: predicted cycles from start to done / lower bound (processor seconds to compile).{where}"
    return f"{text}\n\n{table(['kernel', *targets], [*rows, [f'taken of {len(kernels)}', *taken]])}"


def polybench_float_table() -> str:
    """Cycles from start to done in float and double by kernel and target, as Markdown."""
    results = read_results("polybench_float")["kernels"]
    columns = [(kind, target) for kind in ("float", "double") for target in ("fpga", "dataflow")
               if any(target in sizes.get(kind, {}) for sizes in results.values())]
    found = {name: [sizes.get(kind, {}).get(target) for kind, target in columns] for name, sizes in results.items()}
    rows = [[name, *map(_cell, cells)] for name, cells in found.items()]
    taken = [sum(_is_taken(cells[k]) for cells in found.values()) for k in range(len(columns))]
    simulated = sorted({name for name, cells in found.items() for cell in cells if cell and "icarus" in cell})
    text = ("The same kernels in floating-point numbers, with the square roots and coefficients of the original ones "
            "(`python -m benchmarks.polybench --type float`, `--type double`): predicted cycles from start to done / "
            "lower bound (processor seconds to compile). Every kernel's results in the interpreter are those of gcc "
            f"without contraction, bit for bit, and so are those of both RTL simulators for {', '.join(simulated)}.")
    head = ["kernel", *(f"{target}, {kind}" for kind, target in columns)]
    return f"{text}\n\n{table(head, [*rows, [f'taken of {len(found)}', *taken]])}"


def _taken(found: list[dict[str, Any]], kernels: int) -> str:
    """How many of so many kernels are taken; of how many, where not all are measured."""
    taken = sum(map(_is_taken, found))
    return str(taken) if len(found) == kernels else f"{taken} of {len(found)} measured"


def _is_taken(found: dict[str, Any] | None) -> bool:
    return found is not None and "refused" not in found


def _cell(found: dict[str, Any] | None) -> str:
    if found is None or "refused" in found:
        return "-" if found is None else "refused"
    return f"{found['start to done (model)']} / {found['bound']} ({found['seconds']})"
