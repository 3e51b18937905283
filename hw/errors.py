"""The root of every error that a user of Sluice can cause."""

__all__ = ["SluiceError"]


class SluiceError(Exception):
    """Bad input, a missing tool or a limit that was hit. Its message is one line that a user can act on.

    Command lines print the message and exit with status 1; they never show a traceback for it.
    """
