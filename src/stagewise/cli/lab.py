"""``stagewise lab``: write the page on which boosting can be tried."""

from __future__ import annotations

import argparse
from pathlib import Path

from stagewise.cli.files import check_writable
from stagewise.cli.screen import Screen
from stagewise.lab.html import write_lab

__all__ = ["add_arguments", "run"]

ENDINGS = (".html", ".htm")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("lab.html"),
        metavar="FILE",
        help="the HTML file (default: lab.html)",
    )


def run(args: argparse.Namespace, screen: Screen) -> None:
    """Write the page and print its path."""
    check_writable(args.out, ENDINGS)
    page = write_lab(args.out)
    size = page.stat().st_size
    screen.result({"lab": str(page), "bytes": size})
    screen.line(f"{page}: the boosting lab, {size / 1e6:.1f} MB; open it in a browser.")
