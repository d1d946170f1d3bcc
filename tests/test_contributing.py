"""The lists of files in CONTRIBUTING.md equal those of their examples."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
GUIDE = (ROOT / "CONTRIBUTING.md").read_text()
SECTIONS = re.findall(
    r"### (an? [^\n]*)\n\nExample: `(\w+)`\n\n(.*?)(?=\n### |\n## |\Z)", GUIDE, re.S
)
WORDS = {
    "GentleBoostClassifier": r"\bGentleBoostClassifier\b|\bGENTLE\b",
    "Mvs": r"\bMvs\b|\bMvsSampling\b",
}
"""Patterns of the examples whose parts have several names."""
GENERATED = {
    "src/stagewise/_native.pyi",
    "src/stagewise/validation/foreign_names.py",
    "src/stagewise/estimators/parameters/saved_parameters.py",  # names of older files
}


def sources() -> list[Path]:
    """Return all source files."""
    kinds = ("*.py", "*.pyi", "*.hpp", "*.cpp")
    folders = (ROOT / "src", ROOT / "native")
    return [path for folder in folders for kind in kinds for path in folder.rglob(kind)]


def code(path: Path) -> str:
    """Return a file without docstrings and comments."""
    text = path.read_text()
    if path.suffix == ".py":
        text = re.sub(r'"""(?:.|\n)*?"""', "", text)
        return re.sub(r"#.*", "", text)
    return re.sub(r"//.*", "", text)


def test_every_kind_has_a_list() -> None:
    kinds = {title for title, _, _ in SECTIONS}
    assert kinds == {
        "a loss",
        "a method",
        "a finder of splits",
        "a sampling scheme",
        "a parameter of trees",
    }


@pytest.mark.parametrize(("title", "example", "text"), SECTIONS, ids=[s[0] for s in SECTIONS])
def test_the_list_has_exactly_the_files_of_its_example(title: str, example: str, text: str) -> None:
    pattern = re.compile(WORDS.get(example, rf"\b{example}\b"))
    listed = set(re.findall(r"`((?:src|native)/[\w/.]+\.(?:py|hpp|cpp))`", text))
    if title == "a loss":  # a kernel is optional
        listed = {path for path in listed if path.startswith("src/")}
    found = {
        str(path.relative_to(ROOT)) for path in sources() if pattern.search(code(path))
    } - GENERATED
    assert found == listed
