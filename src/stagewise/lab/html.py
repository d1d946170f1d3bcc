"""Writes the lab as one HTML file: examples, boosting and drawing.

`BOOSTING` are the scripts that compute: `tests/browser/test_lab.py` compares them with the
estimators. The elements, charts and colours are those of the report.
"""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path

from stagewise.model.file.atomic import replace_file
from stagewise.report.single_file import single_file, strict_script

__all__ = ["boosting_script", "examples", "lab_html", "write_lab"]

BOOSTING = ("tree.js", "losses.js", "boosting.js", "surface.js")
SHARED = ("base.js", "charts.js")
SCRIPTS = (
    "state.js",
    "colours.js",
    "captions.js",
    "plane.js",
    "panels.js",
    "controls.js",
    "main.js",
)
TITLE = "Boosting lab"


def write_lab(path: Path) -> Path:
    """Write the page; an existing file is replaced atomically."""
    replace_file(path, lab_html().encode("utf-8"))
    return path


def lab_html() -> str:
    """Return the HTML text of the page; it is always the same."""
    shared = [_read("stagewise.report", name) for name in SHARED]
    own = [_read("stagewise.lab", name) for name in SCRIPTS]
    style = _read("stagewise.report", "style.css") + _read("stagewise.lab", "lab.css")
    return single_file(
        TITLE,
        style,
        strict_script([boosting_script(), *shared, *own]),
        {"examples": json.dumps(examples(), separators=(",", ":"))},
        f"<h1>{TITLE}</h1><p>This page needs JavaScript.</p>",
    )


def boosting_script() -> str:
    """Return the script that boosts, which needs no page."""
    return "\n".join(_read("stagewise.lab", name) for name in BOOSTING)


def examples() -> list[dict[str, object]]:
    """Return the examples; coordinates are integers, in units of 1/1024."""
    found: list[dict[str, object]] = json.loads(_read("stagewise.lab", "examples.json"))
    return found


def _read(package: str, name: str) -> str:
    return (files(package) / "page" / name).read_text(encoding="utf-8")
