"""The report page as an object, which a notebook shows and which can be written to a file."""

from __future__ import annotations

import html
import os
from pathlib import Path

from stagewise.errors import InvalidParameterError
from stagewise.model.file.atomic import replace_file
from stagewise.validation.messages import short_repr

__all__ = ["ReportPage", "check_path"]

HEIGHT = 720
"""The height of the frame in a notebook, in pixels."""


class ReportPage:
    """A report page that is not yet a file. A notebook shows it in a frame.

    Parameters
    ----------
    text : str
        The HTML of the page.

    Attributes
    ----------
    html : str
        The HTML of the page.
    """

    def __init__(self, text: str) -> None:
        self.html = text

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the page to a file, which is replaced atomically, and return its path."""
        check_path(path)
        # Column names may contain invalid Unicode; in the title it is replaced.
        replace_file(Path(path), self._bytes())
        return Path(path)

    def _bytes(self) -> bytes:
        return self.html.encode("utf-8", "replace")

    def __repr__(self) -> str:
        return (
            f"ReportPage of {len(self._bytes()) / 1e6:.1f} MB: a notebook shows it, and "
            ".save('report.html') writes it."
        )

    def _repr_html_(self) -> str:
        text = html.escape(self._bytes().decode("utf-8"))
        style = f"width:100%;height:{HEIGHT}px;border:1px solid #ccc"
        return f'<iframe srcdoc="{text}" style="{style}" title="Model report"></iframe>'


def check_path(path: object) -> None:
    """Raise InvalidParameterError unless a path is text or a path."""
    if not isinstance(path, (str, os.PathLike)):
        raise InvalidParameterError(f"path must be a file name; got {short_repr(path)}.")
