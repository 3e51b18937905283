"""Random search for wrong results: ``make fuzz``, or ``python -m tests.fuzz --help``."""
