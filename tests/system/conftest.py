"""The benches here use the memory of the burst engines' benches."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "dma"))
