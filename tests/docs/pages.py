"""The pages of the documentation and the code blocks in them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", flags=re.DOTALL | re.MULTILINE)
# What a page assumes, such as files; neither GitHub nor the site shows it.
SETUP = re.compile(r"^<!-- setup\n(.*?)^-->$", flags=re.DOTALL | re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """A code block: its language and its text."""

    language: str
    text: str


def blocks(page: Path) -> list[Block]:
    """Return what a page runs, in order: its setup, then its code blocks."""
    text = page.read_text(encoding="utf-8")
    setup = [Block("python", found) for found in SETUP.findall(text)]
    return setup + [Block(*found) for found in BLOCK.findall(text)]


def page_id(page: Path) -> str:
    """Return the path of a page in the repository."""
    return page.relative_to(ROOT).as_posix()
