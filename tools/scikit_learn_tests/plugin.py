"""A pytest plugin: scikit-learn's own tests run with our estimators instead of scikit-learn's.

While one of the modules below is imported, and while its tests run, the classes under test are
replaced in `sklearn.ensemble` and `sklearn.tree`. Nothing of scikit-learn is copied: its tests are
those of the installed package.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from scikit_learn_tests.shims import SHIMS

__all__ = ["MODULES"]

MODULES = {
    "sklearn.ensemble.tests.test_weight_boosting": ("AdaBoost",),
    "sklearn.ensemble.tests.test_bagging": ("Bagging",),
    "sklearn.ensemble.tests.test_forest": ("RandomForest", "ExtraTrees"),
    "sklearn.ensemble.tests.test_gradient_boosting": ("GradientBoosting",),
    "sklearn.ensemble._hist_gradient_boosting.tests.test_gradient_boosting": ("HistGradient",),
    "sklearn.ensemble._hist_gradient_boosting.tests.test_monotonic_constraints": ("HistGradient",),
    "sklearn.ensemble._hist_gradient_boosting.tests.test_warm_start": ("HistGradient",),
    "sklearn.tree.tests.test_tree": ("DecisionTree", "ExtraTree"),
    "sklearn.tree.tests.test_monotonic_tree": ("DecisionTree", "ExtraTree", "RandomForest"),
}
"""The modules, and how the names of the classes begin that are replaced."""


OUTCOMES: dict[str, str] = {}
"""The message of every test that failed, and "" for one that passed."""


@contextmanager
def _substituted(module: str) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for package, shims in SHIMS.items():
            for name, shim in shims.items():
                if name.startswith(MODULES[module]):
                    patch.setattr(import_module(package), name, shim)
        yield


def _module_of(item: Any) -> str:
    parts = item.path.with_suffix("").parts
    name = ".".join(parts[len(parts) - parts[::-1].index("sklearn") - 1 :])
    return name if name in MODULES else ""


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: Any) -> Any:
    """Import a module of tests with our classes."""
    if isinstance(collector, pytest.Module) and _module_of(collector):
        with _substituted(_module_of(collector)):
            return (yield)
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: Any) -> Any:
    """Run a test with our classes."""
    with _substituted(_module_of(item)):
        return (yield)


def pytest_runtest_logreport(report: Any) -> None:
    """Record the outcome of a test."""
    if report.skipped:
        return
    name = report.nodeid.rpartition("::")[2]
    if report.failed:
        crash = getattr(report.longrepr, "reprcrash", None)
        message = str(report.longrepr) if crash is None else crash.message
        OUTCOMES[name] = re.sub(r"0x[0-9a-f]+", "0x…", " ".join(message.split()))[:300]
    elif report.when == "call":
        OUTCOMES.setdefault(name, "")


def pytest_sessionfinish() -> None:
    """Write the outcomes to the file that run.py names."""
    Path(os.environ["SCIKIT_LEARN_OUTCOMES"]).write_text(json.dumps(OUTCOMES), encoding="utf-8")
