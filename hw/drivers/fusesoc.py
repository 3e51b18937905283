"""A design as a core of FuseSoC (CAPI2)."""

from __future__ import annotations

import json
from collections.abc import Mapping

__all__ = ["fusesoc_core"]


def fusesoc_core(module: str, sources: Mapping[str, str], folder: str = "rtl", *, about: str) -> str:
    """``MODULE.core``; the files of `sources` are in `folder` beside it; `about` is what it says of itself. Strings are
    written as JSON, which is YAML."""
    files = [f"      - {json.dumps(f'{folder}/{name}')}" for name in sorted(sources)]
    return "\n".join([
        "CAPI=2:", f"name: {json.dumps(f'sluice:designs:{module}:1.0')}",
        f"description: {json.dumps(about)}",
        "filesets:", "  rtl:", "    files:", *files, "    file_type: verilogSource",
        "targets:", "  default: &default", "    filesets: [rtl]", f"    toplevel: {json.dumps(module)}",
        "  lint:", "    <<: *default", "    default_tool: verilator", "    tools:", "      verilator:",
        "        mode: lint-only", ""])
