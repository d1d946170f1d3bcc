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


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_file_that_a_page_names_exists(page):
    for name in NAMED.findall(page.read_text(encoding="utf-8")):
        places = [base / name for base in (page.parent, *BASES)]
        bare = "/" not in name and any(any(base.rglob(name)) for base in BASES[1:])
        assert bare or any(place.exists() for place in places), name
