"""The dataflow target: streaming hardware from process networks (seed 003)."""
