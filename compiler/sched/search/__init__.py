"""The search over choices: a space that says what is tried, and one driver that tries it."""
