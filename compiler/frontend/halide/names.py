"""Names of Funcs, inputs and variables that are legal, and unique, in a program."""

from __future__ import annotations

import re
from collections.abc import Iterable

from compiler.ir.names import check_name, fresh_name
from compiler.ir.types import ProgramError

__all__ = ["legal_names", "plain"]


def plain(name: str) -> str:
    """A name as the user wrote it: Halide numbers names that are used twice in a process behind a dollar sign."""
    return re.sub(r"\$\d+$", "", name)


def legal_names(names: Iterable[str], taken: Iterable[str] = ()) -> dict[str, str]:
    """A legal name for each of `names`, all different, and none of `taken`."""
    used = set(taken)
    found: dict[str, str] = {}
    for name in names:
        found[name] = fresh_name(_legal(name), used)
        used.add(found[name])
    return found


def _legal(name: str) -> str:
    text = re.sub(r"[^A-Za-z0-9_]", "_", plain(name))
    text = text if re.match(r"[A-Za-z_]", text) else f"_{text}"
    try:
        check_name(text, "name")
    except ProgramError:
        return f"{text}_"
    return text
