"""Lists of vector instructions as assembler programs for the scalar core."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hw.vector_lanes.isa import (
    Control,
    Entry,
    Parameter,
    control_function,
    execute_function,
    operands_function,
)

__all__ = ["entries_program"]

_MAIN = """
#include "soc.h"
#include "vector.h"
uint8_t memory[{size}] __attribute__((aligned(64)));
uint32_t status;
void play(void);
int main(void)
{{
    play();
    status = vector_get({parameter});
    return 0;
}}
"""


def entries_program(entries: Sequence[Entry], memory_bytes: int) -> dict[str, str]:
    """A program that issues `entries` as custom instructions, in order, and leaves the vector unit's status in
    ``status``. Main memory of the transfers, from address 0, is its array ``memory``."""
    lines = [line for entry in entries for line in _commands(entry)]
    sync = _custom(control_function(Control.SYNC), "zero", "zero")
    play = "\n".join([".global play", "play:", *lines, sync, "ret", ""])
    return {"main.c": _MAIN.format(size=memory_bytes, parameter=int(Parameter.STATUS)), "play.S": play}


def _custom(function: int, first: str, second: str) -> str:
    return f".insn r CUSTOM_0, {function & 7}, {function >> 3}, x0, {first}, {second}"


def _commands(entry: Entry) -> Iterator[str]:
    if not entry.control:
        yield from _load("t0", entry.a)
        yield from _load("t1", entry.b)
        yield _custom(operands_function(entry.code), "t0", "t1")
        yield from _load("t2", entry.d)
        yield _custom(execute_function(entry.code), "t2", "zero")
        return
    if entry.code > Control.DMA_TO_HOST:
        yield ".insn r CUSTOM_0, 7, 0, x0, x0, x0"  # illegal in the queue; a command that means nothing becomes one
        return
    control = Control(entry.code)
    if control in (Control.DMA_TO_VECTOR, Control.DMA_TO_HOST):
        yield from _load("t0", entry.a)
        yield f"la t1, memory + {entry.b}"
        yield _custom(control_function(Control.OPERANDS), "t0", "t1")
        yield from _load("t0", entry.d)
        yield from _load("t1", entry.c)
    else:
        yield from _load("t0", entry.a)
        yield from _load("t1", entry.b)
    yield _custom(control_function(control), "t0", "t1")


def _load(register: str, value: int) -> Iterator[str]:
    yield f"li {register}, {value:#x}"
