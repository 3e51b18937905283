"""Rotation by items, one wide two-to-one multiplexer per bit of the distance: of rows of the scratchpad and of beats.

A row holds W bytes, and an operand may begin at any of them: byte i of the operand then lies in bank
``(offset + i) mod W``. Sources are rotated towards lane 0, results away from it (Liu 2012, section 2.2: three
alignment networks, so that unaligned operands cost no time).
"""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Value

from hw.lib.wires import wire

__all__ = ["rotate_from", "rotate_to"]


def rotate_from(m: Module, row: Value, offset: Value, unit: int) -> Value:
    """`row` with the item number `offset` moved to the front; an item has `unit` bits."""
    row = wire(m, "aligning", row)
    for bit in range(len(offset)):
        row = wire(m, "aligning", Mux(offset[bit], row.rotate_right(unit << bit), row))
    return row


def rotate_to(m: Module, row: Value, offset: Value, unit: int) -> Value:
    """`row` with its first item moved to place number `offset`; an item has `unit` bits."""
    row = wire(m, "placing", row)
    for bit in range(len(offset)):
        row = wire(m, "placing", Mux(offset[bit], row.rotate_left(unit << bit), row))
    return row
