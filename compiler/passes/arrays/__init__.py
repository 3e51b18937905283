"""Passes that change arrays: partitions, tables, copies, and what the host converts for them."""
