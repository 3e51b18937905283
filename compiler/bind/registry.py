"""The targets. Adding one means a folder beside `cgra` and a line here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from typing import Any, get_type_hints

from typeguard import TypeCheckError, check_type

from compiler.bind.automatic_copies import choose_copies
from compiler.bind.design import Design
from compiler.bind.schedule_forms import first_form
from compiler.frontend.parallel_array.lowering import loop_nests
from compiler.frontend.parallel_array.program import ArrayProgram
from compiler.ir.expr import Load, Read, Store, postorder
from compiler.ir.memory_bounds import without_assertions
from compiler.ir.program import Program, Statement
from compiler.ir.types import Float
from compiler.passes.normalize.distinct_names import rename_clashing_statements
from compiler.passes.registry import register_passes
from compiler.passes.scheduled import ScheduledProgram
from hw.designs.hardware import load_hardware
from hw.errors import SluiceError

__all__ = ["TARGETS", "TargetError", "check_options", "compile_program", "compile_sizes", "target"]

TARGETS = {"cgra": "compiler.bind.cgra.target", "dataflow": "compiler.bind.dataflow.target",
           "fpga": "compiler.bind.fpga.target",
           "systolic": "compiler.bind.systolic.target",
           "vector": "compiler.bind.vector.target"}

register_passes({"legalize-tables": "compiler.bind.cgra.passes:LegalizeTables",
                 "legalize-arrays": "compiler.bind.cgra.passes:LegalizeArrays"})

_DEFAULT = "cgra"

_EVERY_INDEX = "loop over all indices and use the one that is equal: for (k = 0; k < N; k++) if (k == INDEX) ..."


class TargetError(SluiceError):
    """There is no such target or option."""


def target(name: str) -> Any:
    """The module of target `name`.

    It has `Options` (a frozen dataclass), ``compile_program(program, options)``, and `PLACE`: what results call it; and
    `DISTINCT_NAMES` = False if it keeps apart statements and arrays of one name by itself.
    """
    if name not in TARGETS:
        raise TargetError(f"there is no target '{name}'; there are: {', '.join(TARGETS)}")
    return import_module(TARGETS[name])


def compile_program(program: Any, target_name: str, **options: Any) -> Design:
    """Compile `program` for a target. Raises `TargetError` for unknown options and for programs of a kind that the
    target does not take (it takes its `PROGRAMS`, or if it names none those of loop nests; floating-point numbers if it
    has `FLOATING`, or those that its `taken_floats` says of the options, accesses at places that depend on data if it
    has `MEMORIES` or if its `memory_refusal` names none, assertions if `TRAPS` is not False), and what it raises.

    Option `hardware` names a file that describes the hardware (`hw.designs.hardware`), which names the target, too.
    """
    if isinstance(options.get("hardware"), str):
        target_name, options = _described(target_name, options)
    module = target(target_name)
    taken = getattr(module, "PROGRAMS", (Program,))
    if isinstance(program, ArrayProgram) and ArrayProgram not in taken:
        program = loop_nests(program)
    if not isinstance(program, taken):
        raise TargetError(f"target {target_name} does not take programs of type {type(program).__name__}")
    if isinstance(program, ScheduledProgram):
        return _compile_scheduled(program, target_name, module, options)
    given = _options(module, target_name, options)
    if isinstance(program, Program):
        if getattr(module, "DISTINCT_NAMES", True):
            program = rename_clashing_statements(program)
        if not getattr(module, "FLOATING", False):
            _check_floats(program, target_name, module.Options(**given))
        if not (getattr(module, "MEMORIES", False) and getattr(module, "TRAPS", True)):
            program = without_assertions(program)
        if not getattr(module, "MEMORIES", False):
            _check_accesses(program, target_name)
    return module.compile_program(program, module.Options(**given))


def _compile_scheduled(program: ScheduledProgram, target_name: str, module: Any, options: dict[str, Any]) -> Design:
    """As `compile_program`, with what the program's source asks for, as far as the target has a place for it."""
    _options(module, target_name, options)
    known = get_type_hints(module.Options)
    if program.chooses:
        return choose_copies(program, lambda fixed: compile_program(fixed, target_name, **options),
                             (False,) if "lanes" in known else (False, True))
    defaults = {name: getattr(module.Options, name, None) for name in known}
    return first_form(program, defaults, options, partial(compile_program, target_name=target_name))


