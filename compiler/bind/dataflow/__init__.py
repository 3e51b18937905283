"""The dataflow target: streaming hardware from process networks (Bok 2018)."""
