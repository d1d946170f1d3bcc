"""The examples and the commands of the methods' pages run, and their figures exist."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = sorted((ROOT / "docs" / "methods").glob("*.md"))
BLOCK = re.compile(r"```python\n(.*?)```", flags=re.DOTALL)
WITH_EXAMPLES = [page for page in PAGES if BLOCK.search(page.read_text(encoding="utf-8"))]


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


LAST = re.compile(
    r"^## Try it\n\n    (\.venv/bin/[^\n]+\n(?:    [^\n]*\n)*)(?!.*^## )", re.DOTALL | re.MULTILINE
)
PROGRAM = re.compile(r"\.venv/bin/python ((?:examples|tools)/[\w/]+\.py)")


def command_of(page: Path) -> str | None:
    """Return the command of the last section of a page, "Try it"."""
    found = LAST.search(page.read_text(encoding="utf-8"))
    return found[1].strip() if found else None


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_a_page_ends_with_a_command_to_try(page):
    assert command_of(page)


COMMANDS = sorted({command_of(page) for page in PAGES} - {None})


SLOW = ("corrective=",)  # fits all coefficients again in every round
RUNS = [
    pytest.param(command, marks=[pytest.mark.slow] if any(s in command for s in SLOW) else [])
    for command in COMMANDS
]


@pytest.mark.parametrize("command", RUNS)
def test_a_command_to_try_runs_as_written(command, tmp_path):
    """Other tests run the examples and tools, and compare what longer commands print."""
    if program := PROGRAM.fullmatch(command):
        assert (ROOT / program[1]).is_file()
        return
    if "\n" in command:
        assert 'python -c "' in command
        return
    program, *arguments = shlex.split(command)
    for folder in ("docs", "examples", "tools"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    run = subprocess.run(
        [Path(sys.executable).parent / Path(program).name, *arguments],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.strip()
