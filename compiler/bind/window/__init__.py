"""The window target: loops of SA-C on the machine that Hammes 2000 ran them on (`hw.window`)."""

from compiler.bind.window.application import WindowApplication, place_on_windows
from compiler.bind.window.errors import WindowError
from compiler.bind.window.loop import WindowLoop, WindowRun, compile_loop

__all__ = ["WindowApplication", "WindowError", "WindowLoop", "WindowRun", "compile_loop", "place_on_windows"]
