"""The text form of a plan: its program, and every choice, from which the same array follows."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from compiler.bind.systolic.errors import MappingError
from compiler.bind.systolic.kernel import recognise
from compiler.bind.systolic.plan import Choice, Plan, make_plan
from compiler.ir.text import parse_program, print_program

__all__ = ["parse_plan", "print_plan"]

_FORMAT = "sluice systolic plan 1"


def print_plan(plan: Plan) -> str:
    """JSON with the program, the choices, and the description of the array that follows from them."""
    return json.dumps({"format": _FORMAT, "program": print_program(plan.kernel.program).splitlines(),
                       "reassociated": plan.kernel.reassociated, "choice": asdict(plan.choice),
                       "array": asdict(plan.spec)}, indent=1) + "\n"


def parse_plan(text: str) -> Plan:
    """The plan that `print_plan` wrote. Raises `MappingError` for anything else, also if its array is not the one that
    follows from its program and choices."""
    try:
        data = json.loads(text)
        known = isinstance(data, dict) and data.get("format") == _FORMAT
    except ValueError:
        known, data = False, {}
    if not known:
        raise MappingError(f"this is no plan of a systolic array ('{_FORMAT}')")
    try:
        lines, fields, array = data["program"], dict(data["choice"]), data["array"]
        fields |= {name: tuple(fields[name]) for name in ("space", "array", "order")}
        kernel = recognise(parse_program("\n".join(lines)), reassociate=data["reassociated"])
        plan = make_plan(kernel, Choice(**fields))
    except (KeyError, TypeError, ValueError) as error:
        raise MappingError(f"the plan lacks something, or has something too much: {error}") from None
    if _plain(asdict(plan.spec)) != array:
        raise MappingError("the plan's array does not follow from its program and choices")
    return plan


def _plain(value: Any) -> Any:
    """As JSON gives it back."""
    return json.loads(json.dumps(value))
