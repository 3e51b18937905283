"""Dataflow graphs of SA-C loops (Hammes 2000, chapter 5): flat, token-driven, with bits instead of types. They are what
hardware is made from: `convert_loop` makes one of a loop that `find_obstacles` lets pass, `simulate` runs it on a
memory, `run_on_dfgs` a program whose loops are such graphs."""

from compiler.frontend.sac.dfg.convert import convert_loop
from compiler.frontend.sac.dfg.criteria import Obstacle, find_obstacles
from compiler.frontend.sac.dfg.graph import Dfg, DfgNode, Word
from compiler.frontend.sac.dfg.loops import LoopFate, convert_loops
from compiler.frontend.sac.dfg.run import run_on_dfgs
from compiler.frontend.sac.dfg.simulate import simulate
from compiler.frontend.sac.dfg.text import parse_dfgs, print_dfgs
from compiler.frontend.sac.dfg.verify import verify_dfg

__all__ = ["Dfg", "DfgNode", "LoopFate", "Obstacle", "Word", "convert_loop", "convert_loops", "find_obstacles",
           "parse_dfgs", "print_dfgs", "run_on_dfgs", "simulate", "verify_dfg"]
