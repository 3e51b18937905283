"""Translation validation, the part that knows no target: what a finished mapping has to do, and how to prove it.

A mapping is checked from outside. `values` recomputes from the original program which value every read and every
output element has to see; `relations` compares that with what the hardware does, as isl emptiness tests over all
instances at once, and finds a witness where they differ; `expressions` compares arithmetic. Nothing here shares code
with a scheduler. A target supplies what its configured hardware does (`compiler.bind.cgra.validate`).
"""

from compiler.analysis.sample_operands import VECTORS, operand_vectors
from compiler.sched.verify.errors import ValidationError
from compiler.sched.verify.parts import check_parts
from compiler.sched.verify.relations import Difference, Writes, bounded_effort, difference, last_writes, latest
from compiler.sched.verify.values import Origins, Source, final_origins, read_origins
from compiler.sched.verify.words import check_word_arrays

__all__ = [
    "VECTORS",
    "Difference",
    "Origins",
    "Source",
    "ValidationError",
    "Writes",
    "bounded_effort",
    "check_parts",
    "check_word_arrays",
    "difference",
    "final_origins",
    "last_writes",
    "latest",
    "operand_vectors",
    "read_origins",
]
