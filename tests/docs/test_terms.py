"""Documents and messages use the field's words; works that documents cite are in docs/references.md."""

from __future__ import annotations

import ast
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
COINED = re.compile(r"""\bways?\ back\b | \bturns?\b | \bclosed\ guards?\b | \bbehind\ (a\ )?guards?\b
                        | \bloose(ness)?\b | \bkeeps?\ step\b | \bin\ step\ with\b | \b(come|came|comes|coming)\ back\b
                        | \bgo(es)?\ round\b | \brhythms?\b | \bseeds?\ 00\d""", re.IGNORECASE | re.VERBOSE)
"""Words for which docs/terms.md has those of the field."""

GLOSSARY = ("terms.md", "references.md")
"""Documents that explain the other words."""


@pytest.mark.parametrize("path", [path for path in DOCUMENTS if path.name not in GLOSSARY], ids=lambda p: p.name)
def test_documents_use_the_words_of_the_field(path):
    for number, line in enumerate(path.read_text().splitlines(), 1):
        assert not COINED.search(line), f"{path.name}:{number}: {line}"


def texts(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """String constants of more than a word with their lines, docstrings left out."""
    prose = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        text = node.value if isinstance(node, ast.Constant) and id(node) not in prose else None
        if isinstance(node, ast.Constant) and isinstance(text, str) and " " in text.strip():
            yield node.lineno, text


@pytest.mark.parametrize("folder", ["apps", "benchmarks", "compiler", "hw", "sluice"])
def test_messages_use_the_words_of_the_field(folder):
    command = ["git", "ls-files", "-z", "--", f"{folder}/*.py"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in filter(None, listed.split("\0")):
        for line, text in texts(ast.parse((ROOT / name).read_text())):
            assert not COINED.search(text), f"{name}:{line}: {text}"


def test_the_words_are_found():
    for text in ("the way back", "takes turns", "behind closed guards", "its looseness", "keep step", "comes back"):
        assert COINED.search(text), text
    assert not COINED.search("it returns what was kept")


def test_the_glossary_has_the_terms_of_messages():
    glossary = (ROOT / "docs" / "terms.md").read_text()
    for term in ("loop-carried dependence", "recurrence latency", "modulo reservation table", "predicated-off instance",
                 "relaxation", "rate matching"):
        assert f"| {term} |" in glossary, term


def test_every_work_that_is_cited_is_listed():
    listed = set(re.findall(r"\| ([^|]*? \d{4}) \|", (ROOT / "docs" / "references.md").read_text()))
    assert len(listed) > 5
    for path in DOCUMENTS:
        for cited in re.findall(r"\b[A-Z][a-z]+ (?:19|20)\d\d\b", path.read_text()):
            assert cited in listed, f"{path.name}: {cited}"


@pytest.mark.parametrize("folder", ["apps", "benchmarks", "compiler", "hw", "sluice", "tb", "tests"])
def test_every_work_that_code_cites_is_listed(folder):
    references = (ROOT / "docs" / "references.md").read_text()
    pattern = r"\b[A-Z][a-z]+ (19|20)[0-9]{2}, (section|chapter|table|figure|algorithm)"
    command = ["git", "grep", "-hoE", pattern, "--", folder]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout
    for cited in {line.split(",")[0] for line in found.splitlines()}:
        assert f"| {cited} |" in references, cited
