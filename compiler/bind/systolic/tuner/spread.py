"""Searching shapes on several machines by dask."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from compiler.bind.systolic.tuner.budget import TunerError
from compiler.bind.systolic.tuner.candidate import Candidate
from compiler.bind.systolic.tuner.search import SearchText, search_text
from compiler.bind.systolic.tuner.shapes import Shape

__all__ = ["Cluster"]

_BATCH = 16
"""Shapes per piece of work: a second or so."""


class Cluster:
    """The workers behind the dask scheduler at `address`, which need Sluice installed. A context manager.

    Raises `TunerError` if dask is missing or nobody answers.
    """

    def __init__(self, address: str, timeout: float = 10.0) -> None:
        try:
            from distributed import Client
        except ImportError:
            raise TunerError("--scheduler needs dask: type  pip install 'sluice[cluster]'") from None
        try:
            self._client = Client(address, timeout=timeout)
        except (OSError, ValueError, TimeoutError) as error:
            reason = (str(error) or type(error).__name__).splitlines()[0]
            raise TunerError(f"no dask scheduler answers at {address}: {reason}") from None

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    def search(self, text: SearchText, shapes: Sequence[Shape]) -> Iterator[tuple[Shape, tuple[Candidate, ...]]]:
        """`search_shape` for all shapes, in the order in which workers finish."""
        from distributed import as_completed

        batches = [shapes[k : k + _BATCH] for k in range(0, len(shapes), _BATCH)]
        futures = [self._client.submit(search_text, text, batch, pure=False) for batch in batches]
        try:
            for future in as_completed(futures):
                yield from future.result()
        finally:
            self._client.cancel(futures)
