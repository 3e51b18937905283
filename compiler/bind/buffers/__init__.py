"""Unified buffers: their ports, which ports need a memory, and how a memory holds and times their words."""
