"""The command ``sluice``: one name for the command lines of the project.

    sluice compile APP ...    compile an application, simulate it, report (python -m compiler)
    sluice build ...          a design for an FPGA board (python -m hw.build)
    sluice tune APP ...       the best systolic array for a C kernel (python -m compiler.tune)
    sluice list               applications, targets, boards and designs
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from hw.command import run_command, run_module

__all__ = ["main"]

_FORWARDED = {"compile": "compiler.cli.main", "build": "hw.boards.build", "tune": "compiler.cli.tune"}
"""Commands, and the modules whose ``main(arguments, command)`` runs them."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command. Returns its exit status: 0, 1 after an error, 2 for a wrong command line, 130 after Ctrl-C."""
    parser = _parser()
    given = list(sys.argv[1:] if arguments is None else arguments)
    # The rest belongs to the command, --help included.
    options = parser.parse_args(given[:1])
    if options.command == "list":
        return run_command(lambda: _list(given[1:]))
    return run_module(_FORWARDED[options.command], given[1:], f"sluice {options.command}")


def _parser() -> argparse.ArgumentParser:
    from sluice import __version__

    parser = argparse.ArgumentParser(prog="sluice", description=__doc__, usage="sluice COMMAND ...",
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=[*_FORWARDED, "list"], metavar="COMMAND",
                        help="compile, build, tune or list; `sluice COMMAND --help` says more")
    parser.add_argument("--version", action="version", version=f"sluice {__version__}")
    return parser


def _list(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="sluice list", description="Names that the other commands take.")
    parser.parse_args(arguments)
    from compiler.bind.registry import TARGETS
    from compiler.frontend.apps import sac_applications, shipped
    from hw.boards.registry import boards
    from hw.designs.registry import DESIGNS

    for title, names in (("applications", [*shipped(), *sac_applications()]), ("targets", TARGETS),
                         ("boards", boards()), ("designs", DESIGNS)):
        print(f"{title}: {', '.join(names)}")
    return 0
