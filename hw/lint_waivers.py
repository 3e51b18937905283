"""Checks of ``verilator --lint-only -Wall`` that emitted Verilog does not pass, switched off by name in its files, with
the reason. What is not here stays on, and no emitted system has a warning of it."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["OTHERS", "WAIVERS", "waive"]

WAIVERS = {
    "DECLFILENAME": "a file holds the modules below its top module, too",
    "VARHIDDEN": "a module may have a signal called like the instance that it is: names are local to modules",
    "PROCASSINIT": "registers have the value of their reset from the beginning, too, as FPGAs load it",
    "CASEINCOMPLETE": "whatever a case statement assigns has a value before it",
    "WIDTHEXPAND": "constants are as wide as they need to be; operands are extended by sign or zero, as is meant",
    "WIDTHTRUNC": "! stands for a comparison of a whole word with zero",
    "CMPCONST": "parts for any width compare with limits that a width may never exceed",
    "UNSIGNED": "parts for any width compare with limits that may be zero",
    "UNUSEDSIGNAL": "fields of words, and ports of parts for any use, have names whether anything reads them or not",
}
"""The checks, and why what they find is meant: in the order of the lines in a file."""

OTHERS = "this module is others' work, as it is"
"""The reason for Verilog that is not this project's."""

_SAVE = "/* verilator lint_save */"
_RESTORE = "/* verilator lint_restore */"


def waive(text: str, waivers: Mapping[str, str] = WAIVERS) -> str:
    """`text`, a file, without warnings of `waivers` (check: reason); files behind it keep theirs."""
    lines = [f"/* verilator lint_off {name} */  // {reason}" for name, reason in waivers.items()]
    return "\n".join([_SAVE, *lines, text.rstrip("\n"), _RESTORE, ""])
