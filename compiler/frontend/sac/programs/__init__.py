"""SA-C loops as programs of the polyhedral model, which every target takes: `lower_loops` makes one `Program` of loops
that hand arrays to each other; `trace_application` says which loops of an application can be there, `group_loops` which
of them run together, and `run_application` runs the application with them, and the rest on the host."""

from compiler.frontend.sac.programs.lower import LoopBinding, lower_loops
from compiler.frontend.sac.programs.obstacles import NoProgram
from compiler.frontend.sac.programs.plan import Application, Group, group_loops, trace_application
from compiler.frontend.sac.programs.run import Execute, run_application, run_by_interpreter

__all__ = ["Application", "Execute", "Group", "LoopBinding", "NoProgram", "group_loops", "lower_loops",
           "run_application", "run_by_interpreter", "trace_application"]
