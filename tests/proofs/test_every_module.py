"""Every queue, relay, register slice, buffet, FIFO channel and burst engine is proven, or says why it is not."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from test_burst_proofs import ENGINES, MUTATIONS
from test_queue_proofs import CASES, DELAYS

HW = Path(__file__).resolve().parents[2] / "hw"

KINDS = re.compile("Queue|Relay|Skid|Spare|Slice|Buffet|Channel|Fifo|DelayLine|Burst|[Pp]acker|BeatCounter|^Buffer$")
"""Names of such modules; and whatever drives an address channel of AXI4 is a burst engine."""

ADDRESSES = re.compile(r'axi\["a[rw]"\]|members\["a[rw]"\]|"a[rw]": Out')

LINE = re.compile(r"No proof: \S.*", re.DOTALL)


def modules() -> Iterator[tuple[str, str]]:
    """Name (``module.Class``) and docstring of every such module."""
    for path in sorted(HW.rglob("*.py")):
        text = path.read_text()
        module = ".".join(path.relative_to(HW.parent).with_suffix("").parts)
        for node in ast.parse(text).body:
            source = (isinstance(node, ast.ClassDef) and ast.get_source_segment(text, node)) or ""
            if isinstance(node, ast.ClassDef) and "def elaborate(" in source and (
                    KINDS.search(node.name) or ADDRESSES.search(source)):
                yield f"{module}.{node.name}", ast.get_docstring(node) or ""


def proven() -> set[str]:
    """The modules that have a proof, as themselves or as part of an engine, and a mutant that is refuted."""
    kinds: list[Any] = [case.kind for case in CASES.values()] + [kind for kind, *_ in DELAYS.values()]
    kinds += [getattr(kind, "func", kind) for _, kind in ENGINES.values()]  # without the options of a `partial`
    kinds += [part for found in MUTATIONS.values() for part, *_ in found]
    return {f"{kind.__module__}.{kind.__name__}" for kind in kinds}


def test_every_module_is_proven_or_says_why_not() -> None:
    found, known = dict(modules()), proven()
    silent = [name for name, text in found.items() if name not in known and not LINE.search(text)]
    assert not silent, f"neither proven nor with a line 'No proof: why' in the docstring: {silent}"
    both = [name for name, text in found.items() if name in known and LINE.search(text)]
    assert not both, f"proven, yet the docstring says there is no proof: {both}"
    assert known <= set(found), f"proven, but not found among such modules: {known - set(found)}"


def test_a_module_without_either_is_found() -> None:
    """The search sees what it should: the engines with address channels, and the queues by their names."""
    names = {name.rsplit(".", 1)[1] for name, _ in modules()}
    assert {"Loader", "Storer", "StoreQueue", "LineBuffer", "ScratchpadReader", "ArrayWriter", "WordQueue"} <= names
