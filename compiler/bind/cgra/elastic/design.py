"""A program compiled for the ready-valid array: a static design with another configuration."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import ClassVar

from compiler.bind.cgra.design import CgraDesign
from compiler.bind.cgra.elastic.buffet_config import reads_what_nobody_uses
from compiler.bind.cgra.elastic.convert import to_elastic
from compiler.bind.cgra.elastic.errors import ElasticError
from compiler.bind.cgra.elastic.token_simulation import Outcome, play
from compiler.bind.cgra.elastic.validate import require_same
from compiler.bind.cgra.options import Options
from compiler.bind.cgra.validate import ValidationReport
from compiler.bind.design import BufferStorage
from hw.fabric.config import ArrayConfig, decode_array
from hw.fabric.driver import RunPlan
from hw.fabric.spec import FabricSpec

__all__ = ["ElasticDesign", "elastic_design"]

_SLACK = 1000
"""Cycles that a run may take longer than twice the static one before the token game is given up."""


@dataclass(repr=False)
class ElasticDesign(CgraDesign):
    """See `CgraDesign`. `static`: the configuration of the mapping that this one is made from, of an array of
    `static_spec`; it is proven to compute the program."""

    start_to_done_is_exact: ClassVar[bool] = False

    static: ArrayConfig = field(default_factory=ArrayConfig)
    static_spec: FabricSpec = field(default_factory=lambda: FabricSpec(1, 4))
    static_plan: RunPlan = field(default_factory=lambda: RunPlan(0, 0, 1, 1, 1))

    @cached_property
    def outcome(self) -> Outcome:
        """What the token game gives for the finished configuration words."""
        limit = 2 * self.static_plan.run_cycles + _SLACK
        return play(decode_array(self.words, self.spec), self.static_plan, self.spec, limit)

    @cached_property
    def predicted_cycles(self) -> int:
        """Cycles until the last word of the last tile is in its bank, by the token game."""
        return self.outcome.cycles

    @property
    def run_cycles(self) -> int:
        """Cycles until every bank has moved all its words, by the token game."""
        return self.outcome.run_cycles

    @cached_property
    def storage(self) -> list[BufferStorage]:
        """Each buffer has the whole memory of its tiles."""
        capacity = self.spec.mem.capacity_words
        return [replace(s, allocated_words=capacity * len(s.units)) for s in self.twin().storage]

    def validate(self) -> ValidationReport:
        """Prove the static mapping, that this configuration does the same, and that its tokens do not stop."""
        report = self.twin().validate()
        static = decode_array(self.static.words(self.static_spec), self.static_spec)
        require_same(static, decode_array(self.words, self.spec), self.static_spec, self.spec)
        _ = self.outcome
        return report

    def twin(self) -> CgraDesign:
        """The static design that this one is made from."""
        options = replace(self.options, memory="dual-port")
        return CgraDesign(self.program, self.parts, options, self.static_spec, self.application, self.physical,
                          self.static, {}, self.seconds, self.coalesced, self.distributed)


def elastic_design(static: CgraDesign, options: Options) -> ElasticDesign:
    """The design for the ready-valid array that does what `static` does, which is for dual-port memories.

    Raises `ElasticError` for what buffets cannot do.
    """
    spec = options.fabric()
    static = static.in_whole_tiles()
    config = to_elastic(static.application, static.physical, static.config, spec)
    design = ElasticDesign(static.program, static.parts, options, spec, static.application, static.physical, config,
                           {}, static.seconds, static.coalesced, static.distributed, static.config, static.spec,
                           static.plan)
    try:
        require_same(decode_array(static.words, static.spec), decode_array(design.words, spec), static.spec, spec)
        _ = design.outcome
    except ElasticError as error:
        passed = next(filter(reads_what_nobody_uses, static.application.memories), None)
        if passed is None:
            raise
        raise ElasticError(f"buffer {passed.buffers[0].traffic.title} is read where nobody uses the word, which "
                           f"buffets cannot always pass over: {error}") from None
    return design
