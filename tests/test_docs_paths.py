"""Files that the documentation names exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = [
    ROOT / name
    for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "benchmarks/NOTES.md")
] + sorted((ROOT / "docs").rglob("*.md"))
BASES = tuple(
    ROOT / base for base in ("", "src/stagewise", "src/stagewise/report", "native", "tests")
)
NAMED = re.compile(r"`([a-z_./]+\.(?:py|cpp|hpp|js))`")


PICTURE = re.compile(r"!\[[^\]]*\]\(([^):]+)\)")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_picture_of_a_page_exists(page):
    for name in PICTURE.findall(page.read_text(encoding="utf-8")):
        assert (page.parent / name).is_file(), name


def test_every_figure_is_drawn_on_a_page():
    drawn = {
        (page.parent / name).resolve()
        for page in PAGES
        for name in PICTURE.findall(page.read_text(encoding="utf-8"))
    }
    assert set((ROOT / "docs" / "figures").glob("*.png")) <= drawn


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_file_that_a_page_names_exists(page):
    for name in NAMED.findall(page.read_text(encoding="utf-8")):
        places = [base / name for base in (page.parent, *BASES)]
        bare = "/" not in name and any(any(base.rglob(name)) for base in BASES[1:])
        assert bare or any(place.exists() for place in places), name
