"""Short text and HTML of results, for terminals and notebooks.

A result has a `Summary`: a title, some facts and the first lines of a table. This module formats
it, as text of at most 25 lines or as a piece of HTML. Names and values of the caller are escaped
and cut here, so no result writes HTML itself. Nothing but the standard library is imported.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

__all__ = [
    "Displayed",
    "Facts",
    "Lines",
    "Summary",
    "Tabled",
    "Text",
    "format_value",
    "spread",
]

MOST_ROWS = 12
"""The largest number of rows of a displayed table."""
MOST_COLUMNS = 12
"""The largest number of columns of a displayed table."""
MOST_FACTS = 18
"""The largest number of lines of facts."""
MOST_LINES = 25
"""The largest number of lines of text."""
WIDEST_CELL = 60
"""The largest number of characters of a cell."""
WIDEST_FACT = 200
MOST_ITEMS = 6
"""The largest number of items of a list or mapping that is a fact."""
BAR_WIDTH, BAR_HEIGHT = 120, 10
LEFT, RIGHT = "text-align:left;padding:1px 8px", "text-align:right;padding:1px 8px"
POSITIVE, NEGATIVE = "#2a6fbb", "#c0504d"


@dataclass(frozen=True)
class Summary:
    """What is displayed of a result.

    Parameters
    ----------
    title : str
        One line.
    facts : mapping of str
        Names and values.
    rows : sequence of mappings
        The first rows of a table, or a choice of them.
    n_rows : int or None
        The number of all rows; None: `rows` has them all.
    bars : str or None
        A column of numbers that HTML shows as bars, too.
    note : str
        A last line.
    """

    title: str
    facts: Mapping[str, Any] = field(default_factory=dict)
    rows: Sequence[Mapping[str, Any]] = ()
    n_rows: int | None = None
    bars: str | None = None
    note: str = ""

    def text(self) -> str:
        """Return at most 25 lines of text."""
        lines = [_short(self.title, WIDEST_FACT)]
        facts = self._facts()
        width = max((len(name) for name, _ in facts), default=0)
        lines += [f"  {name:<{width}}  {value}" for name, value in facts]
        heads, cells, right = self._table()
        if cells:
            widths = [max(map(len, column)) for column in zip(heads, *cells, strict=True)]
            for line in [heads, *cells]:
                aligned = (
                    cell.rjust(size) if to_right else cell.ljust(size)
                    for cell, size, to_right in zip(line, widths, right, strict=True)
                )
                lines.append(f"  {'  '.join(aligned)}")
        ends = [f"  {end}" for end in self._ends(len(cells))]
        most = MOST_LINES - len(ends)
        kept = lines if len(lines) <= most else [*lines[: most - 1], "  …"]
        return "\n".join(line.rstrip() for line in [*kept, *ends])

    def html(self) -> str:
        """Return a piece of HTML; everything in it is escaped."""
        parts = [f"<div><strong>{escape(_short(self.title, WIDEST_FACT))}</strong></div>"]
        facts = self._facts()
        if facts:
            lines = (
                f"<tr><th style='{LEFT}'>{escape(name)}</th>"
                f"<td style='{LEFT}'>{escape(value)}</td></tr>"
                for name, value in facts
            )
            parts.append(f"<table><tbody>{''.join(lines)}</tbody></table>")
        heads, cells, right = self._table()
        if cells:
            parts.append(self._html_table(heads, cells, right))
        parts += [f"<div><em>{escape(end)}</em></div>" for end in self._ends(len(cells))]
        return f"<div class='stagewise-result'>{''.join(parts)}</div>"

    def _facts(self) -> list[tuple[str, str]]:
        known = list(self.facts.items())
        shown = [
            (_short(str(name), WIDEST_CELL), _short(format_value(value), WIDEST_FACT))
            for name, value in known[:MOST_FACTS]
        ]
        left = len(known) - len(shown)
        return [*shown, ("…", f"{left} more")] if left else shown

    def _table(self) -> tuple[list[str], list[list[str]], list[bool]]:
        """Return the heads, the cells, and which columns are numbers."""
        chosen = self.rows[:MOST_ROWS]
        names = list(dict.fromkeys(name for row in chosen for name in row))
        names = names if len(names) <= MOST_COLUMNS else [*names[: MOST_COLUMNS - 1], "…"]
        cells = [
            [_cell(row.get(name, "…" if name == "…" else "")) for name in names] for row in chosen
        ]
        right = [any(_is_number(row.get(name)) for row in chosen) for name in names]
        return [_short(str(name), WIDEST_CELL) for name in names], cells, right

    def _html_table(
        self, heads: Sequence[str], cells: Sequence[Sequence[str]], right: Sequence[bool]
    ) -> str:
        sides = [RIGHT if to_right else LEFT for to_right in right]
        bars = self._bars(len(cells))
        titles = [
            f"<th style='{side}'>{escape(head)}</th>"
            for head, side in zip(heads, sides, strict=True)
        ]
        lines = []
        for number, line in enumerate(cells):
            each = [
                f"<td style='{side}'>{escape(cell)}</td>"
                for cell, side in zip(line, sides, strict=True)
            ]
            lines.append(f"<tr>{''.join(each)}{bars[number]}</tr>")
        extra = "<th></th>" if self.bars is not None else ""
        return (
            f"<table><thead><tr>{''.join(titles)}{extra}</tr></thead>"
            f"<tbody>{''.join(lines)}</tbody></table>"
        )

    def _bars(self, n: int) -> list[str]:
        """Return a cell with a bar for each of the rows; empty texts without bars."""
        if self.bars is None:
            return [""] * n
        values = [float(row[self.bars]) for row in self.rows[:n]]
        largest = max((abs(v) for v in values if math.isfinite(v)), default=0.0) or 1.0
        return [f"<td style='{LEFT}'>{_bar(value / largest)}</td>" for value in values]

    def _ends(self, n_shown: int) -> list[str]:
        n_all = len(self.rows) if self.n_rows is None else self.n_rows
        ends = [f"{n_shown:,} of {n_all:,} rows"] if n_shown < n_all else []
        return [*ends, *([_short(self.note, WIDEST_FACT)] if self.note else [])]


class Displayed:
    """A result with a summary: `repr` is its text, and a notebook shows its HTML."""

    __slots__ = ()

    def _summary(self) -> Summary:
        """Return what is displayed."""
        raise NotImplementedError(type(self).__name__)

    def __repr__(self) -> str:
        return self._summary().text()

    def _repr_html_(self) -> str:
        return self._summary().html()


class Tabled(Displayed):
    """A result with a table."""

    __slots__ = ()

    def table(self) -> list[dict[str, Any]]:
        """Return the rows of the table."""
        raise NotImplementedError(type(self).__name__)

    def to_frame(self) -> Any:
        """Return the rows of `table` as a data frame of pandas, which must be installed."""
        import pandas as pd

        return pd.DataFrame(self.table())


class Lines(list[dict[str, Any]]):
    """A table as a list of dictionaries, which a notebook shows as a table.

    Parameters
    ----------
    rows : iterable of dict
        The rows.
    """

    def __repr__(self) -> str:
        return super().__repr__() if len(self) <= 1 else self._summary().text()

    def _summary(self) -> Summary:
        return Summary(f"{len(self):,} rows", rows=self[:MOST_ROWS], n_rows=len(self))

    def _repr_html_(self) -> str:
        return self._summary().html()


class Facts(dict[str, Any]):
    """Facts by name, as a dictionary that a notebook and `repr` show in a few lines.

    Parameters
    ----------
    facts : mapping of str
        The facts.
    title : str
        The first line.
    """

    def __init__(
        self, facts: Mapping[str, Any] | Iterable[tuple[str, Any]] = (), title: str = ""
    ) -> None:
        super().__init__(facts)
        self._title = title

    def __repr__(self) -> str:
        return self._summary().text()

    def _summary(self) -> Summary:
        shown = {name: _fact(value) for name, value in self.items()}
        return Summary(self._title or f"{len(self)} facts", shown)

    def _repr_html_(self) -> str:
        return self._summary().html()


class Text(str):
    """Text of several lines; a notebook and `repr` show the lines, not their escapes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> list[str]:
        lines = str(self).splitlines()
        if len(lines) <= MOST_LINES:
            return lines
        left = len(lines) - MOST_LINES + 1
        return [*lines[: MOST_LINES - 1], f"… {left} more lines; print() shows them all"]

    def _repr_html_(self) -> str:
        return f"<pre>{escape(chr(10).join(self._lines()))}</pre>"


