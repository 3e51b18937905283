"""Syntax trees of SA-C to graphs: names are resolved, types found, conversions made explicit."""

from compiler.frontend.sac.build.program import build_module

__all__ = ["build_module"]
