"""docs/coming-from.md equals the generated page, and its programs run."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import stagewise

ROOT = Path(__file__).parents[1]
sys.path.append(str(ROOT / "tools"))
page = importlib.import_module("make_coming_from")


def test_the_page_is_written_from_the_table() -> None:
    assert page.PAGE.read_text() == page.page()


@pytest.mark.parametrize("library", page.SIDES)
def test_stagewise_programs_of_the_page_run(library: str) -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"age": rng.normal(size=300), "city": rng.integers(0, 9, 300)})
    X["job"] = rng.integers(0, 5, 300)
    X = X.astype({"city": "category", "job": "category"})
    y = (X["age"] + rng.normal(size=300) > 0).astype(int)
    names = {"stagewise": stagewise, "X": X[:200], "y": y[:200]}
    names |= {"X_val": X[200:], "y_val": y[200:]}
    program = page.SIDES[library][1]
    smaller = program.replace("=500", "=5").replace("=300", "=5").replace("=200", "=5")
    exec(smaller, names)
    assert len(names["model"].predict(X)) == 300
