"""What the project's root holds."""

from __future__ import annotations

import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]
TOP_LEVEL = {
    ".ci", ".gitignore", "LICENSE", "Makefile", "README.md", "apps", "benchmarks", "compiler", "conftest.py", "docs",
    "hw", "pyproject.toml", "rtl_out", "tb", "tests",
}  # fmt: skip


def test_tracked_top_level_is_known():
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert {name.split("/")[0] for name in listed.split("\0") if name} == TOP_LEVEL


def test_readme_is_one_page():
    assert len((ROOT / "README.md").read_text().splitlines()) <= 160
