"""Binding parallel arrays to the soft vector processor."""
