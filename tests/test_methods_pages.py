"""The pages of the methods have figures, and end with something to try.

`tests/docs/test_blocks.py` runs their code, and compares what they print.
"""

import re
from pathlib import Path

import pytest

from docs.pages import Block, blocks

ROOT = Path(__file__).parent.parent
PAGES = sorted((ROOT / "docs" / "methods").glob("*.md"))
PROGRAM = re.compile(r"\.venv/bin/python ((?:examples|tools)/[\w/]+\.py)\n")


def name(page: Path) -> str:
    return page.stem


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_the_figures_of_a_page_exist(page):
    figures = re.findall(r"\(\.\./(figures/.*?\.png)\)", page.read_text(encoding="utf-8"))
    assert figures or page.stem == "README"
    for figure in figures:
        assert (page.parent.parent / figure).stat().st_size > 10_000


def to_try(page: Path) -> Block:
    """Return the first block of the last section of a page, "Try it"."""
    *_, last = page.read_text(encoding="utf-8").split("\n## ")
    title, text = last.split("\n", maxsplit=1)
    assert title == "Try it"
    return next(block for block in blocks(page) if block.text in text)


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_a_page_ends_with_something_to_try(page):
    """Blocks of Python and of the console are run; other tests run the programs of a clone."""
    block = to_try(page)
    if block.language == "sh":
        assert (ROOT / PROGRAM.fullmatch(block.text)[1]).is_file()
    else:
        assert block.language in ("python", "console")
