"""A pipeline as it was serialised: Funcs, their stages, and expressions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from compiler.ir.postorder import postorder_of

__all__ = ["Bound", "Constants", "Func", "FuncSchedule", "HalideType", "Loop", "LoopLevel", "Node", "Parameter",
           "Pipeline", "Reduction", "Requirement", "Split", "Stage", "nodes_of", "postorder"]


@dataclass(frozen=True)
class HalideType:
    """A scalar type: `code` is one of `schema.TYPE_CODES`. Conditions are ``uint`` of 1 bit."""

    code: str
    bits: int

    def __str__(self) -> str:
        return "bool" if self == BOOL else f"{self.code}{self.bits}"


BOOL = HalideType("uint", 1)


@dataclass(frozen=True, eq=False)
class Node:
    """An expression. `op`: of `schema.EXPRESSIONS`, where ``call`` is one of ``image``, ``halide``, ``intrinsic``,
    ``extern``; the rest as far as the operation has it. `index`: which component of a Tuple a call gives."""

    op: str
    type: HalideType
    args: tuple[Node, ...] = ()
    value: int | float | str = 0
    name: str = ""
    index: int = 0
    param: str = ""
    image: str = ""


@dataclass(frozen=True)
class Reduction:
    """One variable of a reduction domain."""

    name: str
    min: Node | None
    extent: Node | None


@dataclass(frozen=True)
class Split:
    """`old` became `outer` and `inner` (``split``, by `factor`), one is called otherwise (``rename``: `outer`), or
    `inner` and `outer` became `old` (``fuse``)."""

    kind: str
    old: str
    outer: str
    inner: str
    factor: Node | None


@dataclass(frozen=True)
class Loop:
    """One loop of the schedule: its variable, and one of `schema.FOR_TYPES`."""

    name: str
    kind: str


@dataclass(frozen=True)
class Stage:
    """One definition of a Func. `loops`: innermost first. `fused_with`: the Func whose loops it shares by
    ``compute_with``."""

    predicate: Node | None
    values: tuple[Node, ...]
    args: tuple[Node, ...]
    reductions: tuple[Reduction, ...]
    splits: tuple[Split, ...]
    loops: tuple[Loop, ...]
    specialized: bool
    prefetched: bool
    atomic: bool
    fused_with: str = ""


@dataclass(frozen=True)
class LoopLevel:
    """A place in the loops of `func`: `variable` is "" for inline, "__root" for outside of all loops."""

    func: str
    variable: str


@dataclass(frozen=True)
class Bound:
    """What is promised of a variable of a Func."""

    variable: str
    min: Node | None
    extent: Node | None


@dataclass(frozen=True)
class FuncSchedule:
    """The parts of a Func's schedule that do not belong to one stage. `others`: directives by name, whether they are
    given."""

    compute: LoopLevel
    store: LoopLevel
    bounds: tuple[Bound, ...]
    estimates: tuple[Bound, ...]
    memory: str
    memoized: bool
    asynchronous: bool
    others: Mapping[str, bool] = field(default_factory=dict)


@dataclass(frozen=True)
class Func:
    """A Func: `stages` are its pure definition, the updates after it. `traced`: directives that print what it does."""

    name: str
    types: tuple[HalideType, ...]
    args: tuple[str, ...]
    schedule: FuncSchedule
    stages: tuple[Stage, ...]
    extern: str
    traced: tuple[str, ...] = ()


@dataclass(frozen=True)
class Parameter:
    """An ImageParam (`is_buffer`) or a Param."""

    name: str
    is_buffer: bool
    type: HalideType
    dimensions: int


@dataclass(frozen=True)
class Constants:
    """A Buffer that the pipeline brings along: `mins` and `extents` in Halide's order, `strides` in elements."""

    name: str
    type: HalideType
    mins: tuple[int, ...]
    extents: tuple[int, ...]
    strides: tuple[int, ...]
    data: bytes


@dataclass(frozen=True)
class Requirement:
    """A condition that has to hold, and what is said if it does not."""

    condition: Node
    message: str


@dataclass(frozen=True)
class Pipeline:
    """Everything by name; `outputs` in the order of the user."""

    funcs: dict[str, Func]
    outputs: tuple[str, ...]
    parameters: dict[str, Parameter] = field(default_factory=dict)
    buffers: dict[str, Constants] = field(default_factory=dict)
    requirements: tuple[Requirement, ...] = ()


def postorder(*roots: Node) -> Iterator[Node]:
    """Every node once, those that it uses first."""
    return postorder_of(roots, lambda node: node.args)


def nodes_of(func: Func) -> Iterator[Node]:
    """Every node of a Func's definitions once, those that it uses first."""
    roots = [node for stage in func.stages for node in (*stage.values, *stage.args, stage.predicate)]
    return postorder(*(node for node in roots if node is not None))
