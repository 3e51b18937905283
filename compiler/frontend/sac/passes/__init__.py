"""Passes over the graphs of SA-C programs: each keeps what a program computes."""

from compiler.frontend.sac.passes.pipeline import CYCLE, PASSES, Optimised, Pass, count_nodes, optimise

__all__ = ["CYCLE", "PASSES", "Optimised", "Pass", "count_nodes", "optimise"]
