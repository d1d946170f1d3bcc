"""Print measures of the structure of the code: sizes, depth of inheritance, hops of a fit.

    python tools/measure_structure.py

Every number is counted, none is typed in. Run it in the environment of `make build`.
"""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
LOWER = ("data", "losses", "trees", "linear", "learners", "boosting", "training")
FIRST_TREE = {("tree_learner.py", "tree_of"), ("native_rounds.py", "run")}
"""The functions that grow the first tree: they read it from the core, or run rounds there."""
NOT_COUNTED = ("/validation/", "/estimators/rules.py", "/estimators/parameters.py")
"""Checks of parameters one by one, now and before."""
SOURCES = {"src/stagewise": "*.py", "native": "*.[ch]pp"}


def source_files() -> Iterator[Path]:
    for folder, pattern in SOURCES.items():
        yield from sorted((ROOT / folder).rglob(pattern))


def files_per_folder() -> dict[str, int]:
    counts: dict[str, int] = {}
    for path in source_files():
        folder = str(path.parent.relative_to(ROOT))
        counts[folder] = counts.get(folder, 0) + (path.name != "__init__.py")
    return dict(sorted(counts.items(), key=lambda item: -item[1]))


def longest_file() -> tuple[int, str]:
    return max((len(p.read_text().splitlines()), str(p.relative_to(ROOT))) for p in source_files())


def longest_function() -> tuple[int, str]:
    """Return the lines of code of the longest Python function, without its docstring."""
    longest = (0, "")
    for path in (ROOT / "src/stagewise").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef) and node.name != "__init__":
                first = node.body[0]
                documented = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
                body = node.body[1:] if documented else node.body
                if body:
                    size = (body[-1].end_lineno or 0) - body[0].lineno + 1
                    where = f"{path.relative_to(ROOT)}:{node.name}"
                    longest = max(longest, (size, where))
    return longest


def joined(*parts: object) -> str:
    return " ".join(map(str, parts))


def estimators() -> list[type]:
    import stagewise

    public = (getattr(stagewise, name) for name in stagewise.__all__)
    return [kind for kind in public if isinstance(kind, type) and hasattr(kind, "fit")]


def own_classes(kind: type) -> list[type]:
    return [c for c in kind.__mro__ if c.__module__.startswith("stagewise")]


def own_depth(kind: type) -> int:
    """Return the length of the longest chain of own classes above a class, itself included."""
    above = [base for base in kind.__bases__ if base.__module__.startswith("stagewise")]
    return 1 + max((own_depth(base) for base in above), default=0)


def way_to_first_tree(estimator: Any) -> tuple[int, int, int]:
    """Return the calls of own Python functions until a fit reads its first tree from the core.

    Returns
    -------
    calls, functions, depth : int
        The number of calls, of different functions, and of functions on the stack then. The rules
        of single parameters (`validation`) and comprehensions are not counted.
    """
    X = np.random.default_rng(0).normal(size=(200, 4))
    y = X[:, 0] > 0 if hasattr(estimator, "predict_proba") else X[:, 0]
    calls, depth = 0, 0
    functions: set[Any] = set()

    def trace(frame: Any, event: str, _: Any) -> None:
        nonlocal calls, depth
        if depth or event != "call" or "stagewise" not in frame.f_code.co_filename:
            return
        code = frame.f_code
        if code.co_name.startswith("<") or any(part in code.co_filename for part in NOT_COUNTED):
            return
        calls += 1
        functions.add(code)
        if (Path(code.co_filename).name, code.co_name) in FIRST_TREE:
            while frame is not None:
                depth += "stagewise" in frame.f_code.co_filename
                frame = frame.f_back

    sys.setprofile(trace)
    try:
        estimator.fit(X, y)
    finally:
        sys.setprofile(None)
    assert depth, f"no call of {FIRST_TREE}"
    return calls, len(functions), depth


def sites_of_parameter(name: str) -> tuple[int, int]:
    """Return how many lines name a parameter, and in how many files."""
    hits = [
        (path, number)
        for path in source_files()
        for number, line in enumerate(path.read_text().splitlines())
        if name in line
    ]
    return len(hits), len({path for path, _ in hits})


def class_lines(name: str) -> int:
    for path in (ROOT / "src/stagewise").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef) and node.name == name:
                return (node.end_lineno or 0) - node.lineno + 1
    raise LookupError(name)


def main() -> None:
    import stagewise

    boosting = stagewise.GradientBoostingRegressor
    forest = stagewise.RandomForestClassifier
    folders = files_per_folder()
    kinds = estimators()
    deepest = max(kinds, key=own_depth)
    widest = max(kinds, key=lambda kind: len(own_classes(kind)))
    untyped = sum(p.read_text().count("dict[str, Any]") for p in source_files())
    below = sum(
        p.read_text().count("dict[str, Any]")
        for p in source_files()
        if p.relative_to(ROOT).parts[2:3] and p.relative_to(ROOT).parts[2] in LOWER
    )
    rows = [
        ("files in the largest folders", ", ".join(f"{f} {n}" for f, n in [*folders.items()][:4])),
        ("longest file (lines)", joined(*longest_file())),
        ("longest Python function (lines)", joined(*longest_function())),
        ("deepest chain of own classes", f"{own_depth(deepest)} {deepest.__name__}"),
        ("most own classes of one estimator", f"{len(own_classes(widest))} {widest.__name__}"),
        (
            "calls, functions, stack depth from fit to the first tree",
            joined(*way_to_first_tree(boosting())),
        ),
        ("the same of a forest", joined(*way_to_first_tree(forest()))),
        ("parameters of GradientBoostingRegressor", len(inspect.signature(boosting).parameters)),
        (
            "lines, files that name path_smoothing",
            joined(*sites_of_parameter("path_smoothing")),
        ),
        ("lines of a loss (Huber)", class_lines("Huber")),
        ("dict[str, Any]", untyped),
        ("the same in data, losses, trees, linear, learners, boosting, training", below),
    ]
    for what, value in rows:
        print(f"{what:<58} {value}")


if __name__ == "__main__":
    main()
