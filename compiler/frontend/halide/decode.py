"""From the bytes of a serialised pipeline to its Funcs."""

from __future__ import annotations

from typing import Any

from compiler.frontend.halide import nodes
from compiler.frontend.halide.consistency import check_consistency
from compiler.frontend.halide.errors import PipelineError
from compiler.frontend.halide.expressions import Expressions
from compiler.frontend.halide.flatbuffer import Buffer
from compiler.frontend.halide.nodes import Func, Pipeline, Stage
from compiler.frontend.halide.records import Record, Records, choice
from compiler.frontend.halide.schema import FOR_TYPES, MEMORY_TYPES, SPLITS, VERSIONS

__all__ = ["decode_pipeline"]


def decode_pipeline(data: bytes) -> Pipeline:
    """The pipeline that ``halide.serialize_pipeline`` gave. Raises `PipelineError` for bytes that are none, damaged, or
    of a version that is not known."""
    buffer = Buffer(data)
    records = Records(buffer, Expressions(buffer).node)
    root = buffer.root()
    _check_version(records.read(root, "Pipeline", only=("version", "serialization")))
    record = records.read(root, "Pipeline")
    funcs = {func.name: func for func in map(_func, record.funcs)}
    outputs = tuple(record.output_names)
    for name in outputs:
        if name not in funcs:
            raise PipelineError(f"the serialised pipeline is damaged: there is no Func '{name}', an output")
    parameters = {p.name: p for p in map(_parameter, record.externals)}
    buffers = {b.name: b for b in map(_constants, record.buffers)}
    pipeline = Pipeline(funcs, outputs, parameters, buffers, tuple(map(_requirement, record.requirements)))
    check_consistency(pipeline)
    return pipeline


def _check_version(record: Record) -> None:
    found = record.version, record.serialization
    if found not in VERSIONS:
        known = ", ".join(f"{halide} with serialisation {form}" for halide, form in sorted(VERSIONS))
        raise PipelineError(f"this is a pipeline of Halide {found[0]!r:.20} with serialisation {found[1]!r:.20}; "
                            f"known are: {known}: install sluice[halide], and serialise again")


def _requirement(condition: Record) -> nodes.Requirement:
    message = condition.message
    return nodes.Requirement(condition.condition, str(message.value) if message.op == "string" else "")


def _func(record: Record) -> Func:
    initial = [] if record.initial is None else [record.initial]
    if record.schedule is None:
        raise PipelineError(f"the serialised pipeline is damaged: Func '{record.name}' has no schedule")
    stages = tuple(_stage(part) for part in (*initial, *record.updates))
    func = Func(record.name, tuple(record.types), tuple(record.args), _schedule(record.schedule), stages,
                record.extern_name, tuple(name for name in _TRACES if getattr(record, name)))
    _check_func(func)
    return func


_TRACES = ("trace_loads", "trace_stores", "trace_realizations")


def _check_func(func: Func) -> None:
    for stage in func.stages:
        if len(stage.args) != len(func.args) or len(stage.values) != len(func.types):
            raise PipelineError(f"the serialised pipeline is damaged: a stage of Func '{func.name}' has another number "
                                "of arguments")


def _stage(record: Record) -> Stage:
    schedule = record.schedule
    if schedule is None:
        raise PipelineError("the serialised pipeline is damaged: a stage has no schedule")
    return Stage(record.predicate, tuple(record.values), tuple(record.args),
                 tuple(nodes.Reduction(r.name, r.min, r.extent) for r in schedule.rvars),
                 tuple(map(_split, schedule.splits)),
                 tuple(nodes.Loop(d.name, choice(FOR_TYPES, d.loop, "kind of loop")) for d in schedule.dims),
                 bool(record.specializations), bool(schedule.prefetches), schedule.atomic, _fused_with(schedule))


def _fused_with(schedule: Record) -> str:
    return "" if schedule.fuse_level is None else _level(schedule.fuse_level.level).func


def _split(record: Record) -> nodes.Split:
    kind = choice(SPLITS, record.kind, "kind of split")
    return nodes.Split(kind, record.old, record.outer, record.inner, record.factor)


def _schedule(record: Record) -> nodes.FuncSchedule:
    return nodes.FuncSchedule(_level(record.compute_level), _level(record.store_level), _bounds(record.bounds),
                              _bounds(record.estimates), choice(MEMORY_TYPES, record.memory, "kind of memory"),
                              record.memoized, getattr(record, "async"), _others(record))


def _others(record: Record) -> dict[str, bool]:
    dims = record.storage_dims
    return {"ring_buffer": record.ring_buffer is not None,
            "hoist_storage": _level(record.hoist_level).variable != "",
            "fold_storage": any(dim.fold is not None for dim in dims),
            "align_storage": any(dim.alignment is not None for dim in dims),
            "bound_storage": any(dim.bound is not None for dim in dims)}


def _level(record: Record | None) -> nodes.LoopLevel:
    return nodes.LoopLevel("", "") if record is None else nodes.LoopLevel(record.func, record.variable)


def _bounds(records: list[Record]) -> tuple[nodes.Bound, ...]:
    return tuple(nodes.Bound(record.variable, record.min, record.extent) for record in records)


def _parameter(record: Record) -> nodes.Parameter:
    return nodes.Parameter(record.name, record.is_buffer, record.type, record.dimensions)


def _constants(record: Record) -> nodes.Constants:
    dims: list[Any] = record.dims
    return nodes.Constants(record.name, record.type, tuple(d.min for d in dims), tuple(d.extent for d in dims),
                           tuple(d.stride for d in dims), record.data)


