"""The page about single rows lists the cases that its program measures."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stagewise.data.few_rows import FewRows

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "serving.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def latency() -> Any:
    """Import the program."""
    spec = importlib.util.spec_from_file_location(
        "measure_latency", ROOT / "tools" / "measure_latency.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_has_every_case_and_both_paths_predict_the_same(
    latency: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    cases = latency.cases()
    rows = [line for line in PAGE.splitlines() if line.endswith(" µs |")]
    assert [row.split(" | ")[0].removeprefix("| ") for row in rows] == list(cases)
    few = [predict() for predict in cases.values()]
    monkeypatch.setattr(FewRows, "encode", lambda self, X: None)
    np.testing.assert_array_equal(few, [predict() for predict in cases.values()])


def test_the_general_path_is_restored_after_it_was_measured(latency: Any) -> None:
    encode = FewRows.encode
    assert latency.measure_general(lambda: None, number=1, repeat=1) >= 0
    assert FewRows.encode is encode
