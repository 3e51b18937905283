"""Compiling for the coarse-grained array: the stages in order, each an object that can be looked at."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from compiler.bind.cgra.application import build_application
from compiler.bind.cgra.configuration import configure
from compiler.bind.cgra.design import CgraDesign
from compiler.bind.cgra.physical import implement
from compiler.ir.program import Program
from compiler.ir.verify import verify
from compiler.sched.cycle_accurate import schedule_program
from compiler.sched.streams import choose_tile_depth, stage_streams
from hw.errors import SluiceError
from hw.fabric.spec import FabricSpec

__all__ = ["Options", "OptionsError", "compile_program"]

MEMORIES = ("pub", "dual-port")


class OptionsError(SluiceError):
    """An option of the target has a value that it cannot have."""


@dataclass(frozen=True)
class Options:
    """What a user can choose.

    memory: implementation of the memory tiles, "pub" (wide fetch) or "dual-port". array: "ROWSxCOLUMNS".
    fusion_level: loops that producers and consumers share step by step, None for all (seed 001, section 4.4).
    tile_depth: shared outer loops that enumerate tiles, None for as few as fit the global buffer.
    half_words: words in half a bank of the global buffer. seed: of placement.
    """

    memory: str = "pub"
    array: str = "8x8"
    fusion_level: int | None = None
    tile_depth: int | None = None
    half_words: int | None = None
    seed: int = 0

    def fabric(self) -> FabricSpec:
        """The array these options describe. Raises `OptionsError` or `FabricError`."""
        if self.memory not in MEMORIES:
            raise OptionsError(f"there is no memory '{self.memory}'; there are: {', '.join(MEMORIES)}")
        spec = FabricSpec.parse(self.array)
        spec = replace(spec, mem=replace(spec.mem, kind=self.memory))
        if self.half_words is not None:
            spec = replace(spec, glb=replace(spec.glb, half_words=self.half_words))
        return spec


class _Stopwatch:
    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def __call__(self, stage: str) -> Iterator[None]:
        start = time.perf_counter()
        yield
        self.seconds[stage] = time.perf_counter() - start


def compile_program(program: Program, options: Options) -> CgraDesign:
    """Compile `program`; every stage checks its own input, and the finished mapping is validated from outside."""
    spec = options.fabric()
    stage = _Stopwatch()
    with stage("verify"):
        verify(program)
    with stage("schedule"):
        depth = options.tile_depth
        if depth is None:
            depth = choose_tile_depth(program, spec.glb.half_words)
        schedule = schedule_program(stage_streams(program, depth), options.fusion_level)
    with stage("map"):
        application = build_application(schedule, spec.mem)
    with stage("place and route"):
        physical = implement(application.netlist, spec, options.seed)
    with stage("configure"):
        config = configure(application, physical, spec)
        design = CgraDesign(program, options, spec, application, physical, config, stage.seconds)
    with stage("validate"):
        design.validate()
    return design
