"""Schedule directives: rewrites of an immutable `Program`, each checked against its dependences before it is returned.

    from compiler.passes import directives as transform

    program = transform.tile(program, {"y": 8, "x": 8})        # new iterators y_o, x_o, y_i, x_i
    program = transform.reorder(program, ("x_i", "y_i"))
    program = transform.unroll(program, "x_i", 4)              # four statements: parallel hardware

Loops are named by their iterators. A directive applies to all statements that have the iterators it names, or to those
in `statements`. A result that would change what the program computes is refused with the pair of instances that would
change places; the result passes the verifier of programs. Liu 2023, chapter 4; Bok 2018, section 2.3.
"""

from compiler.passes.directives.batch import batch
from compiler.passes.directives.errors import TransformError
from compiler.passes.directives.fold import fold
from compiler.passes.directives.loops import reorder, reverse, shift
from compiler.passes.directives.nests import distribute, fuse
from compiler.passes.directives.overlap import overlap
from compiler.passes.directives.parallel import parallelize
from compiler.passes.directives.partial import partial, reassociate
from compiler.passes.directives.right_looking import right_looking
from compiler.passes.directives.script import apply_script
from compiler.passes.directives.share import share
from compiler.passes.directives.split import split, tile
from compiler.passes.directives.store import store
from compiler.passes.directives.unroll import unroll
from compiler.passes.directives.unroll_outer import unroll_outer

__all__ = [
    "TransformError", "apply_script", "batch", "distribute", "fold", "fuse", "overlap", "parallelize", "partial",
    "reassociate", "reorder", "reverse", "right_looking", "share", "shift", "split", "store", "tile", "unroll",
    "unroll_outer",
]
