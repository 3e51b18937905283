"""C for the host from graphs, and how it runs."""

from compiler.frontend.sac.host_c.emit import emit_c
from compiler.frontend.sac.host_c.run import compile_host, run_host

__all__ = ["compile_host", "emit_c", "run_host"]
