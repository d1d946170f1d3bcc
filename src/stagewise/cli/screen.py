"""Prints results: text, tables and bar charts for people, JSON for programs.

A command produces one dictionary. With ``--json`` it is printed as JSON; otherwise its values are
formatted, with rich in a terminal if it is installed. Results go to standard output, messages to
standard error.
"""

from __future__ import annotations

import importlib.util
import json
import math
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from stagewise.display import format_value

__all__ = ["Screen", "amount", "format_value"]

_EIGHTHS = " ▏▎▍▌▋▊▉█"
_NARROWEST_BAR = 10
_WIDEST_BAR = 40


@dataclass(frozen=True)
class Screen:
    """Prints the messages and results of a command.

    Parameters
    ----------
    as_json : bool
        Print only JSON on standard output.
    quiet : bool
        Print no progress messages.
    """

    as_json: bool = False
    quiet: bool = False

    def message(self, sentence: str) -> None:
        """Print a progress message on standard error."""
        if not self.quiet and not self.as_json:
            sys.stderr.write(sentence + "\n")

    def warn(self, sentence: str) -> None:
        """Print a warning on standard error, also with ``--quiet``."""
        sys.stderr.write(f"Warning: {sentence}\n")

    def result(self, values: Mapping[str, Any]) -> None:
        """Print the result as JSON, with ``--json``."""
        if self.as_json:
            print_line(json.dumps(_plain(values), ensure_ascii=False, allow_nan=False, indent=2))

    def line(self, text: str = "") -> None:
        """Print a line of text, without ``--json``."""
        if not self.as_json:
            print_line(text)

    def pairs(self, title: str, values: Mapping[str, Any]) -> None:
        """Print names and values, one per line."""
        self.line(title)
        width = max((len(name) for name in values), default=0)
        for name, value in values.items():
            self.line(f"  {name:<{width}}  {format_value(value)}")

    def table(self, title: str, rows: Sequence[Mapping[str, Any]]) -> None:
        """Print a table; numbers are right-aligned, text left-aligned."""
        if self.as_json or not rows:
            return
        if _terminal_with_rich():
            _rich_table(title, rows)
        else:
            _plain_table(title, rows)

    def bars(self, title: str, values: Mapping[str, float], form: str = ".1%") -> None:
        """Print a bar chart, one line per value; `form` is the format of the values."""
        if self.as_json or not values:
            return
        self.line(title)
        columns = shutil.get_terminal_size((80, 24)).columns
        widest_name = min(max(len(name) for name in values), max(columns // 2 - 10, 10))
        room = max(_NARROWEST_BAR, min(_WIDEST_BAR, columns - widest_name - 12))
        largest = max(values.values()) or 1.0
        widest_value = max(6, *(len(format(value, form)) for value in values.values()))
        for name, value in values.items():
            short = name if len(name) <= widest_name else name[: widest_name - 1] + "…"
            bar = _bar(room * value / largest)
            self.line(
                f"  {short:<{widest_name}}  {format(value, form):>{widest_value}}  {bar}".rstrip()
            )


def print_line(text: str) -> None:
    """Print to standard output; characters outside its encoding are replaced."""
    encoding = sys.stdout.encoding or "utf-8"
    sys.stdout.write(text.encode(encoding, "replace").decode(encoding) + "\n")


def _bar(length: float) -> str:
    if "utf" not in (sys.stdout.encoding or "").lower():
        return "#" * round(length)
    eighths = round(length * 8)
    return ("█" * (eighths // 8) + _EIGHTHS[eighths % 8]).rstrip()


def amount(count: int, noun: str) -> str:
    """Return a count with its noun in singular or plural."""
    return f"{count:,} {noun}" + ("" if count == 1 else "s")


def _plain(value: Any) -> Any:
    """Return a JSON-compatible value: no infinities, no arrays, text keys."""
    if isinstance(value, Mapping):
        return {str(name): _plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if value is None or isinstance(value, str | bool | int | float):
        return value
    return str(value)


def _terminal_with_rich() -> bool:
    return sys.stdout.isatty() and importlib.util.find_spec("rich") is not None


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _rich_table(title: str, rows: Sequence[Mapping[str, Any]]) -> None:
    from rich import box
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    table = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE)
    for name, value in rows[0].items():
        table.add_column(escape(name), justify="right" if _is_number(value) else "left")
    for row in rows:
        table.add_row(*(escape(format_value(value)) for value in row.values()))
    Console().print(table)


def _plain_table(title: str, rows: Sequence[Mapping[str, Any]]) -> None:
    print_line(title)
    cells = [[format_value(value) for value in row.values()] for row in rows]
    heads = list(rows[0])
    right = [_is_number(value) for value in rows[0].values()]
    widths = [max(map(len, column)) for column in zip(heads, *cells, strict=True)]
    for line in [heads, ["-" * width for width in widths], *cells]:
        aligned = (
            cell.rjust(width) if to_right else cell.ljust(width)
            for cell, width, to_right in zip(line, widths, right, strict=True)
        )
        print_line(("  " + "  ".join(aligned)).rstrip())
