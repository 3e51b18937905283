"""Imports run one way: each folder uses only those below it."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FLOORS = (("hw",), ("compiler.ir", "compiler.attempts"), ("compiler.analysis",), ("compiler.passes",),
          ("compiler.sched",), ("compiler.frontend",), ("compiler.bind",), ("compiler.hints",),
          ("compiler.cli", "compiler.tune"), ("compiler.__main__", "sluice"))
"""From the ground up. `compiler` itself is the facade of `compile`, which everything above the front ends may use."""


def floor_of(module: str) -> int | None:
    """The number of the floor that a module is on; None for others than those of the project."""
    found = [k for k, rooms in enumerate(FLOORS) for room in rooms if module == room or module.startswith(f"{room}.")]
    return found[0] if found else None


def imports_of(path: Path) -> set[str]:
    """Modules that a file imports, wherever in it."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {f"{node.module}.{name.name}" for name in node.names}
    return found


@pytest.mark.parametrize("folder", ["hw", "compiler/ir", "compiler/analysis", "compiler/passes", "compiler/sched",
                                    "compiler/frontend", "compiler/bind", "compiler/hints"])
def test_no_import_runs_up(folder: str) -> None:
    wrong = []
    for path in sorted((ROOT / folder).rglob("*.py")):
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        here = floor_of(module)
        assert here is not None
        wrong += [f"{module} imports {name}" for name in sorted(imports_of(path))
                  if (there := floor_of(name)) is not None and there > here]
    assert wrong == []


def test_floors_are_found() -> None:
    assert floor_of("hw.pe.pe") == 0 and floor_of("numpy") is None
    assert (floor_of("compiler.passes.pipeline") or 0) < (floor_of("compiler.bind.cgra.target") or 0)
