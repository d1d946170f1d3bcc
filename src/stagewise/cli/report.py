"""``stagewise report``: a page about a saved model, to be opened in a browser."""

from __future__ import annotations

import argparse
from pathlib import Path

from stagewise.cli.errors import Complaint
from stagewise.cli.evaluation_data import add_judged_arguments, read_judged
from stagewise.cli.files import check_writable
from stagewise.cli.screen import Screen, amount

__all__ = ["SUMMARY", "add_arguments", "run"]

SUMMARY = "write a page about a saved model, to be opened in a browser"
ENDINGS = (".html", ".htm")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    add_judged_arguments(parser)
    parser.add_argument(
        "--out", type=Path, metavar="FILE", help="the page (default: beside the model, .html)"
    )
    parser.add_argument("--title", help="what to call it (default: what is predicted)")
    parser.add_argument(
        "--seed", type=int, default=0, metavar="N", help="of what is drawn (default: 0)"
    )


def run(args: argparse.Namespace, screen: Screen) -> None:
    """Read the rows, write the page, and say where it is."""
    out = args.out or args.model.with_suffix(".html")
    check_writable(out, ENDINGS)
    judged = read_judged(args)
    if not hasattr(judged.estimator, "report"):
        raise Complaint(
            f"A report reads trees, and {type(judged.estimator).__name__} has none. Use evaluate "
            "and show."
        )
    page = judged.estimator.report(
        judged.features,
        judged.y,
        out,
        sample_weight=judged.weight,
        title=args.title,
        target=judged.target,
        random_state=args.seed,
        verbose=0 if args.json or args.quiet else 1,
    )
    size = page.stat().st_size
    screen.result({"report": str(page), "bytes": size, "rows": len(judged.y)})
    screen.line(
        f"{page}: a report of {args.model.name} on {amount(len(judged.y), 'row')}, "
        f"{size / 1e6:.1f} MB; open it in a browser."
    )
