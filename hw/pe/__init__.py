"""Processing elements: one operation of the table per cycle on words and bits."""

from hw.pe.config import PeConfig, PeSpec

__all__ = ["PeConfig", "PeSpec"]
