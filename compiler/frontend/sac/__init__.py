"""SA-C, the single-assignment C for image processing of Hammes 2000: parsed, typed, and run on the host.

`parse_sac` and `load_sac` give a `SacProgram`; its meaning are the graphs of `compiler.frontend.sac.ddcf`.
"""

from compiler.frontend.sac.errors import SacError, SacRunError
from compiler.frontend.sac.foreign import register_foreign
from compiler.frontend.sac.program import SacProgram, load_sac, parse_sac, random_inputs

__all__ = ["SacError", "SacProgram", "SacRunError", "load_sac", "parse_sac", "random_inputs", "register_foreign"]
