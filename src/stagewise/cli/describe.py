"""``stagewise describe``: describe a table before training."""

from __future__ import annotations

import argparse
from pathlib import Path

from stagewise.cli.errors import InputError
from stagewise.cli.files import check_writable, pick, read_file
from stagewise.cli.screen import Screen, amount
from stagewise.inspection import Description, describe

__all__ = ["add_arguments", "run"]

ENDINGS = (".png", ".svg", ".pdf")
KINDS = ("columns", "scatter", "correlation")
OUTLIER_COLUMNS = (
    *("column", "low", "high", "n_outliers", "mean", "mean_without", "deviation"),
    *("deviation_without", "pearson", "pearson_without", "r2", "r2_without"),
)


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
    parser.add_argument(
        "--plot", type=Path, metavar="FILE", help="draw the table in a PNG, SVG or PDF file"
    )
    parser.add_argument(
        "--kind",
        choices=KINDS,
        help="what --plot draws: histograms and bars, scatter plots, or the correlation matrix "
        "(default: columns)",
    )


def run(args: argparse.Namespace, screen: Screen) -> None:
    """Read the table, print its description, and draw it if a file is given."""
    if args.kind is not None and args.plot is None:
        raise InputError("--kind has no effect without --plot; name a file with --plot.")
    if args.plot is not None:
        check_writable(args.plot, ENDINGS)
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
            "outliers": found.outliers(),
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
    outliers = [{k: row[k] for k in OUTLIER_COLUMNS} for row in found.outliers()[: args.top]]
    if outliers:
        screen.line()
        screen.table("Outliers, and the column without them", outliers)
    screen.line()
    screen.line("Hints")
    for hint in found.hints:
        screen.line(f"  {hint.text}")
    if not found.hints:
        screen.line("  none")
    if args.plot is not None:
        _draw(found, args, screen)


def _draw(found: Description, args: argparse.Namespace, screen: Screen) -> None:
    try:
        figure = found.plot(args.kind or "columns")[0].figure
    except (ImportError, ValueError) as error:
        raise InputError(str(error)) from None
    from matplotlib.pyplot import close

    figure.savefig(args.plot, dpi=130)
    close(figure)
    screen.line()
    screen.line(f"{args.plot}: a plot of {args.data.name}")
