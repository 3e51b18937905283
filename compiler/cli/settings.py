"""Settings of command lines: ``NAME=VALUE``, repeated, and those of a simulation."""

from __future__ import annotations

import argparse
import ast
from collections.abc import Sequence
from inspect import Parameter, signature
from typing import Any

from compiler.bind.design import Design
from compiler.bind.ported_design import PortedDesign
from compiler.bind.streamed_design import StreamedDesign
from hw.errors import SluiceError
from hw.sim.simulate import StallProfile

__all__ = ["UsageError", "read_settings", "simulation_settings", "target_options"]

STALLS = 0.2
"""How often memory stalls, on every channel, if a command line asks for stalls."""

_JSON_BOOLS = {"true": True, "false": False}


class UsageError(SluiceError):
    """A command line that asks for something impossible."""


def read_settings(flag: str, settings: Sequence[str]) -> dict[str, Any]:
    """What ``FLAG NAME=VALUE`` said. Values are Python literals, ``true`` and ``false`` among them as JSON writes them;
    what is none is a text. Raises `UsageError`."""
    found: dict[str, Any] = {}
    for setting in settings:
        name, separator, text = setting.partition("=")
        if not separator or not name.isidentifier():
            raise UsageError(f"{flag} {setting}: write NAME=VALUE")
        try:
            found[name] = _JSON_BOOLS[text] if text in _JSON_BOOLS else ast.literal_eval(text)
        except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
            found[name] = text
    return found


def simulation_settings(options: argparse.Namespace, design: Design | StreamedDesign | PortedDesign) -> dict[str, Any]:
    """What ``--waves`` and ``--stall-seed`` mean for `design.simulate`. Raises `UsageError` if it lacks one."""
    settings: dict[str, Any] = {"waves": True} if options.waves else {}
    if options.stall_seed is not None:
        settings |= {"seed": options.stall_seed, "stall": StallProfile.uniform(STALLS)}
    known = signature(design.simulate).parameters
    open_ended = any(parameter.kind is Parameter.VAR_KEYWORD for parameter in known.values())
    for name in settings:
        if not open_ended and name not in known:
            flag = "--waves" if name == "waves" else "--stall-seed"
            raise UsageError(f"{flag}: simulations of target {options.target} have no setting '{name}'")
    return settings


def target_options(options: argparse.Namespace) -> dict[str, Any]:
    """The target's options that a command line gives, by name."""
    names = ("memory", "array", "hardware", "lanes", "fusion_level", "tile_depth", "half_words", "seed",
             "memory_latency", "memory_bursts", "passes")
    given = {name: getattr(options, name) for name in names if getattr(options, name) is not None}
    if options.reassociate:
        given["reassociate"] = True
    return given | read_settings("--option", options.option)
