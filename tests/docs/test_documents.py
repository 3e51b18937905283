"""Every code block of the README, of CONTRIBUTING.md and of docs/ runs."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCUMENTS = [ROOT / "README.md", ROOT / "CHANGELOG.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(path: Path, language: str) -> list[str]:
    return [text for kind, text in BLOCK.findall(path.read_text()) if kind == language]


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda p: p.name)
def test_python_blocks_run_in_order(path, capsys):
    scope: dict[str, object] = {}
    for text in blocks(path, "python"):
        exec(compile(text, path.name, "exec"), scope)


def commands() -> list[str]:
    return [line for path in DOCUMENTS for text in blocks(path, "sh") for line in text.splitlines() if line.strip()]


@pytest.mark.parametrize("command", commands())
def test_shell_blocks_run(command, tmp_path):
    """`make` commands run everything, so only their recipes are checked here; all others run."""
    if command.startswith("make "):
        line = ["make", "--dry-run", *command.split()[1:]]
    else:
        words = command.split()
        assert words[0] == "sluice" or words[:2] == ["python", "-m"]
        line = [sys.executable, *(["-m", *words] if words[0] == "sluice" else words[1:])]
    result = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr


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
