"""What keeps a loop that is a dataflow graph from being a `Program`."""

from __future__ import annotations

from compiler.frontend.sac.dfg.criteria import Obstacle
from compiler.frontend.sac.syntax import Place
from hw.errors import SluiceError

__all__ = ["NoProgram"]


class NoProgram(SluiceError):
    """A loop stays on the host, for the reason in `obstacle`."""

    def __init__(self, kind: str, place: Place | None, reason: str, rewrite: str) -> None:
        self.obstacle = Obstacle(kind, place, reason, rewrite)
        super().__init__(str(self.obstacle))
