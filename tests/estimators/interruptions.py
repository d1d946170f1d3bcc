"""Long computations of every kind, interrupted by Ctrl-C; see `processes.run_in_process`.

Each computation would take many seconds. A thread sends SIGINT soon after it has begun, and the
time until KeyboardInterrupt is raised is measured.
"""

from __future__ import annotations

import os
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

import stagewise as sw
from estimators.tables import make_table
from stagewise import inspection

DELAY = 0.3
Work = Callable[[], Any]


def threads() -> int:
    """Return the number of threads of this process."""
    return len(list(Path("/proc/self/task").iterdir()))


def small_fit() -> str:
    """Return the fingerprint of a small fit."""
    table = make_table(3000)
    model = sw.GradientBoostingRegressor(n_estimators=5, n_jobs=2).fit(table.X, table.number)
    return str(model.fingerprint())


def interrupted(work: Work, delay: float) -> float:
    """Return the seconds from Ctrl-C to KeyboardInterrupt; -1 if the work ended before."""
    sent = 0.0
    done = threading.Event()

    def send() -> None:
        nonlocal sent
        if not done.wait(delay):
            sent = time.monotonic()
            os.kill(os.getpid(), signal.SIGINT)

    sender = threading.Thread(target=send)
    try:
        sender.start()
        work()
        done.set()
        sender.join()
    except KeyboardInterrupt:
        seconds = time.monotonic() - sent
        sender.join()
        return seconds
    return -1.0


