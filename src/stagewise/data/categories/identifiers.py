"""The rule by which a column looks like an identifier of the rows."""

from __future__ import annotations

__all__ = ["looks_like_identifier"]

FEW_ROWS = 20
"""In smaller tables, columns without repeated values occur by chance."""


def looks_like_identifier(n_distinct: int, n_rows: int, *, is_category: bool = True) -> bool:
    """Return whether a column looks like an identifier of the rows.

    Categories do if there are more than half as many as rows. Whole numbers often have few repeated
    values; they do if every row has its own.

    Parameters
    ----------
    n_distinct : int
        The number of different values.
    n_rows : int
        The number of rows; of whole numbers, without missing values.
    is_category : bool
        Whether the values are categories, not whole numbers.
    """
    if n_rows < FEW_ROWS:
        return False
    return n_distinct > n_rows / 2 if is_category else n_distinct == n_rows
