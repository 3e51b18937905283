"""Inputs and outputs of SA-C programs in files: PGM and PPM with types, and text (Hammes 2000, section 6.2)."""

from compiler.frontend.sac.values.pnm import read_pnm, write_pnm
from compiler.frontend.sac.values.text import parse_values, print_values

__all__ = ["parse_values", "print_values", "read_pnm", "write_pnm"]
