"""Files with Halide pipelines: what a function of a Python file returned, Generators, and serialised pipelines.

Settings that are numbers are values of Params, or extents of the output in the dimension of that name; those that are
lists of numbers are sizes of the output or input of that name, [width, height]. `schedule` is what is used of the
pipeline's.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from compiler.frontend.halide.api import from_bytes, from_pipeline, import_halide, one_line
from compiler.frontend.halide.decode import decode_pipeline
from compiler.frontend.halide.errors import PipelineError
from compiler.frontend.halide.names import plain
from compiler.frontend.halide.nodes import Pipeline
from compiler.ir.program import Program

__all__ = ["SERIALISED", "find_generator", "from_generator", "from_result", "is_pipeline", "load_serialised",
           "uses_halide"]

SERIALISED = ".hlpipe"
"""The ending of files with a serialised pipeline."""


def uses_halide(module: ModuleType) -> bool:
    """Whether a module imports the package, or something of it."""
    halide = sys.modules.get("halide")
    return halide is not None and any(
        value is halide or getattr(value, "__module__", "").startswith("halide") for value in vars(module).values())


def is_pipeline(value: Any) -> bool:
    """Whether a value is a Func, a Pipeline, or several Funcs."""
    halide = sys.modules.get("halide")
    if halide is None:
        return False
    many = isinstance(value, list | tuple) and bool(value) and all(isinstance(part, halide.Func) for part in value)
    return many or isinstance(value, halide.Func | halide.Pipeline)


def from_result(value: Any, name: str, settings: Mapping[str, Any]) -> Program:
    """The program of what a function returned, for which `is_pipeline` holds. Raises `PipelineError`."""
    halide = import_halide()
    try:
        whole = value if isinstance(value, halide.Pipeline) else halide.Pipeline(
            [value] if isinstance(value, halide.Func) else list(value))
        data = halide.serialize_pipeline(whole)
    except (halide.HalideError, TypeError) as error:
        raise PipelineError(f"Halide refuses this pipeline: {one_line(error)}") from None
    use, sizes, inputs, numbers = _sorted(decode_pipeline(data), settings)
    return from_pipeline(whole, sizes, inputs=inputs, name=name, schedule=use, **numbers)


def find_generator(module: ModuleType) -> Any:
    """The only Generator that a module defines, None if it defines none or several."""
    halide = sys.modules.get("halide")
    if halide is None:
        return None
    found = [value for value in vars(module).values() if isinstance(value, type)
             and issubclass(value, halide.Generator) and value is not halide.Generator]
    return found[0] if len(found) == 1 else None


def from_generator(generator: Any, name: str, settings: Mapping[str, Any]) -> Program:
    """The program of a Generator class; settings with the names of its GeneratorParams are their values. Raises
    `PipelineError`."""
    halide = import_halide()
    if not hasattr(generator, "_halide_registered_name"):
        raise PipelineError(f"Generator {generator.__name__} has no name: write "
                            f"@hl.generator(name='{generator.__name__.lower()}') above it")
    own = {key for key in dir(generator) if isinstance(getattr(generator, key, None), halide.GeneratorParam)}
    try:
        with halide.GeneratorContext(halide.get_jit_target_from_environment()):
            made = generator({key: str(value) for key, value in settings.items() if key in own})
            pipeline = made._build_pipeline()
    except (halide.HalideError, ValueError, TypeError) as error:
        raise PipelineError(f"Generator {generator.__name__}: {one_line(error)}") from None
    return from_result(pipeline, name, {key: value for key, value in settings.items() if key not in own})


def load_serialised(path: Path, settings: Mapping[str, Any]) -> Program:
    """The program of a file that ``halide.serialize_pipeline`` wrote. Raises `PipelineError`."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise PipelineError(f"{path} cannot be read: {error.strerror}") from None
    use, sizes, inputs, numbers = _sorted(decode_pipeline(data), settings)
    return from_bytes(data, sizes, inputs=inputs, name=path.stem, schedule=use, **numbers)


def _sorted(pipeline: Pipeline, settings: Mapping[str, Any]
            ) -> tuple[str, Any, dict[str, Sequence[int]], dict[str, float]]:
    """What is used of the schedule, sizes of outputs, sizes of inputs, values of Params."""
    use = "lanes"
    sizes: dict[str, Sequence[int]] = {}
    inputs: dict[str, Sequence[int]] = {}
    numbers: dict[str, float] = {}
    outputs = {plain(name): pipeline.funcs[name] for name in pipeline.outputs}
    for name, value in settings.items():
        if isinstance(value, list | tuple):
            (sizes if name in outputs else inputs)[name] = _whole(name, value)
        elif name == "schedule" and isinstance(value, str):
            use = value
        elif isinstance(value, int | float):
            numbers[name] = value
        else:
            raise PipelineError(f"{name}={value!r} is neither a number nor a list of sizes such as 64,48")
    for name, func in outputs.items():
        if name not in sizes and func.args and all(plain(arg) in numbers for arg in func.args):
            sizes[name] = _whole(name, [numbers[plain(arg)] for arg in func.args])
    if sizes:
        variables = {plain(arg) for func in outputs.values() for arg in func.args}
        numbers = {name: value for name, value in numbers.items()
                   if name not in variables or name in pipeline.parameters}
    return use, sizes or None, inputs, numbers


def _whole(name: str, values: Sequence[Any]) -> list[int]:
    if not all(isinstance(value, int) and value > 0 for value in values):
        raise PipelineError(f"the sizes of '{name}', {', '.join(map(str, values))}, are not all positive integers")
    return [int(value) for value in values]
