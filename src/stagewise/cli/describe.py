"""``stagewise describe``: describe a table before training."""

from __future__ import annotations

import argparse
from pathlib import Path

from stagewise.cli.files import pick, read_file
from stagewise.cli.screen import Screen, amount
from stagewise.inspection import describe

__all__ = ["SUMMARY", "add_arguments", "run"]

SUMMARY = "describe a table and list possible problems before training"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("data", type=Path, help="a CSV or Parquet file")
    parser.add_argument("--target", metavar="COLUMN", help="the column to predict")
    parser.add_argument(
        "--top",
        type=int,
        default=10,
        metavar="N",
        help="number of lines of each ranking (default: 10)",
    )


def run(args: argparse.Namespace, screen: Screen) -> None:
    """Read the table and print its description."""
    table = read_file(args.data)
    if args.target is not None:
        pick(table, args.target, option="--target", path=args.data)
    found = describe(table, args.target)
    screen.result(
        {
            "rows": found.n_rows,
            "columns": found.table(),
            "target": found.target,
            "associations": found.associations,
            "pairs": found.pairs,
            "hints": [{"column": h.column, "kind": h.kind, "text": h.text} for h in found.hints],
        }
    )
    size = f"{amount(found.n_rows, 'row')}, {amount(len(found.columns), 'column')}"
    screen.table(f"{args.data}: {size}", found.table())
    screen.line()
    title = f"Association with {args.target!r}, the strongest first"
    screen.table(title, found.associations[: args.top])
    if found.pairs:
        screen.line()
        screen.table("Correlated columns", found.pairs[: args.top])
    screen.line()
    screen.line("Hints")
    for hint in found.hints:
        screen.line(f"  {hint.text}")
    if not found.hints:
        screen.line("  none")
