"""Pipelines of the package `halide`, as objects or files. Nothing else in this project imports that package."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

import numpy as np

from compiler.frontend.halide.decode import decode_pipeline
from compiler.frontend.halide.drafts import Region
from compiler.frontend.halide.errors import PipelineError
from compiler.frontend.halide.names import plain
from compiler.frontend.halide.nodes import Bound, Func, Node, Pipeline
from compiler.frontend.halide.scheduling import ScheduleUse, check_use
from compiler.frontend.halide.translate import Given, Translation, translate
from compiler.frontend.halide.types import Number, number_type
from compiler.ir.program import Array, Program
from compiler.ir.types import BIT, FLOAT16
from compiler.passes.scheduled import ScheduledProgram

__all__ = ["HalideProgram", "from_bytes", "from_pipeline", "import_halide", "load_pipeline", "one_line"]

_Result = TypeVar("_Result")

Sizes = Sequence[int] | Mapping[str, Sequence[int]] | None


def import_halide() -> Any:
    """The package. Raises `PipelineError` if it is not installed."""
    try:
        import halide
    except ImportError:
        raise PipelineError("this needs the package halide: type `pip install sluice[halide]`") from None
    return halide


@dataclass(frozen=True)
class HalideProgram:
    """A pipeline of the package, its translation, and Halide's own result."""

    pipeline: Any
    parameters: Mapping[str, Any]
    translation: Translation

    @property
    def program(self) -> Program:
        """What targets take."""
        return self.translation.program

    @property
    def remarks(self) -> tuple[str, ...]:
        """What became of the pipeline's schedule, in words; nothing if it has none."""
        return self.program.remarks if isinstance(self.program, ScheduledProgram) else ()

    def reference(self, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """The outputs that Halide computes on this machine, one rounding per operation of floating-point numbers.

        Arrays as the interpreter takes and gives them. Raises `PipelineError` with Halide's own message.
        """
        halide = import_halide()
        return self._with_inputs(inputs, lambda: self._realized(halide))

    def seconds(self, inputs: Mapping[str, np.ndarray], runs: int = 10) -> float:
        """How long Halide's compiled code runs on this machine, the best of `runs`; compiling is not counted.

        Raises `PipelineError` with Halide's own message.
        """
        halide = import_halide()

        def best() -> float:
            self._realized(halide)
            return min(self._timed(halide) for _ in range(runs))

        return self._with_inputs(inputs, best)

    def _timed(self, halide: Any) -> float:
        start = time.perf_counter()
        self._realized(halide)
        return time.perf_counter() - start

    def _with_inputs(self, inputs: Mapping[str, np.ndarray], work: Callable[[], _Result]) -> _Result:
        """What `work` gives while the pipeline has `inputs`."""
        halide = import_halide()
        before = {name: p.buffer() for name, p in self.parameters.items() if p.is_buffer()}
        kept: list[Any] = []
        try:
            free = [array for array in self.program.inputs if self._is_free(array)]
            kept += [self._set(halide, array, inputs[array.name], {}) for array in self.program.inputs
                     if array not in free]
            asked = self._asked(halide, free)
            kept += [self._set(halide, array, inputs[array.name], asked) for array in free]
            return work()
        except halide.HalideError as error:
            raise PipelineError(f"Halide refuses this pipeline: {one_line(error)}") from None
        finally:
            for name, buffer in before.items():
                self.parameters[name].set_buffer(buffer)
            kept.clear()

    def _is_free(self, array: Array) -> bool:
        """Whether an input may have more elements than are read: what computes with its size would change."""
        name = self.translation.inputs[array.name]
        return self.parameters[name].is_buffer() and name not in self.translation.sized

    def _asked(self, halide: Any, free: Sequence[Array]) -> dict[str, Region]:
        """The regions for which Halide asks of inputs that have no buffer yet: its bounds of indices are not exact, and
        it checks that inputs have all of them, read or not. None where it cannot say: then running it says why."""
        images = {name: self.parameters[name] for name in (self.translation.inputs[array.name] for array in free)}
        for parameter in images.values():
            parameter.set_buffer(halide.Buffer())
        _, buffers = self._outputs(halide)
        try:
            self.pipeline.infer_input_bounds(buffers[0] if len(buffers) == 1 else buffers, _jit_target(halide))
        except (ValueError, halide.HalideError):  # the package says ValueError for errors of Halide in there
            return {}
        return {name: [(d.min(), d.max()) for d in map(p.buffer().dim, range(p.dimensions()))]
                for name, p in images.items() if p.buffer().defined()}

    def _outputs(self, halide: Any) -> tuple[dict[str, np.ndarray], list[Any]]:
        """Arrays for the outputs by name, and Halide's buffers of them."""
        outputs = [self.program.array(name) for names in self.translation.outputs for name in names]
        results = {array.name: np.zeros(array.shape, _dtype(array)) for array in outputs}
        return results, [self._buffer(halide, name, data) for name, data in results.items()]

    def _realized(self, halide: Any) -> dict[str, np.ndarray]:
        results, buffers = self._outputs(halide)
        self.pipeline.realize(buffers[0] if len(buffers) == 1 else buffers, _jit_target(halide))
        return {name: data.astype(self.program.array(name).type.dtype, copy=False) for name, data in results.items()}

    def _buffer(self, halide: Any, name: str, data: np.ndarray) -> Any:
        return _buffer_at(halide, data, self.translation.origins[name])

    def _set(self, halide: Any, array: Array, data: np.ndarray, asked: Mapping[str, Region]) -> Any:
        """Give an input its data, with zeros around them as far as Halide asks for more; they have to live until the
        pipeline has run."""
        name = self.translation.inputs[array.name]
        parameter = self.parameters[name]
        if not parameter.is_buffer():
            parameter.set_scalar(data.reshape(-1)[0].item())
            return data
        origin = self.translation.origins[array.name]
        ends = [(first, first + extent - 1) for first, extent in zip(origin, reversed(data.shape), strict=False)]
        pads = [(max(0, have[0] - want[0]), max(0, want[1] - have[1]))
                for have, want in zip(ends, asked.get(name, ends), strict=True)]
        data = np.ascontiguousarray(np.pad(data, pads[::-1]) if pads else data, _dtype(array))
        buffer = _buffer_at(halide, data, [first - before for first, (before, _) in zip(origin, pads, strict=True)])
        parameter.set_buffer(buffer)
        return data, buffer


def _buffer_at(halide: Any, data: np.ndarray, origin: Sequence[int]) -> Any:
    """A buffer of an array whose first element has the coordinates `origin`."""
    buffer = halide.Buffer(data) if origin else halide.Buffer(data.reshape(()))
    if any(origin):
        buffer.set_min(list(origin))
    return buffer


def _jit_target(halide: Any) -> Any:
    """This machine, with one rounding per operation."""
    return halide.get_jit_target_from_environment().with_feature(halide.TargetFeature.StrictFloat)


def _dtype(array: Array) -> np.dtype:
    return _host_type(array.type)  # type: ignore[arg-type]


def _host_type(type: Number) -> np.dtype:
    """What Halide's Buffers of a type hold."""
    if type in (BIT, FLOAT16):
        return np.dtype(bool if type == BIT else np.float16)
    dtype = type.dtype
    return np.dtype(dtype.char.translate({ord("l"): "q", ord("L"): "Q"}))  # the one 64-bit type of two that it knows


def load_pipeline(outputs: Any, sizes: Sizes = None, *, inputs: Mapping[str, Sequence[int]] | None = None,
                  name: str = "pipeline", schedule: str = "lanes", **parameters: float) -> HalideProgram:
    """The translation of a Halide pipeline: a Func, several, or a Pipeline.

    `sizes`: extents of the outputs as `realize` takes them, [width, height], or those of each by its name; what is left
    out is taken from ``bound``, or else from ``set_estimate``. `inputs`: likewise of ImageParams, whose size is that of
    their buffer, or else what is needed. `parameters`: values of Params; those without one are inputs of one element.
    Arrays are in numpy's order, [y, x]. Raises `PipelineError`.
    """
    halide, use = import_halide(), check_use(schedule)
    try:
        pipeline = outputs if isinstance(outputs, halide.Pipeline) else halide.Pipeline(
            [outputs] if isinstance(outputs, halide.Func) else list(outputs))
        data, given = halide.serialize_pipeline(pipeline, get_params=True)
        translation = _translation(data, sizes, _input_sizes(given) | dict(inputs or {}), name, use,
                                   _numbers(given, halide) | parameters)
        if use in ("lanes", "tiles"):
            _check_schedule(pipeline, halide)
    except (halide.HalideError, TypeError) as error:
        raise PipelineError(f"Halide refuses this pipeline: {one_line(error)}") from None
    return HalideProgram(pipeline, given, translation)


def _check_schedule(pipeline: Any, halide: Any) -> None:
    """Raise what Halide says of a schedule that it cannot follow; loops for GPUs it can, on another machine."""
    target = halide.get_jit_target_from_environment().with_feature(halide.TargetFeature.CUDA)
    with TemporaryDirectory() as folder:
        pipeline.compile_to_lowered_stmt(f"{folder}/lowered.txt", pipeline.infer_arguments(),
                                         halide.StmtOutputFormat.Text, target)


def from_pipeline(outputs: Any, sizes: Sizes = None, *, inputs: Mapping[str, Sequence[int]] | None = None,
                  name: str = "pipeline", schedule: str = "lanes", **parameters: float) -> Program:
    """The program of `load_pipeline`."""
    return load_pipeline(outputs, sizes, inputs=inputs, name=name, schedule=schedule, **parameters).program


def from_bytes(data: bytes, sizes: Sizes = None, *, inputs: Mapping[str, Sequence[Any]] | None = None,
               name: str = "pipeline", schedule: str = "lanes", **parameters: float) -> Program:
    """As `from_pipeline`, of what ``halide.serialize_pipeline`` gave: the package is not needed."""
    return _translation(data, sizes, inputs or {}, name, check_use(schedule), parameters).program


def _translation(data: bytes, sizes: Sizes, inputs: Mapping[str, Sequence[Any]], name: str,
                 use: ScheduleUse, parameters: Mapping[str, float]) -> Translation:
    pipeline = decode_pipeline(data)
    known = {key: [_interval(entry) for entry in extents] for key, extents in inputs.items()}
    _check_names(pipeline, known, parameters)
    given = Given(_output_sizes(pipeline, sizes), known, parameters)
    return translate(pipeline, given, name, _Constants(data, pipeline).realise, use)


class _Constants:
    """Elements of the Funcs of a serialised pipeline that have no inputs, computed by Halide."""

    def __init__(self, data: bytes, pipeline: Pipeline) -> None:
        self._data, self._pipeline = data, pipeline

    def realise(self, name: str, component: int, box: Region) -> np.ndarray:
        """Those of a component in a box, in numpy's order."""
        halide = import_halide()
        shape = tuple(last - first + 1 for first, last in reversed(box))
        func = self._pipeline.funcs[name]
        results = [np.zeros(shape, _host_type(number_type(type))) for type in func.types]
        buffers = [halide.Buffer(data) for data in results]
        for buffer in buffers:
            buffer.set_min([first for first, _ in box])
        try:
            whole = halide.deserialize_pipeline(self._data, {})
            numbered = (whole.get_func(number) for number in range(len(self._pipeline.funcs)))
            found = next(other for other in numbered if other.name() == name)
            found.realize(buffers[0] if len(buffers) == 1 else buffers)
        except halide.HalideError as error:
            raise PipelineError(f"Func '{plain(name)}' has no input, and Halide cannot compute it: "
                                f"{one_line(error)}") from None
        return results[component]


def one_line(error: Exception) -> str:
    """The message of Halide's errors, which have several lines."""
    return " ".join(str(error).removeprefix("Error: ").split())


def _interval(entry: Any) -> tuple[int, int]:
    """First coordinate and extent; an extent alone starts at 0."""
    return (0, int(entry)) if not isinstance(entry, tuple) else (int(entry[0]), int(entry[1]))


def _check_names(pipeline: Pipeline, inputs: Mapping[str, Any], parameters: Mapping[str, Any]) -> None:
    for name, sizes in inputs.items():
        parameter = pipeline.parameters.get(name)
        if parameter is None or not parameter.is_buffer:
            raise PipelineError(f"the pipeline has no input '{name}'; it has: {_listed(pipeline, True)}")
        if len(sizes) != parameter.dimensions:
            raise PipelineError(f"input '{name}' has {parameter.dimensions} dimensions, and is given {len(sizes)} "
                                "sizes")
    for name in parameters:
        if name not in pipeline.parameters or pipeline.parameters[name].is_buffer:
            raise PipelineError(f"the pipeline has no parameter '{name}'; it has: {_listed(pipeline, False)}")


def _listed(pipeline: Pipeline, buffers: bool) -> str:
    return ", ".join(p.name for p in pipeline.parameters.values() if p.is_buffer == buffers) or "none"


# Sizes of the outputs.


def _output_sizes(pipeline: Pipeline, sizes: Sizes) -> dict[str, list[tuple[int, int]]]:
    given = sizes if isinstance(sizes, Mapping) else {plain(name): sizes for name in pipeline.outputs}
    names = {plain(name) for name in pipeline.outputs}
    for name in given:
        if name not in names:
            raise PipelineError(f"the pipeline has no output '{name}'; it has: {', '.join(sorted(names))}")
    return {name: _sizes_of(pipeline.funcs[name], given.get(plain(name))) for name in pipeline.outputs}


def _sizes_of(func: Func, sizes: Sequence[int] | None) -> list[tuple[int, int]]:
    if sizes is not None:
        if len(sizes) != len(func.args):
            raise PipelineError(f"output '{plain(func.name)}' has {len(func.args)} dimensions, and is given "
                                f"{len(sizes)} sizes")
        return [_interval(size) for size in sizes]
    bounds = {**_intervals(func.schedule.estimates), **_intervals(func.schedule.bounds)}
    for name in func.args:
        if name not in bounds:
            raise PipelineError(f"output '{plain(func.name)}' has no size in '{plain(name)}': give sizes=[...], or say "
                                f"{plain(func.name)}.bound({plain(name)}, 0, extent)")
    return [bounds[name] for name in func.args]


def _intervals(bounds: Sequence[Bound]) -> dict[str, tuple[int, int]]:
    found: dict[str, tuple[int, int]] = {}
    for bound in bounds:
        first, extent = _whole(bound.min), _whole(bound.extent)
        if first is not None and extent is not None:
            found[bound.variable] = first, extent
    return found


def _whole(node: Node | None) -> int | None:
    """The integer that an expression is, None if it is none."""
    return node.value if node is not None and node.op == "int" and isinstance(node.value, int) else None


# What only the package knows.


def _input_sizes(parameters: Mapping[str, Any]) -> dict[str, list[tuple[int, int]]]:
    """Coordinates and extents of the inputs that have a buffer or bounds."""
    found: dict[str, list[tuple[int, int]]] = {}
    for name, parameter in parameters.items():
        if parameter.is_buffer():
            sizes = _sizes_of_input(parameter)
            if sizes is not None:
                found[name] = sizes
    return found


def _sizes_of_input(parameter: Any) -> list[tuple[int, int]] | None:
    dimensions = range(parameter.dimensions())
    buffer = parameter.buffer()
    if buffer.defined():
        return [(buffer.dim(k).min(), buffer.dim(k).extent()) for k in dimensions]
    for first, extent in (("min_constraint", "extent_constraint"),
                          ("min_constraint_estimate", "extent_constraint_estimate")):
        sizes = [(_integer(getattr(parameter, first)(k), 0), _integer(getattr(parameter, extent)(k), None))
                 for k in dimensions]
        if all(size is not None for _, size in sizes):
            return sizes  # type: ignore[return-value]
    return None


def _integer(expression: Any, otherwise: int | None) -> int | None:
    value = _value(expression) if expression.defined() else None
    return value if isinstance(value, int) else otherwise


def _numbers(parameters: Mapping[str, Any], halide: Any) -> dict[str, int | float]:
    """The values of the Params that have one."""
    found: dict[str, int | float] = {}
    for name, parameter in parameters.items():
        if not parameter.is_buffer():
            value = _scalar(parameter, halide)
            if value is not None:
                found[name] = value
    return found


def _scalar(parameter: Any, halide: Any) -> int | float | None:
    """The value of a Param, None if it has none."""
    try:
        return _value(parameter.scalar_expr())
    except halide.HalideError:
        return None


def _value(expression: Any) -> int | float | None:
    """The number that an expression of the package is, read off a Func that has nothing else; None if it is none."""
    halide = import_halide()
    func = halide.Func("value")
    func[()] = expression
    data, _ = halide.serialize_pipeline(halide.Pipeline([func]), get_params=True)
    pipeline = decode_pipeline(data)
    node = pipeline.funcs[pipeline.outputs[0]].stages[0].values[0]
    while node.op == "cast":
        node = node.args[0]
    return node.value if isinstance(node.value, int | float) else None
