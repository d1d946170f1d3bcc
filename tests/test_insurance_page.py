"""The numbers of docs/insurance.md are those that its program measured."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "insurance.md").read_text(encoding="utf-8")


def report() -> Any:
    path = ROOT / "benchmarks" / "insurance" / "report.py"
    spec = importlib.util.spec_from_file_location("insurance_report", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_tables_of_the_page_are_measured() -> None:
    program = report()
    results = program.read()
    assert program.frequency_table(results) in PAGE
    assert program.premium_table(results) in PAGE
    assert f"{results['policies']:,} French" in PAGE


def test_no_library_has_a_smaller_poisson_deviance() -> None:
    program = report()
    results = program.read()
    for setting in program.SETTINGS:
        ours = results[f"Stagewise, {setting}, split 0"]["deviance"]
        for library in program.LIBRARIES[1:]:
            other = results.get(f"{library}, {setting}, split 0")
            assert other is None or ours <= other["deviance"]


def test_the_numbers_in_the_text_are_measured() -> None:
    models = report().read()["models"]
    severity, frequency = models["severity"], models["frequency"]
    assert f"D² is {100 * severity['d2']:.1f} %" in PAGE
    assert f"{severity['claims']:,} claims" in PAGE
    for name in ("frequency", "severity", "pure premium"):
        assert f"{models[name]['gini']:.2f}" in PAGE
    ratio = frequency["observed"][-1] / frequency["observed"][0]
    assert f"{ratio:.0f} times" in PAGE
