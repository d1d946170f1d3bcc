"""Settings and checks for all tests."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from hypothesis import settings
from sklearn.base import BaseEstimator

# The same examples on every run, so that a failure is caused by a change. There is no deadline: a
# busy machine is not a failure.
settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.load_profile("repeatable")

# No test opens a window.
os.environ.setdefault("MPLBACKEND", "agg")


ALONE = {
    "cli/test_predict_files.py",
    "cli/test_train_checkpoint.py",
    "datasets/test_read_ahead.py",
    "estimators/test_catalogue_process.py",
    "estimators/test_interruption.py",
    "estimators/test_process.py",
    "native/test_interrupt.py",
    "native/test_out_of_memory.py",
    "native/test_workers.py",
    "unit/test_model_file_saving.py",
}
"""Files of tests that measure time or memory, or send signals."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that no other test may run beside.

    Those of clusters run last: Dask's threads stay, and others measure memory.
    """
    folder = Path(__file__).parent
    for item in items:
        path = item.path.relative_to(folder)
        if path.parts[0] == "cluster" or path.as_posix() in ALONE:
            item.add_marker(pytest.mark.alone)
    items.sort(key=lambda item: "cluster" in item.path.parts)


def pytest_runtest_teardown(item: pytest.Item) -> None:
    """Close the figures of pyplot; fail if a test has fitted one of its parameters.

    pytest keeps parameters until the interpreter ends, and with them the native objects of a
    fitted model, which nanobind would report as leaked.
    """
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is not None:
        pyplot.close("all")
    call = getattr(item, "callspec", None)
    for name, value in call.params.items() if call is not None else ():
        if isinstance(value, BaseEstimator) and hasattr(value, "model_"):
            pytest.fail(f"the test fits its parameter {name!r}; fit a clone of it", pytrace=False)


def pytest_unconfigure() -> None:
    """Release the models in caches of test modules, before the interpreter ends.

    pytest keeps the modules of tests, and nanobind would report the native objects as leaked.
    """
    folder = str(Path(__file__).parent)
    for module in list(sys.modules.values()):
        if str(getattr(module, "__file__", None)).startswith(folder):
            for name, value in list(vars(module).items()):
                if hasattr(value, "cache_clear"):
                    value.cache_clear()
                elif name.isupper() and _has_model(value):
                    delattr(module, name)


def _has_model(value: object) -> bool:
    values = value.values() if isinstance(value, dict) else [value]
    return any(hasattr(one, "ensemble") for one in values)
