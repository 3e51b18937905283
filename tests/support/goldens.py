"""Texts that are compared with files beside the tests, which ``pytest --update-goldens`` writes."""

from pathlib import Path

__all__ = ["Goldens"]


class Goldens:
    """The files of `folder`; `update`: to be written, in place of being compared."""

    def __init__(self, folder: Path, update: bool) -> None:
        self._folder, self._update = folder, update

    def check(self, name: str, text: str) -> None:
        """Assert that a file holds `text`."""
        path = self._folder / name
        if self._update:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        assert path.is_file(), f"there is no {path}: write it with pytest --update-goldens"
        assert text == path.read_text(), f"{path} is another text: pytest --update-goldens writes it anew"
