"""The code blocks of README.md and docs/ run in the order of their page.

The blocks of a page share a namespace and an empty folder. Blocks in Python are executed, and in
blocks of a console the lines that begin with "$ ". What a page prints ("It prints …:") is compared.
Other blocks are only shown: text (formulas, outputs), JSON, `sh` (commands of a clone, whose
programs other tests run) and, on some pages, `py` (programs that need a cluster or a peer).
"""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import pytest

from docs.pages import PAGES, blocks, indented_blocks, page_id

RUN = ("python", "console")
SHOWN = ("json", "sh", "text")
WITH_PROGRAMS_THAT_ARE_SHOWN = ("docs/cluster.md", "docs/coming-from.md")
WITH_CODE = [page for page in PAGES if any(block.language in RUN for block in blocks(page))]


def run_console(text: str, folder: Path) -> None:
    lines = [line.removeprefix("$ ") for line in text.splitlines() if line.startswith("$ ")]
    assert lines, f"no line begins with '$ ': {text}"
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    run = subprocess.run(
        ["bash", "-e", "-c", "\n".join(lines)],
        cwd=folder,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert run.returncode == 0, f"{text}\n{run.stderr}"


@pytest.mark.parametrize("page", WITH_CODE, ids=page_id)
def test_the_code_of_a_page_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(plt, "show", lambda: None)
    namespace = {"__name__": "__page__"}
    for block in blocks(page):
        if block.language == "python":
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(compile(block.text, page.name, "exec"), namespace)
            assert not block.printed or printed.getvalue() == block.printed
        elif block.language == "console":
            run_console(block.text, tmp_path)
    plt.close("all")


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_a_block_has_a_language_that_is_run_or_shown(page):
    more = {"py"} if page_id(page) in WITH_PROGRAMS_THAT_ARE_SHOWN else set()
    assert {block.language for block in blocks(page)} <= {*RUN, *SHOWN, *more}


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_no_block_is_indented(page):
    """An indented block has no language, so it would not be run."""
    assert not indented_blocks(page)
