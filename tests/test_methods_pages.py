"""The examples of some methods, on their pages and in docstrings, run as they stand."""

import re
from pathlib import Path

import pytest

PAGES = Path(__file__).parent.parent / "docs" / "methods"
COMPLETE = ("decision_tree", "linear_model", "pruning", "stepwise", "stagewise_linear")


@pytest.mark.parametrize("name", COMPLETE)
def test_the_example_of_a_page_runs_and_says_something(name, capsys):
    text = (PAGES / f"{name}.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    assert blocks
    for block in blocks:
        exec(compile(block, name, "exec"), {})
    assert capsys.readouterr().out.strip()


@pytest.mark.parametrize("name", COMPLETE)
def test_the_figure_of_a_page_is_there(name):
    (figure,) = re.findall(
        r"\(\.\./(figures/.*?\.png)\)", (PAGES / f"{name}.md").read_text("utf-8")
    )
    assert (PAGES.parent / figure).stat().st_size > 10_000