def interrupt_all(works: Iterator[tuple[str, Work]], delay: float = DELAY) -> dict[str, Any]:
    """Interrupt each; return the seconds until each stopped, and the state of the process after."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # children of some shells ignore it
    expected = small_fit()
    before = threads()
    seconds = {name: interrupted(work, delay) for name, work in works}
    until = time.monotonic() + 5.0
    while threads() > before and time.monotonic() < until:
        time.sleep(0.01)  # a thread that has ended is listed for a short time
    return {
        "seconds": seconds,
        "threads left": threads() - before,
        "fits again": small_fit() == expected,
    }


def noise(rows: int, columns: int) -> tuple[np.ndarray, np.ndarray]:
    """Return a table of distinct random values, and a target."""
    rng = np.random.default_rng(0)
    return rng.normal(size=(rows, columns)), rng.normal(size=rows)


def fit_works(rows: int = 400_000) -> Iterator[tuple[str, Work]]:
    """Yield fits of one native call, or of few."""
    X, y = noise(rows, 12)
    labels = (y > 0).astype(int) + (X[:, 0] > 1)
    for n_jobs in (1, 2):
        for criterion in ("squared_error", "absolute_error"):
            tree = sw.DecisionTreeRegressor(criterion=criterion, split="exact", n_jobs=n_jobs)
            yield f"exact tree, {criterion}, {n_jobs}", lambda t=tree: t.fit(X, y)
        forest = sw.RandomForestRegressor(criterion="absolute_error", n_jobs=n_jobs)
        yield f"forest of absolute error, {n_jobs}", lambda f=forest: f.fit(X, y)
    tree = sw.DecisionTreeRegressor(criterion="absolute_error", split="histogram")
    yield "histogram tree of absolute error", lambda: tree.fit(X, y)
    yield "exact tree of classes", lambda: sw.DecisionTreeClassifier().fit(X, labels)
    yield "forest of classes", lambda: sw.RandomForestClassifier().fit(X, labels)
    boosting = sw.GradientBoostingRegressor(n_estimators=10_000)
    yield "boosting", lambda: boosting.fit(X, y)
    exact = sw.GradientBoostingRegressor(split="exact", n_estimators=1000)
    yield "exact boosting", lambda: exact.fit(X, y)
    cells = sparse.csr_matrix(np.where(X > 1, X, 0.0))
    yield "sparse boosting", lambda: boosting.fit(cells, y)


def bagging_works(rows: int = 200_000) -> Iterator[tuple[str, Work]]:
    """Yield fits of bagging estimators, whose base estimators run in Python threads."""
    X, y = noise(rows, 8)
    labels = (y > 0).astype(int)
    tree = sw.DecisionTreeRegressor()
    yield "bagged trees", lambda: sw.BaggingRegressor(tree, n_jobs=3).fit(X, y)
    boosting = sw.GradientBoostingClassifier(n_estimators=10_000, n_iter_no_change=10_000)
    folds = sw.BaggingClassifier(boosting, sampling="folds", cv=3, n_jobs=3)
    yield "boosting in folds", lambda: folds.fit(X, labels)
    nested = sw.BaggingRegressor(sw.BaggingRegressor(tree, n_jobs=2), n_jobs=2)
    yield "bagging of bagging", lambda: nested.fit(X, y)


def predicting_works(rows: int = 1_000_000) -> Iterator[tuple[str, Work]]:
    """Yield predictions and explanations of a deep forest."""
    X, y = noise(rows, 10)
    few = slice(0, 20_000)
    forest = sw.RandomForestRegressor(n_estimators=100).fit(X[few], y[few])
    yield "predict", lambda: forest.predict(X)
    yield "apply", lambda: forest.apply(X)
    cells = sparse.csr_matrix(X)
    yield "predict, sparse", lambda: forest.predict(cells)
    for n_jobs in (1, 2):
        forest = forest.set_params(n_jobs=n_jobs)
        yield f"predict, {n_jobs}", lambda f=forest: f.predict(X)
    yield "shap, path", lambda: inspection.shap_values(forest, X[:50_000])
    yield (
        "shap, interventional",
        lambda: inspection.shap_values(forest, X[:5000], kind="interventional", background=X[:500]),
    )
    yield (
        "shap, interactions",
        lambda: inspection.shap_values(forest, X[:5000], interactions=True),
    )
    yield (
        "partial dependence",
        lambda: inspection.partial_dependence(forest, X, [0, 1], method="brute", max_samples=None),
    )
    yield "accumulated effects", lambda: inspection.accumulated_effects(forest, X, [0])
    yield "interactions", lambda: inspection.interactions(forest, X[:2000])
    yield (
        "permutation importance",
        lambda: inspection.permutation_importance(forest, X[:300_000], y[:300_000]),
    )
    page = Path(tempfile.gettempdir()) / "never written.html"
    yield "report", lambda: forest.report(X[:100_000], y[:100_000], page)
    classes = sw.GradientBoostingClassifier(n_estimators=300)
    classes.fit(X[few], (y[few] > 0).astype(int) + (X[few, 0] > 0))
    yield "predict_proba", lambda: classes.predict_proba(X)
    yield "staged predict_proba", lambda: list(classes.staged_predict_proba(X))
    lines = sw.GradientBoostingRegressor(leaves="linear", n_estimators=300, max_depth=8)
    lines.fit(X[few], y[few])
    yield (
        "shap, linear leaves",
        lambda: inspection.shap_values(
            lines, X[:20_000], kind="interventional", background=X[:200]
        ),
    )


def fits() -> dict[str, Any]:
    """Ctrl-C in fits."""
    return interrupt_all(fit_works())


def bagging_fits() -> dict[str, Any]:
    """Ctrl-C in bagging."""
    return interrupt_all(bagging_works())


def predicting() -> dict[str, Any]:
    """Ctrl-C in predictions and explanations."""
    return interrupt_all(predicting_works())


def daemons() -> str:
    """End the process while daemon threads are in native calls."""
    X, y = noise(300_000, 8)
    for _ in range(3):
        tree = sw.DecisionTreeRegressor(n_jobs=2)
        threading.Thread(target=tree.fit, args=(X, y), daemon=True).start()
    model = sw.GradientBoostingRegressor(n_estimators=100_000)
    threading.Thread(target=model.fit, args=(X[:2000], y[:2000]), daemon=True).start()
    time.sleep(0.3)
    return "ended"
