"""What the project's root holds."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
TOP_LEVEL = {
    ".ci", ".gitignore", ".pre-commit-config.yaml", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "Makefile",
    "README.md", "apps", "benchmarks", "compiler", "conftest.py", "docs", "hw", "pyproject.toml", "rtl_out", "sluice",
    "tb", "tests",
}  # fmt: skip


def test_tracked_top_level_is_known():
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert {name.split("/")[0] for name in listed.split("\0") if name} == TOP_LEVEL


def test_readme_is_one_page():
    assert len((ROOT / "README.md").read_text().splitlines()) <= 160


def test_hooks_are_tools_of_the_environment():
    entries = re.findall(r"entry: (\w+)", (ROOT / ".pre-commit-config.yaml").read_text())
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    installed = {re.split(r"\W", requirement)[0] for requirement in extras["development"]}
    assert entries == ["ruff", "pyright"]
    assert set(entries) <= installed


def test_changelog_begins_with_the_version_of_the_distribution():
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    (newest, *_) = re.findall(r"^## (\S+)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert newest == version
