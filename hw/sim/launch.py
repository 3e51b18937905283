"""Start a Verilator simulation inside this Python process: ``python launch.py SIMULATION [arguments]``.

cocotb usually embeds an interpreter into the simulator, for which it needs Python's shared library, and that
is not part of a plain Debian or Ubuntu installation. Here it is the other way round: the interpreter that is already
running loads the simulation, a shared object, and cocotb finds Python's functions in the process.
"""

import ctypes
import os
import sys

__all__ = ["start"]


def start(arguments: list[str]) -> None:
    """Run the simulation `arguments[0]`; the process ends with it. Raises `OSError` if it cannot be loaded."""
    # PyDLL: the simulation expects to hold the interpreter's lock, as an embedding program would.
    library = ctypes.PyDLL(arguments[0], mode=ctypes.RTLD_GLOBAL)
    encoded = [os.fsencode(argument) for argument in arguments]
    library.sluice_start(len(encoded), (ctypes.c_char_p * (len(encoded) + 1))(*encoded, None))


if __name__ == "__main__":
    start(sys.argv[1:])