def check_options(target_name: str, **options: Any) -> None:
    """Raise what `compile_program` raises for `options` whatever the program is."""
    if isinstance(options.get("hardware"), str):
        target_name, options = _described(target_name, options)
    module = target(target_name)
    module.Options(**_options(module, target_name, options))


def compile_sizes(build: Callable[..., Program], ranges: Mapping[str, tuple[int, int]], target_name: str,
                  **options: Any) -> Any:
    """Hardware for the programs that `build` gives for all sizes in `ranges`, with the sizes in registers: what
    function ``compile_sizes`` of the target's module returns. Raises `TargetError` if the target has none, or for
    unknown options, and what it raises."""
    module = target(target_name)
    if not hasattr(module, "compile_sizes"):
        able = ", ".join(name for name in TARGETS if hasattr(target(name), "compile_sizes"))
        raise TargetError(f"target {target_name} has no run-time sizes; with them: {able}")
    return module.compile_sizes(build, ranges, module.Options(**_options(module, target_name, options)))


def _options(module: Any, target_name: str, options: dict[str, Any]) -> dict[str, Any]:
    """`options`, if the target has them with values of these types."""
    known = get_type_hints(module.Options)
    for option, value in options.items():
        if option not in known:
            raise TargetError(f"target {target_name} has no option '{option}'; there are: {', '.join(known)}")
        _check_type(option, value, known[option])
    return options


def _check_floats(program: Program, target_name: str, options: Any) -> None:
    """Raise `TargetError` for the first statement with floating-point numbers that the target does not take."""
    module = target(target_name)
    taken = module.taken_floats(options) if hasattr(module, "taken_floats") else ()
    for statement in program.statements:
        types = [node.type for node in postorder(statement.value)]
        types += [program.array(access.array).type for access in statement.reads]
        floats = [type for type in types if isinstance(type, Float) and type not in taken]
        if floats:
            able = ", ".join(name for name in TARGETS if getattr(target(name), "FLOATING", False))
            have = " and ".join(["integers", *map(str, taken)])
            hint = getattr(module, "OPTIONAL_FLOATS", {}).get(floats[0], "")
            raise TargetError(f"{statement.label()} computes with {floats[0]}: target {target_name} has {have} only; "
                              f"with floating-point numbers: {able}{'; ' * bool(hint)}{hint}")


def _check_accesses(program: Program, target_name: str) -> None:
    """Raise `TargetError` for the first statement that accesses an array at places that depend on data, as far as the
    target does not look them up in tables that it fills."""
    found = getattr(target(target_name), "memory_refusal", _first_indexed)(program)
    if found is not None:
        statement, what, reason = found
        able = ", ".join(name for name in TARGETS if getattr(target(name), "MEMORIES", False))
        raise TargetError(f"{statement.label()} {what}: target {target_name} {reason}; with others: {able}; or "
                          f"{_EVERY_INDEX}")


def _first_indexed(program: Program) -> tuple[Statement, str, str] | None:
    """The first access at a place that depends on data: the statement, what it does, and why that is refused."""
    for statement in program.statements:
        for node in postorder(statement.value):
            if isinstance(node, Load | Store) and any(isinstance(part, Read) for part in postorder(node.index)):
                verb, array = "reads" if isinstance(node, Load) else "writes", program.memory(node.memory).label
                return statement, f"{verb} '{array}' at a place that depends on data", "has affine addresses only"
    return None


def _described(target_name: str, options: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Target and options that a description of the hardware and the options given beside it ask for."""
    file = options["hardware"]
    hardware = load_hardware(file)
    if target_name not in (_DEFAULT, hardware.target):
        raise TargetError(f"{file} describes hardware of target {hardware.target}, not {target_name}")
    merged = {**hardware.options, **options}
    if hardware.array is None:
        del merged["hardware"]
    return hardware.target, merged


def _check_type(option: str, value: Any, wanted: Any) -> None:
    try:
        check_type(value, wanted)
    except TypeCheckError:
        name = wanted.__name__ if isinstance(wanted, type) else str(wanted).replace("collections.abc.", "")
        raise TargetError(f"option {option} is {value!r}, which is not of type {name}") from None
