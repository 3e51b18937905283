"""Schedule directives: rewrites of an immutable `Program`, each checked against its dependences before it is returned.

    from compiler.sched import transform

    program = transform.tile(program, {"y": 8, "x": 8})        # new iterators y_o, x_o, y_i, x_i
    program = transform.reorder(program, ("x_i", "y_i"))
    program = transform.unroll(program, "x_i", 4)              # four statements: parallel hardware

Loops are named by their iterators. A directive applies to all statements that have the iterators it names, or to those
in `statements`. A result that would change what the program computes is refused with the pair of instances that would
change places; the result passes the verifier of programs. Liu 2023, chapter 4; Bok 2018, section 2.3.
"""

from compiler.sched.transform.batch import batch
from compiler.sched.transform.errors import TransformError
from compiler.sched.transform.fold import fold
from compiler.sched.transform.loops import reorder, reverse, shift
from compiler.sched.transform.nests import distribute, fuse
from compiler.sched.transform.overlap import overlap
from compiler.sched.transform.parallel import parallelize
from compiler.sched.transform.partial import partial
from compiler.sched.transform.script import apply_script
from compiler.sched.transform.share import share
from compiler.sched.transform.split import split, tile
from compiler.sched.transform.store import store
from compiler.sched.transform.unroll import unroll

__all__ = [
    "TransformError", "apply_script", "batch", "distribute", "fold", "fuse", "overlap", "parallelize", "partial",
    "reorder",
    "reverse", "share", "shift", "split", "store", "tile", "unroll",
]
