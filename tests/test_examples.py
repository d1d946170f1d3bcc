"""The examples run, print something and are short."""

import re
import runpy
import sys
from pathlib import Path

import numpy as np
import pytest

from example_tables import TABLES

EXAMPLES = sorted((Path(__file__).parent.parent / "examples").glob("*.py"))


# It starts a cluster. Dask leaves sockets of lost workers to the garbage collector.
CLUSTER = [
    pytest.mark.cluster,
    pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
RUNS = [
    pytest.param(path, id=path.stem, marks=CLUSTER if path.stem == "lost_worker" else [])
    for path in EXAMPLES
]


@pytest.mark.parametrize("path", RUNS)
def test_an_example_runs_and_prints_something(path, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    arguments = [str(path)]
    if path.stem in TABLES:
        arguments.append("table.parquet")
        TABLES[path.stem](np.random.default_rng(0)).to_parquet("table.parquet")
    monkeypatch.setattr(sys, "argv", arguments)
    runpy.run_path(str(path), run_name="__main__")
    assert capsys.readouterr().out.strip()
    for picture in re.findall(r'savefig\("(.+?)"\)', path.read_text(encoding="utf-8")):
        assert (tmp_path / picture).stat().st_size > 1000


@pytest.mark.parametrize("name", TABLES)
def test_an_example_without_its_table_describes_the_columns(name, monkeypatch):
    path = EXAMPLES[0].with_name(f"{name}.py")
    monkeypatch.setattr(sys, "argv", [str(path)])
    with pytest.raises(SystemExit, match=rf"Columns: (.|\n)*python examples/{name}.py"):
        runpy.run_path(str(path), run_name="__main__")


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_fits_on_a_screen(path):
    """tinygbt.py is an entire library of boosting, one function per equation."""
    most = 155 if path.stem == "tinygbt" else 40
    assert len(path.read_text(encoding="utf-8").splitlines()) <= most
