"""SA-C programs as users meet them: loaded from a file, run on the host."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from compiler.frontend.sac.build import build_module
from compiler.frontend.sac.ddcf import Function, Module, interpret
from compiler.frontend.sac.ddcf.graph import Port
from compiler.frontend.sac.host_c import emit_c
from compiler.frontend.sac.limits import SAC_LIMITS
from compiler.frontend.sac.numbers import enter, leave
from compiler.frontend.sac.parse import parse_text
from compiler.frontend.sac.passes import Optimised, optimise
from compiler.frontend.sac.types import Kind, Scalar, Type
from compiler.ir.limits import check_array_bytes
from compiler.ir.types import ProgramError

__all__ = ["SacProgram", "load_sac", "parse_sac", "random_inputs"]


@dataclass(frozen=True)
class SacProgram:
    """The graphs of a program and the function that it begins with."""

    name: str
    module: Module
    main: Function

    @property
    def inputs(self) -> dict[str, Port]:
        """Parameters by name."""
        return {port.name: port for port in self.main.parameters}

    @property
    def outputs(self) -> dict[str, Port]:
        """Results by name: that of the variable that is returned, or ``result1``, ``result2``…"""
        return {port.name: port for port in self.main.results}

    def run(self, inputs: Mapping[str, np.ndarray | int | float | complex]) -> dict[str, np.ndarray]:
        """The results for `inputs`, by name. Scalars are 0-D arrays.

        Integers, bits and bool are integers; fixed-point numbers are float64, which holds them exactly; complex ones
        are complex128. Raises `ProgramError` for an input that is missing, unknown or outside its type, and
        `SacRunError` with the place in the source where a run has no result.
        """
        return self.results(interpret(self.module, self.main.name, self.held(inputs)))

    def optimised(self, passes: Sequence[str] | None = None, observe: Callable[[str, Module], None] | None = None
                  ) -> tuple[SacProgram, Optimised]:
        """This program after `passes` (`compiler.frontend.sac.passes`), by default all in the thesis' order until
        nothing changes; and what they did. `observe` sees each module that differs, and the pass that made it."""
        done = optimise(self.module, self.main.name, passes, observe)
        return SacProgram(self.name, done.module, done.module.function(self.main.name)), done

    def with_extents(self, shapes: Mapping[str, Sequence[int]]) -> SacProgram:
        """This program for arrays of these shapes alone, by name, so that passes know them.

        Raises `ProgramError` for an input that does not exist or has other dimensions.
        """
        for name, shape in shapes.items():
            if name not in self.inputs:
                raise ProgramError(f"program {self.name} has no input '{name}'; it has: "
                                   f"{', '.join(self.inputs) or 'none'}")
            wanted = self.inputs[name].types[0]
            if not Type(wanted.scalar, tuple(shape)).fits(wanted):
                raise ProgramError(f"input {name} has type {wanted} and not the shape {list(shape)}")
        ports = tuple(Port(port.name, tuple(Type(type_.scalar, tuple(shapes.get(port.name, type_.extents)))
                                            for type_ in port.types)) for port in self.main.parameters)
        inputs = tuple(type_ for port in ports for type_ in port.types)
        main = replace(self.main, parameters=ports, graph=replace(self.main.graph, inputs=inputs))
        module = Module(tuple(main if f is self.main else f for f in self.module.functions))
        return SacProgram(self.name, module, main)

    def host_c(self) -> str:
        """The program in C for a host (`compiler.frontend.sac.host_c.emit_c`)."""
        return emit_c(self.module, self.main, SAC_LIMITS.of("while_iterations"))

    def held(self, inputs: Mapping[str, np.ndarray | int | float | complex]) -> list[np.ndarray]:
        """Inputs of the graph: integers that hold numbers, complex ones in two parts. Raises as `run`."""
        for name in inputs:
            if name not in self.inputs:
                raise ProgramError(f"program {self.name} has no input '{name}'; it has: "
                                   f"{', '.join(self.inputs) or 'none'}")
        held: list[np.ndarray] = []
        for name, port in self.inputs.items():
            if name not in inputs:
                raise ProgramError(f"input {name} of program {self.name} is missing")
            held += enter(name, port, np.asarray(inputs[name]))
        check_array_bytes({f"input {k}": (array.shape, 64) for k, array in enumerate(held)})
        return held

    def results(self, outputs: Sequence[np.ndarray]) -> dict[str, np.ndarray]:
        """Results by name from the outputs of the graph."""
        leaving = iter(outputs)
        return {name: leave(port, [next(leaving) for _ in port.types]) for name, port in self.outputs.items()}


def random_inputs(program: SacProgram, seed: int, extent: int = 64) -> dict[str, np.ndarray]:
    """Random numbers over the whole range of each input's type; `extent` where an array's is not declared."""
    generator = np.random.default_rng(seed)
    found = {}
    for name, port in program.inputs.items():
        type_ = port.types[0]
        shape = tuple(extent if e is None else e for e in type_.extents)
        parts = [_random(generator, type_.scalar, shape) for _ in port.types]
        found[name] = parts[0] if len(parts) == 1 else parts[0] + 1j * parts[1]
    return found


def _random(generator: np.random.Generator, scalar: Scalar, shape: tuple[int, ...]) -> np.ndarray:
    if scalar.floating:
        return generator.standard_normal(shape).astype(np.float32 if scalar.width == 32 else np.float64)
    whole = generator.integers(scalar.minimum, scalar.maximum, shape, endpoint=True)
    return np.asarray(whole / float(1 << scalar.fraction) if scalar.kind in (Kind.FIX, Kind.UFIX) else whole)


def parse_sac(text: str, file: str = "program.sc", function: str | None = None) -> SacProgram:
    """The program in `text`. It begins with `function`; by default with ``main``, or with the only function that no
    other calls. Raises `SacError` with file, line and column for what is no SA-C."""
    module = build_module(parse_text(text, file))
    return SacProgram(Path(file).stem, module, _main(module, file, function))


def _main(module: Module, file: str, asked: str | None) -> Function:
    functions = {function.name: function for function in module.functions}
    if not functions:
        raise ProgramError(f"{file} has no function")
    if asked is not None:
        if asked not in functions:
            raise ProgramError(f"{file} has no function '{asked}'; it has: {', '.join(functions)}")
        return functions[asked]
    called = {str(node.attribute("function")) for f in module.functions for node in f.graph.walk()
              if node.kind == "FCALL"}
    outermost = [name for name in functions if name not in called]
    if "main" not in functions and len(outermost) != 1:
        raise ProgramError(f"{file} has no function 'main', and several that no other calls: "
                           f"{', '.join(outermost)}; name one with --function")
    return functions["main" if "main" in functions else outermost[0]]


def load_sac(path: Path, function: str | None = None) -> SacProgram:
    """The program in a file. Raises `ProgramError` if it cannot be read or is no SA-C."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise ProgramError(f"there is no application file {path}") from None
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is no text in UTF-8"
        raise ProgramError(f"{path} cannot be read: {reason}") from None
    return parse_sac(text, str(path), function)
