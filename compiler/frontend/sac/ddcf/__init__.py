"""Data-dependence-control-flow graphs of SA-C programs (Hammes 2000, chapter 3): hierarchical, typed, acyclic, without
memory. They are the language's meaning: `interpret` runs them, `print_module` and `parse_module` are their text."""

from compiler.frontend.sac.ddcf.graph import Argument, Constant, Edge, Function, Graph, Module, Node, Operand
from compiler.frontend.sac.ddcf.interpret import interpret
from compiler.frontend.sac.ddcf.text import parse_module, print_module
from compiler.frontend.sac.ddcf.verify import verify

__all__ = ["Argument", "Constant", "Edge", "Function", "Graph", "Module", "Node", "Operand", "interpret",
           "parse_module", "print_module", "verify"]