def spread(n: int, most: int = MOST_ROWS) -> list[int]:
    """Return at most so many of the positions 0 … n - 1, evenly spread, with both ends."""
    if n <= most:
        return list(range(n))
    return [round(i * (n - 1) / (most - 1)) for i in range(most)]


def format_value(value: Any) -> str:
    """Format a value: six significant digits, thousands separators for integers."""
    if hasattr(value, "tolist") and getattr(value, "ndim", 1) == 0:
        value = value.tolist()
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return "–" if math.isnan(value) else f"{value:.6g}"
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {format_value(each)}" for name, each in value.items())
    return "none" if value is None else str(value)


def _fact(value: Any) -> Any:
    """Return a fact of bounded length: the first items of a list or a mapping."""
    if isinstance(value, (str, list, tuple, Mapping)) and not value:
        return "none"
    if not isinstance(value, (list, tuple, Mapping)):
        return value
    if len(value) <= MOST_ITEMS:
        return _joined(value) if not isinstance(value, Mapping) else value
    more = f", … ({len(value) - MOST_ITEMS} more)"
    if isinstance(value, Mapping):
        return format_value(dict(list(value.items())[:MOST_ITEMS])) + more
    return _joined(value[:MOST_ITEMS]) + more


def _cell(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        shown = _joined(value)
        return _short(shown, WIDEST_CELL)
    return _short("" if value is None else format_value(value), WIDEST_CELL)


def _joined(values: Iterable[Any]) -> str:
    first = [format_value(value) for value, _ in zip(values, range(20), strict=False)]
    return ", ".join(first)


def _is_number(value: Any) -> bool:
    plain = value.tolist() if hasattr(value, "tolist") else value
    return isinstance(plain, int | float) and not isinstance(plain, bool)


def _short(text: str, most: int) -> str:
    """Return text on one line, of at most so many characters."""
    line = " ".join(text.split()) if any(c in text for c in "\n\r\t") else text
    return line if len(line) <= most else f"{line[: most - 1]}…"


def _bar(share: float) -> str:
    if not math.isfinite(share):
        return ""
    width = max(1, round(abs(share) * BAR_WIDTH)) if share else 0
    colour = POSITIVE if share >= 0 else NEGATIVE
    return (
        f"<svg width='{BAR_WIDTH}' height='{BAR_HEIGHT}'>"
        f"<rect width='{width}' height='{BAR_HEIGHT}' fill='{colour}'/></svg>"
    )
