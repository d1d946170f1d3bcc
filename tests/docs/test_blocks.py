"""The code blocks of README.md and docs/ run in the order of their page.

The blocks of a page share a namespace and an empty folder. Blocks in Python are executed, and in
blocks of a console the lines that begin with "$ ".
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import pytest

from docs.pages import PAGES, blocks, page_id

RUN = ("python", "console")
SHOWN = ("json", "text")
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
            exec(compile(block.text, page.name, "exec"), namespace)
        elif block.language == "console":
            run_console(block.text, tmp_path)
    plt.close("all")


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_a_block_has_a_language_that_is_run_or_shown(page):
    assert {block.language for block in blocks(page)} <= {*RUN, *SHOWN}
