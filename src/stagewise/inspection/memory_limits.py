"""How large a result, or a copy on the way to it, may be.

The one idea: what would not fit is refused before it is begun, with its size and with how many rows
would fit. Must not know what is made.
"""

from __future__ import annotations

__all__ = ["COPY_BYTES", "RESULT_BYTES", "check_size"]

RESULT_BYTES = 2**32
"""The largest result that is made in one go."""
COPY_BYTES = 2**30
"""The largest dense copy of sparse rows."""


def check_size(what: str, n_rows: int, row: int, most: int, remedy: str = "") -> None:
    """Raise ValueError if so many rows would take too many bytes.

    Parameters
    ----------
    what : str
        What would be made, for the message.
    n_rows, row : int
        How many rows, and how many bytes each of them takes.
    most : int
        How many bytes may be taken.
    remedy : str
        What else could be done than to pass fewer rows.
    """
    if n_rows * row > most:
        raise ValueError(
            f"{what} would take {_gib(n_rows * row)}, and at most {_gib(most)} go. Pass at most "
            f"{max(1, most // row)} rows at a time{remedy}."
        )


def _gib(size: int) -> str:
    return f"{size / 2**30:.3g} GiB"
