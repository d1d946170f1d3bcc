"""Limits of the memory of results and copies.

A request beyond a limit is rejected before any work, with its size and the number of rows that fit.
"""

from __future__ import annotations

__all__ = ["COPY_BYTES", "RESULT_BYTES", "check_size"]

RESULT_BYTES = 2**32
"""The largest result of one call."""
COPY_BYTES = 2**30
"""The largest dense copy of sparse rows."""


def check_size(what: str, n_rows: int, row: int, most: int, remedy: str = "") -> None:
    """Raise ValueError if the rows need more bytes than allowed.

    Parameters
    ----------
    what : str
        Description of the result, for the message.
    n_rows, row : int
        The number of rows, and the bytes per row.
    most : int
        The limit in bytes.
    remedy : str
        An alternative to passing fewer rows, for the message.
    """
    if n_rows * row > most:
        raise ValueError(
            f"{what} would take {_gib(n_rows * row)}, and the limit is {_gib(most)}. Pass at most "
            f"{max(1, most // row)} rows at a time{remedy}."
        )


def _gib(size: int) -> str:
    return f"{size / 2**30:.3g} GiB"
