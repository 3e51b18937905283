"""Passes over the graphs of SA-C programs: each keeps what a program computes."""

from compiler.frontend.sac.passes.pipeline import ALL, CYCLE, MOST, PASSES, Optimised, Pass, count_nodes, optimise
from compiler.frontend.sac.passes.report import Note

__all__ = ["ALL", "CYCLE", "MOST", "PASSES", "Note", "Optimised", "Pass", "count_nodes", "optimise"]
