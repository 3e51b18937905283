"""How every command line ends: one line for an error, the right exit status, and nothing after Ctrl-C.

`run_command` runs a command in this process; `run_module` is for the first line of a program: it imports the command's
module, too, so that an interrupted import ends like an interrupted run. This module imports nothing that takes time.
"""

from __future__ import annotations

import os
import sys
import traceback
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path

from hw.errors import SluiceError

__all__ = ["INTERRUPTED", "run_command", "run_module"]

INTERRUPTED = 130
"""Exit status after Ctrl-C, as shells have it."""

_FAILED = 1
_FAULT = 70
"""Exit status of a fault in Sluice itself, EX_SOFTWARE of sysexits.h."""

_OWN = ("benchmarks", "compiler", "hw", "sluice")
"""Packages of the project: one that is not there is a fault."""

_TRACEBACK = "SLUICE_TRACEBACK"
_ROOT = Path(__file__).resolve().parents[1]


def run_module(name: str, arguments: Sequence[str] | None = None, command: str | None = None) -> int:
    """The exit status of ``main(arguments)`` in module `name`, or of ``main(arguments, command)``, where `command` is
    what it calls itself in its help. Prints one line for whatever it raises."""
    given = (arguments,) if command is None else (arguments, command)
    # Hardware that an error leaves unfinished is nothing that a user should read about.
    warnings.filterwarnings("ignore", message=".* created but never used")
    try:
        return run_command(lambda: import_module(name).main(*given))
    except Exception as error:
        if os.environ.get(_TRACEBACK):
            raise
        _print_error(f"internal fault: {_one_line(error)} ({_place(error)}); please report it with the command "
                     f"({_TRACEBACK}=1 shows more)")
        return _FAULT


def run_command(command: Callable[[], int]) -> int:
    """The exit status that `command` returns; after Ctrl-C 130; after an error that a user can mend 1, with its message
    on one line of standard error. Other exceptions, which are faults, are raised."""
    try:
        try:
            return command()
        finally:
            sys.stdout.flush()
    except KeyboardInterrupt:
        _print_error("interrupted")
        return INTERRUPTED
    except BrokenPipeError:
        _abandon_output()
    except OSError as error:
        _print_error(f"error: cannot use {error.filename or 'standard output'}: {error.strerror or error}")
        if not error.filename:
            _abandon_output()
    except MemoryError as error:
        _print_error(f"error: not enough memory: {_one_line(error)}")
    except SluiceError as error:
        _print_error(f"error: {' '.join(str(error).split())}")
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package in _OWN:
            raise
        _print_error(f"error: the Python package '{package}' is not installed for {sys.executable}: run `make` in the "
                     "checkout and use its .venv/bin/python, or `pip install .`")
    return _FAILED


def _print_error(line: str) -> None:
    """`line` on standard error, in red on a terminal."""
    with suppress(OSError):
        red, plain = ("\33[31m", "\33[0m") if sys.stderr.isatty() else ("", "")
        print(f"{red}{line}{plain}", file=sys.stderr, flush=True)


def _abandon_output() -> None:
    """Send what is still buffered for a standard output that cannot be written to nowhere, instead of failing again."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def _one_line(error: BaseException) -> str:
    return " ".join([f"{type(error).__name__}:", *str(error).split()]).removesuffix(":")


def _place(error: BaseException) -> str:
    """File and line of the last frame in Sluice's own code."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if Path(frame.filename).is_relative_to(_ROOT)] or list(frames)
    path = Path(own[-1].filename)
    return f"{path.relative_to(_ROOT) if path.is_relative_to(_ROOT) else path}:{own[-1].lineno}"
