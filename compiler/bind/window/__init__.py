"""The window target: loops of SA-C on the machine that Hammes 2000 ran them on (`hw.window`)."""

from compiler.bind.window.application import WindowApplication, place_on_windows
from compiler.bind.window.board_time import WILDFORCE, Board, Elapsed, Start, Transfer, link_board
from compiler.bind.window.errors import WindowError
from compiler.bind.window.loop import WindowLoop, WindowRun, compile_loop

__all__ = ["WILDFORCE", "Board", "Elapsed", "Start", "Transfer", "WindowApplication", "WindowError", "WindowLoop",
           "WindowRun", "compile_loop", "link_board", "place_on_windows"]
