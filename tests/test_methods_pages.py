"""The examples of the methods' pages run, and their figures exist."""

import re
from pathlib import Path

import pytest

PAGES = sorted((Path(__file__).parent.parent / "docs" / "methods").glob("*.md"))
BLOCK = re.compile(r"```python\n(.*?)```", flags=re.DOTALL)
WITH_EXAMPLES = [page for page in PAGES if BLOCK.search(page.read_text(encoding="utf-8"))]

COMMAND = re.compile(r"^    \.venv/bin/python (\S+\.py)$", flags=re.MULTILINE)
WITH_COMMANDS = [page for page in PAGES if "## Try it" in page.read_text(encoding="utf-8")]


def name(page: Path) -> str:
    return page.stem


@pytest.mark.parametrize("page", WITH_EXAMPLES, ids=name)
def test_the_examples_of_a_page_run_in_order(page):
    namespace = {}
    for block in BLOCK.findall(page.read_text(encoding="utf-8")):
        exec(compile(block, page.name, "exec"), namespace)


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_the_figures_of_a_page_exist(page):
    figures = re.findall(r"\(\.\./(figures/.*?\.png)\)", page.read_text(encoding="utf-8"))
    assert figures or page.stem == "README"
    for figure in figures:
        assert (page.parent.parent / figure).stat().st_size > 10_000


@pytest.mark.parametrize("page", WITH_COMMANDS, ids=name)
def test_the_last_section_has_a_command_whose_file_exists(page):
    *_, last = page.read_text(encoding="utf-8").split("\n## ")
    assert last.startswith("Try it\n\n    .venv/bin/")
    assert all((page.parents[2] / file).exists() for file in COMMAND.findall(last))


def test_the_pages_of_trees_and_averages_have_a_command():
    trees = {"decision_tree.md", "pruning.md", "multiway_splits.md", "random_forest.md"}
    averages = {"bagging.md", "committees.md", "cross_validation_committees.md"}
    assert trees | averages <= {page.name for page in WITH_COMMANDS}
