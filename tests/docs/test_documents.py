"""Every code block of the README, of CONTRIBUTING.md and of docs/ runs."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from sluice.cli import main as sluice_main

ROOT = Path(__file__).parents[2]
DOCUMENTS = [ROOT / "README.md", ROOT / "CHANGELOG.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


ENTRIES = {"compiler": "compiler.cli.main", "hw.build": "hw.boards.build", "hw.soc": "hw.soc.__main__",
           "compiler.tune": "compiler.cli.tune"}
"""Commands ``python -m NAME`` that run in the process of the tests, and the modules of their `main`."""


def run_shell(line: str) -> None:
    """Run a command. `make` and pytest have processes of their own, and of what `make` runs only the recipe is
    checked: it would run these tests."""
    words = shlex.split(line)
    if words[0] == "sluice":
        assert sluice_main(words[1:]) == 0, line
    elif words[0] == "python" and words[2] in ENTRIES:
        assert import_module(ENTRIES[words[2]]).main(words[3:]) == 0, line
    else:
        command = ["make", "--dry-run", *words[1:]] if words[0] == "make" else [sys.executable, *words[1:]]
        assert words[0] == "make" or words[:2] == ["python", "-m"], line
        result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda p: p.name)
def test_blocks_run_in_order(path, capsys, monkeypatch):
    if path.stem in ("halide", "onnx"):
        pytest.importorskip(path.stem)
    monkeypatch.chdir(ROOT)
    scope: dict[str, object] = {}
    for kind, text in BLOCK.findall(path.read_text()):
        if kind == "python":
            exec(compile(text, path.name, "exec"), scope)
        elif kind == "sh":
            for line in filter(str.strip, text.splitlines()):
                run_shell(line)


def test_documents_only_use_languages_that_run_and_drawings():
    kinds = {kind for path in DOCUMENTS for kind, _ in BLOCK.findall(path.read_text())}
    assert kinds <= {"python", "sh", "c", "text"}


def anchors(path: Path) -> set[str]:
    """Names that links to headings of a document have, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", BLOCK.sub("", path.read_text()), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda p: p.name)
def test_links_lead_somewhere(path):
    for target in re.findall(r"\]\(([^)]+)\)", BLOCK.sub("", path.read_text())):
        if not target.startswith("https://"):
            file, _, anchor = target.partition("#")
            document = path.parent / file if file else path
            assert document.exists(), target
            assert not anchor or anchor in anchors(document), target
