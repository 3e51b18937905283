"""The tables in README and docs/figures.md are those of the committed results."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from benchmarks.summary import headline_table
from benchmarks.tables import DocumentError, renew_documents

ROOT = Path(__file__).parents[2]
DOCUMENTS = ("README.md", "docs/figures.md")


def copied(folder: Path) -> Path:
    (folder / "docs").mkdir()
    for name in DOCUMENTS:
        shutil.copy(ROOT / name, folder / name)
    return folder


def test_tables_are_up_to_date(tmp_path):
    renew_documents(copied(tmp_path))
    for name in DOCUMENTS:
        assert (tmp_path / name).read_text() == (ROOT / name).read_text(), f"{name}: make figures"


def test_readme_shows_ten_figures():
    assert len(headline_table().splitlines()) == 2 + 10


def test_nothing_is_written_if_a_document_has_no_marks(tmp_path):
    folder = copied(tmp_path)
    (folder / "docs" / "figures.md").write_text("no marks")
    before = (folder / "README.md").read_text()
    with pytest.raises(DocumentError, match=r"figures\.md has no lines"):
        renew_documents(folder)
    assert (folder / "README.md").read_text() == before
