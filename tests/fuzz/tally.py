"""How many programs went where: per target, per generator and per simulator, as a table and as a JSON file."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.table import Table

from tests.fuzz.programs import Job, Outcome, generator_name

__all__ = ["Tally"]

_COLUMNS = ("programs", "right", "refused", "wrong", "slow", "icarus", "verilator")
"""Programs drawn, every one of them compiled by gcc, too; what became of them; how many of the right ones went through
each RTL simulator."""


@dataclass
class Tally:
    """Counts so far, and where to go on: `seed` is the next one that nobody has had."""

    seed: int
    targets: dict[str, Counter[str]] = field(default_factory=dict)
    generators: dict[str, Counter[str]] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    refusals: dict[str, dict[str, Any]] = field(default_factory=dict)
    properties: int = 0

    def add(self, job: Job, outcome: Outcome) -> None:
        """Count a job."""
        found = [outcome.kind, "programs", *(job.simulators if outcome.kind == "right" else ())]
        self.targets.setdefault(job.target, Counter()).update(found)
        self.generators.setdefault(generator_name(job.seed), Counter()).update([outcome.kind, "programs"])
        self.seconds[job.target] = round(self.seconds.get(job.target, 0.0) + outcome.seconds, 2)
        if outcome.kind == "refused":
            known = self.refusals.setdefault(f"{job.target}: {_form(outcome.reason)}",
                                             {"count": 0, "seed": job.seed, "reason": outcome.reason})
            known["count"] += 1

    def table(self) -> Table:
        """What was counted, per target and per generator."""
        table = Table("", *_COLUMNS, "CPU s", box=None)
        for name, counts in sorted(self.targets.items()):
            table.add_row(name, *(str(counts[c]) for c in _COLUMNS), f"{self.seconds.get(name, 0.0):.0f}")
        table.add_section()
        for name, counts in sorted(self.generators.items()):
            table.add_row(name, *(str(counts[c]) for c in _COLUMNS[:5]))
        return table

    def save(self, path: Path) -> None:
        """Write everything as JSON, the refusals with the most programs first."""
        path.parent.mkdir(parents=True, exist_ok=True)
        refusals = dict(sorted(self.refusals.items(), key=lambda item: -item[1]["count"]))
        path.write_text(json.dumps(vars(self) | {"refusals": refusals}, indent=1) + "\n")

    @staticmethod
    def load(path: Path) -> Tally:
        """What `save` wrote."""
        found = json.loads(path.read_text())
        for part in ("targets", "generators"):
            found[part] = {name: Counter(counts) for name, counts in found[part].items()}
        return Tally(**found)


def _form(reason: str) -> str:
    """A message without what names this one program."""
    return re.sub(r"'[^']*'|-?\d+", "…", reason)[:160]
