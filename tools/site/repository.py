"""The pages of the site, and their places in the repository.

Pages of `docs/` keep their paths. Pages outside `docs/` get the places of `OUTSIDE`, and links
between files of the repository become links between pages, so that one text works on both.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
# A file or folder of the repository -> its page.
OUTSIDE = {
    "README.md": "overview.md",
    "ARCHITECTURE.md": "design/architecture.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "benchmarks/RESULTS.md": "benchmarks/results.md",
    "benchmarks/NOTES.md": "benchmarks/notes.md",
    "benchmarks/README.md": "benchmarks/method.md",
    "benchmarks/scaling.png": "benchmarks/figures/scaling.png",
    "benchmarks/accuracy/RESULTS.md": "benchmarks/accuracy.md",
    "benchmarks/cluster/RESULTS.md": "benchmarks/cluster.md",
    "benchmarks/explain/RESULTS.md": "benchmarks/explain.md",
    "benchmarks/out_of_core/RESULTS.md": "benchmarks/out-of-core.md",
    "benchmarks/scoring/RESULTS.md": "benchmarks/scoring.md",
    "benchmarks/shapes/RESULTS.md": "benchmarks/shapes.md",
    "docs/lab.html": "lab-page.html",  # lab.md is lab.html
    "docs": "README.md",
    "docs/methods": "methods/README.md",
    "docs/notebooks": "notebooks/1_first_model.md",
    "docs/design": "design/README.md",
    "examples": "examples.md",
}
COPIED = {source: page for source, page in OUTSIDE.items() if "." in source}
FENCE = re.compile(r"^(```.*?^```)", flags=re.DOTALL | re.MULTILINE)
LINK = re.compile(r"(\]\()([^)\s#]+)?(#[^)\s]*)?(\))")
SETUP = re.compile(r"^<!-- setup\n.*?^-->\n", flags=re.DOTALL | re.MULTILINE)


def source_of(page: str) -> str:
    """Return the path in the repository of a page of the site."""
    return next((s for s, p in COPIED.items() if p == page), f"docs/{page}")


def page_of(source: str) -> str | None:
    """Return the path in the site of a file of the repository; None if it is no page."""
    if source in OUTSIDE:
        return OUTSIDE[source]
    if source.startswith("examples/"):
        return "examples.md"
    if source.startswith("docs/notebooks/"):
        return source.removeprefix("docs/").replace(".ipynb", ".md")
    return source.removeprefix("docs/") if source.startswith("docs/") else None


def site_link(page: str, target: str, anchor: str) -> str:
    """Return a link of a file of the repository as a link of its page."""
    source = posixpath.normpath(posixpath.join(posixpath.dirname(source_of(page)), target))
    there = page_of(source)
    if there is None:
        return target + anchor
    if source.startswith("examples/"):
        anchor = "#" + posixpath.basename(source).replace(".", "")
    return posixpath.relpath(there, posixpath.dirname(page) or ".") + anchor


def site_text(page: str, text: str) -> str:
    """Return the text of a page with the links of the site, without its setup for tests."""

    def replace(match: re.Match[str]) -> str:
        opening, target, anchor, closing = (part or "" for part in match.groups())
        if not target or ":" in target:
            return match[0]
        return opening + site_link(page, target, anchor) + closing

    parts = FENCE.split(SETUP.sub("", text))
    return "".join(p if p.startswith("```") else LINK.sub(replace, p) for p in parts)
