"""The tables of a serialised pipeline: names and kinds of their fields, in the order of their slots.

Kinds: ``b`` bit, ``i8`` ... ``f64`` numbers, ``s`` string, ``E`` expression (two slots: which table, and a reference),
``S`` statement (likewise), the name of another table, ``bytes``, ``*`` what
this front end does not look at (``**``: an expression of these); ``[...]``
is a vector of these, of expressions again in two slots.

What is here are facts about the format of the versions in `VERSIONS`, found by measurement. Another version may have
moved a field: it is refused.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["CALLS", "EXPRESSIONS", "FOR_TYPES", "MEMORY_TYPES", "REQUIREMENT", "SPLITS", "TABLES", "TYPE_CODES",
           "UNDEFINED", "VERSIONS", "Field"]

VERSIONS = frozenset({("21.0.0", "18.0.1")})
"""Pairs of (version of Halide, version of its serialisation) whose tables are these."""


@dataclass(frozen=True)
class Field:
    """One field: its first slot, its kind, and whether it is a vector of them."""

    name: str
    slot: int
    kind: str
    vector: bool

    @property
    def slots(self) -> int:
        """How many slots it takes."""
        return 2 if self.kind in ("E", "S", "**") else 1


_TEXT = """
Pipeline: funcs [Func], output_names [s], requirements [S], names_in_order [s], parameters [*],
          externals [External], buffers [Buffer], version s, serialization s
Func: name s, origin s, types [Type], required_types [*], required_dimensions i32, args [s], schedule FuncSchedule,
      initial Definition, updates [Definition], debug_file s, output_buffers [s], extern_arguments [*], extern_name s,
      extern_mangling u8, extern_device i8, extern_proxy **, trace_loads b, trace_stores b, trace_realizations b,
      trace_tags [s], no_profiling b, frozen b
Definition: is_initial b, predicate E, values [E], args [E], schedule StageSchedule, specializations [*], source s
StageSchedule: rvars [ReductionVariable], splits [Split], dims [Dim], prefetches [*], fuse_level FuseLevel,
               fused_pairs [*], touched b, races b, atomic b, override b
FuseLevel: level LoopLevel, names [*], strategies [*]
ReductionVariable: name s, min E, extent E
Split: old s, outer s, inner s, factor E, exact b, tail u8, kind u8
Dim: name s, loop i8, device i8, kind u8, partition i8
FuncSchedule: store_level LoopLevel, compute_level LoopLevel, hoist_level LoopLevel, storage_dims [StorageDim],
              bounds [Bound], estimates [Bound], wrappers [*], memory i8, memoized b, async b, ring_buffer E,
              evict_key **
LoopLevel: func s, stage i32, variable s, is_rvar b, locked b
StorageDim: variable s, alignment E, bound E, fold E, forward b
Bound: variable s, min E, extent E, modulus E, remainder E
Type: code i8, bits u8, lanes i32
External: is_buffer b, type Type, dimensions i32, name s
Buffer: defined b, name s, type Type, dimensions i32, dims [BufferDimension], data bytes
BufferDimension: min i32, extent i32, stride i32
Assert: condition E, message E
IntImm: value i64, type Type
UIntImm: value u64, type Type
FloatImm: value f64, type Type
StringImm: value s
Cast: a E, type Type
Reinterpret: a E, type Type
Two: a E, b E
Not: a E
Select: a E, b E, c E
Let: name s, a E, b E
Call: name s, args [E], call_type u8, func_index i32, value_index i32, image_name s, param_name s, type Type
Variable: name s, type Type, param_name s, image_name s, domain *
"""


def _fields(text: str) -> tuple[Field, ...]:
    fields: list[Field] = []
    slot = 0
    for part in text.replace("\n", " ").split(","):
        name, kind = part.split()
        vector = kind.startswith("[")
        kind = kind.strip("[]")
        fields.append(Field(name, slot, kind, vector))
        slot += fields[-1].slots
    return tuple(fields)


def _tables(text: str) -> dict[str, tuple[Field, ...]]:
    tables: dict[str, str] = {}
    name = ""
    for line in text.strip().splitlines():
        if not line.startswith(" "):
            name, line = line.split(":", 1)
        tables[name] = tables.get(name, "") + line
    return {name: _fields(fields) for name, fields in tables.items()}


TABLES = _tables(_TEXT)

EXPRESSIONS: tuple[tuple[str, str], ...] = (
    ("", ""), ("int", "IntImm"), ("uint", "UIntImm"), ("float", "FloatImm"), ("string", "StringImm"), ("cast", "Cast"),
    ("reinterpret", "Reinterpret"), *((op, "Two") for op in (
        "add", "sub", "mul", "div", "mod", "min", "max", "eq", "ne", "lt", "le", "gt", "ge", "and", "or")),
    ("not", "Not"), ("select", "Select"), ("load", ""), ("ramp", ""), ("broadcast", ""), ("let", "Let"),
    ("call", "Call"), ("variable", "Variable"), ("shuffle", ""), ("vector reduction", ""), ("undefined", ""),
)
"""(operation, table) of an expression by the number that says which it is; no table for what pipelines do not have."""

UNDEFINED = len(EXPRESSIONS) - 1
"""The number of an expression that is not there."""

REQUIREMENT = 2
"""The number of the statement that checks a requirement."""

TYPE_CODES = ("int", "uint", "float", "handle", "bfloat")
CALLS = ("image", "extern", "extern", "extern", "halide", "intrinsic", "intrinsic")
FOR_TYPES = ("serial", "parallel", "vectorized", "unrolled", "extern", "gpu_block", "gpu_thread", "gpu_lane")
SPLITS = ("split", "rename", "fuse")
MEMORY_TYPES = ("auto", "heap", "stack", "register", "gpu_shared", "gpu_texture", "locked_cache", "vtcm", "amx")
