"""The pages of the documentation and the code blocks in them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
# A block, and what it prints: a block of text after the sentence "It prints …:".
BLOCK = re.compile(
    r"^```(\w*)\n(.*?)^```$(?:\n\nIt prints [^`]*?:\n\n```text\n(.*?)^```$)?",
    flags=re.DOTALL | re.MULTILINE,
)
# What a page assumes, such as files; neither GitHub nor the site shows it.
SETUP = re.compile(r"^<!-- setup\n(.*?)^-->$", flags=re.DOTALL | re.MULTILINE)
INDENTED = re.compile(r"(?<=\n\n)    [^\n]+")


@dataclass(frozen=True)
class Block:
    """A code block: its language, its text, and what it prints if the page shows it."""

    language: str
    text: str
    printed: str = ""


def read(page: Path) -> str:
    """Return the text of a page."""
    return page.read_text(encoding="utf-8")


def blocks(page: Path) -> list[Block]:
    """Return what a page runs, in order: its setup, then its code blocks."""
    setup = [Block("python", found) for found in SETUP.findall(read(page))]
    return setup + [Block(*found) for found in BLOCK.findall(read(page))]


def indented_blocks(page: Path) -> list[str]:
    """Return the first lines of code blocks that are indented, not fenced."""
    text = BLOCK.sub("", SETUP.sub("", read(page)))
    return INDENTED.findall(text)


def page_id(page: Path) -> str:
    """Return the path of a page in the repository."""
    return page.relative_to(ROOT).as_posix()
