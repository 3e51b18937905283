"""Binding: from scheduled programs to the units of one target. One folder per target."""
