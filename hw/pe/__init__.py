"""Processing elements: one operation of the table per cycle on words and bits."""

from hw.pe.config import PE_LATENCY, PeConfig, PeSpec, pe_layout
from hw.pe.core import Pe

__all__ = ["PE_LATENCY", "Pe", "PeConfig", "PeSpec", "pe_layout"]
