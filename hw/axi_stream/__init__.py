"""Designs whose arrays come and go as AXI4-Streams: no memory, no registers, no host."""
