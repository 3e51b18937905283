"""The kinds of nodes (Hammes 2000, chapter 3): what each takes and gives, as far as types tell.

The verifier, the text form and the passes read this table.
"""

from __future__ import annotations

from compiler.frontend.sac.arithmetic import BINARY, COMPARISONS

__all__ = ["COMPOUND_KINDS", "GENERATOR_KINDS", "LOOP_KINDS", "MANY_KINDS", "REDUCTION_KINDS", "RETURN_KINDS",
           "SIMPLE_KINDS", "STRUCTURING_KINDS", "VALUE_AT_KINDS"]

STRUCTURING_KINDS = ("CONSTRUCT_ARRAY", "CONSTRUCT_TILE", "CONSTRUCT_CONCAT")
REDUCTION_KINDS = ("SUM", "PRODUCT", "MIN", "MAX", "AND", "OR", "MEAN", "ST_DEV", "MEDIAN", "MODE", "HISTOGRAM")
VALUE_AT_KINDS = ("VALS_AT_MAXS", "VALS_AT_MINS", "VAL_AT_FIRST_MAX", "VAL_AT_FIRST_MIN", "VAL_AT_LAST_MAX",
                  "VAL_AT_LAST_MIN")
RETURN_KINDS = (*STRUCTURING_KINDS, *REDUCTION_KINDS, *(f"ACCUM_{kind}" for kind in REDUCTION_KINDS), *VALUE_AT_KINDS)
"""Nodes that end a loop: they take a value from each iteration and give one for all."""

GENERATOR_KINDS = ("SCALARGEN", "ELEGEN", "WINDOWGEN")
"""Nodes inside DOT and CROSS."""

LOOP_KINDS = ("FORALL", "FORNXT", "WHILE")
COMPOUND_KINDS = (*LOOP_KINDS, "SWITCH", "DOT", "CROSS")

MANY_KINDS = tuple(f"{kind}_MANY" for kind in ("SUM", "PRODUCT", "MIN", "MAX", "AND", "OR", "MEDIAN", "MODE"))
"""Reductions of unrolled loops: a value and a mask for each iteration (table 4.1)."""

SIMPLE_KINDS = (*BINARY, *COMPARISONS, "NEG", "NOT", "BIT_NOT", "CAST", "INTRINSIC", "FCALL", "FOREIGN",
                "EXTENTS",
                "CHECK_EXTENTS", "FILL_LIKE", "ARR_DEF", "ARRAY_CONCAT", "ARRAY_CONCAT_VERT", "ARR_CONPERIM", "AREF",
                "ARR_UPDATE", "LOOP_INDICES", "NEXT", *MANY_KINDS, *RETURN_KINDS)
