"""Space-time mapping (Wang 2021, sections 3.2 and 5.1): dependences as distances, legality, choice of space loops."""

from compiler.passes.recurrence.shorten_recurrences import MODULAR, Reduction, accumulated, hull, neutral, reduction
from compiler.sched.space_time.accumulations import plain_accumulations, same_flows, same_sums
from compiler.sched.space_time.arrays import SpaceLoops, check_space, enumerate_arrays, space_loops
from compiler.sched.space_time.dependences import Analysis, Kind, UniformDependence, analyse
from compiler.sched.space_time.errors import LargeIterationError, SpaceTimeError
from compiler.sched.space_time.nests import Nest
from compiler.sched.space_time.reuse import Subscript, composed, null_directions, subscripts
from compiler.sched.space_time.temporaries import without_temporaries

__all__ = [
    "MODULAR",
    "Analysis",
    "Kind",
    "LargeIterationError",
    "Nest",
    "Reduction",
    "SpaceLoops",
    "SpaceTimeError",
    "Subscript",
    "UniformDependence",
    "accumulated",
    "analyse",
    "check_space",
    "composed",
    "enumerate_arrays",
    "hull",
    "neutral",
    "null_directions",
    "plain_accumulations",
    "reduction",
    "same_flows",
    "same_sums",
    "space_loops",
    "subscripts",
    "without_temporaries",
]
