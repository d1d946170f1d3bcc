"""``stagewise report``: write an HTML report about a saved model."""

from __future__ import annotations

import argparse
from pathlib import Path

from stagewise.cli.errors import InputError
from stagewise.cli.evaluation_data import add_evaluation_arguments, read_evaluation_data
from stagewise.cli.files import check_writable
from stagewise.cli.screen import Screen, amount

__all__ = ["add_arguments", "run"]

ENDINGS = (".html", ".htm")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    add_evaluation_arguments(parser)
    parser.add_argument(
        "--out",
        type=Path,
        metavar="FILE",
        help="the HTML file (default: the name of the model with .html)",
    )
    parser.add_argument("--title", help="the title (default: the target)")
    parser.add_argument(
        "--seed", type=int, default=0, metavar="N", help="seed of the sampled rows (default: 0)"
    )


def run(args: argparse.Namespace, screen: Screen) -> None:
    """Read the rows, write the report, and print its path."""
    out = args.out or args.model.with_suffix(".html")
    check_writable(out, ENDINGS)
    data = read_evaluation_data(args)
    if not hasattr(data.estimator, "report"):
        raise InputError(
            f"A report needs a model with trees, and {type(data.estimator).__name__} has none. Use "
            "evaluate and show."
        )
    page = data.estimator.report(
        data.features,
        data.y,
        out,
        sample_weight=data.weight,
        title=args.title,
        target=data.target,
        random_state=args.seed,
        verbose=0 if args.json or args.quiet else 1,
    )
    size = page.stat().st_size
    screen.result({"report": str(page), "bytes": size, "rows": len(data.y)})
    screen.line(
        f"{page}: a report of {args.model.name} on {amount(len(data.y), 'row')}, "
        f"{size / 1e6:.1f} MB; open it in a browser."
    )
