"""Every target of docs/notes.md exists: pages, public names, symbols, tests and figures."""

from __future__ import annotations

import ast
import importlib
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

import stagewise

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "notes.md"
HEAD = ["section", "page", "names", "code", "test", "figure"]
NONE = "–"


@dataclass(frozen=True)
class Row:
    """One section of the notes, and its cells."""

    section: str
    page: str
    names: str
    code: str
    test: str
    figure: str


def rows() -> list[Row]:
    """Return the rows of all tables of the page."""
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    cells = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in lines if line[:1] == "|"
    ]
    return [Row(*row) for row in cells if row != HEAD and set(row[0]) != {"-"}]


ROWS = rows()


@cache
def symbols(file: str) -> frozenset[str]:
    """Return the functions, classes and variables of a Python file."""
    found: set[str] = set()
    for node in ast.walk(ast.parse((ROOT / file).read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            found |= {target.id for target in targets if isinstance(target, ast.Name)}
    return frozenset(found)


def has_symbol(file: str, symbol: str) -> bool:
    if file.endswith(".py"):
        return symbol in symbols(file)
    text = re.sub(r"//.*", "", (ROOT / file).read_text(encoding="utf-8"))
    return re.search(rf"\b(?:class|struct) {symbol}\b|\b{symbol}\(", text) is not None


def resolve(name: str) -> object:
    """Return a public name: of the package, of a module of it, or of a class."""
    first, *rest = name.split(".")
    if hasattr(stagewise, first):
        found = getattr(stagewise, first)
    else:
        found = importlib.import_module(f"stagewise.{first}")
    for part in rest:
        found = getattr(found, part)
    return found


def test_the_page_has_the_five_notes():
    text = PAGE.read_text(encoding="utf-8")
    assert re.findall(r"^## (\d)\. ", text, flags=re.MULTILINE) == ["1", "2", "3", "4", "5"]
    assert len(ROWS) > 90
    assert all(row.section for row in ROWS)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.section)
def test_every_target_of_a_section_exists(row):
    page = re.fullmatch(r"\[.+\]\((.+\.md)\)", row.page)
    assert page, row.page
    assert (PAGE.parent / page[1]).is_file(), row.page
    for name in [] if row.names == NONE else row.names.split(", "):
        assert re.fullmatch(r"`[\w.]+`", name), name
        assert resolve(name.strip("`")) is not None
    code = re.fullmatch(r"`([\w./]+)`(?:: `(\w+)`)?", row.code)
    assert code, row.code
    assert (ROOT / code[1]).is_file(), row.code
    assert code[2] is None or has_symbol(code[1], code[2]), row.code
    test = re.fullmatch(r"`(tests/[\w./]+\.py)`: `(test_\w+)`", row.test)
    assert test, row.test
    assert test[2] in symbols(test[1]), row.test
    if row.figure != NONE:
        figure = re.fullmatch(r"\[.+\]\((figures/\w+\.png)\)", row.figure)
        assert figure, row.figure
        assert (PAGE.parent / figure[1]).is_file(), row.figure


def test_a_missing_symbol_is_found():
    assert has_symbol("examples/tinygbt.py", "gain")
    assert not has_symbol("examples/tinygbt.py", "gains_of_nothing")
    assert has_symbol("native/kernels/api/gain.hpp", "leaf_value")
    assert not has_symbol("native/kernels/api/gain.hpp", "leaf")
