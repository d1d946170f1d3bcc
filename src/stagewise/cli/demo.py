"""``make demo``: train, score, save and reload a model on a table of scikit-learn, and compare.

It uses the public interface only, prints the results, and writes files for the command line. Losses
are compared with those of scikit-learn, and of LightGBM, XGBoost and CatBoost if they are
installed. It fails if the reloaded model predicts differently.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

import stagewise
from stagewise.cli.files import require, write_columns
from stagewise.cli.models import save_model
from stagewise.cli.scoring.score_table import ScoreTable
from stagewise.cli.screen import Screen, amount
from stagewise.cli.show import top_importances
from stagewise.inspection import Predictions

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["main"]

TARGET = "diagnosis"
HELD_OUT = 0.25
FOLDS = 5
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
SECONDS_OF_A_SCREENSHOT = 60


def main(argv: Sequence[str] | None = None) -> int:
    """Train, score, save, load and compare; return 0 if the loaded model predicts the same."""
    parser = argparse.ArgumentParser(prog="demo", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("stagewise-demo"), metavar="FOLDER")
    folder = parser.parse_args(argv).out
    folder.mkdir(parents=True, exist_ok=True)
    screen = Screen()
    train, test = _tables()
    screen.line(
        f"Breast cancer (Wisconsin), a table of scikit-learn: "
        f"{amount(train.num_rows, 'training row')}, {test.num_rows} test rows, "
        f"{train.num_columns - 1} features."
    )
    for name, table in (("train", train), ("test", test)):
        write_columns(
            dict(zip(table.column_names, table.columns, strict=True)), folder / f"{name}.csv"
        )

    model = stagewise.GradientBoostingClassifier(verbose=1)
    X, y = train.drop_columns([TARGET]), np.asarray(train[TARGET].to_pylist())
    model.fit(X, y)
    _report(model, test, screen)

    file = folder / "model.stgw"
    save_model(model, file, TARGET)
    X_test = test.drop_columns([TARGET])
    same = np.array_equal(stagewise.load(file).predict_proba(X_test), model.predict_proba(X_test))
    screen.line()
    screen.line(
        f"Saved the model, loaded it again, predicted {amount(test.num_rows, 'row')}: "
        + ("all probabilities are identical." if same else "PREDICTIONS DIFFER.")
    )
    y_test = np.asarray(test[TARGET].to_pylist())
    page = model.report(X_test, y_test, folder / "report.html", target=TARGET)
    _compare(screen)
    _next(folder, page, screen)
    return 0 if same else 1


def _tables() -> tuple[pa.Table, pa.Table]:
    """Return the training rows and the test rows."""
    require()
    import pyarrow as pa
    from sklearn.datasets import load_breast_cancer
    from sklearn.model_selection import train_test_split

    bunch = load_breast_cancer()
    columns = dict(zip(bunch.feature_names.tolist(), bunch.data.T, strict=True))
    whole = pa.table({**columns, TARGET: bunch.target_names[bunch.target].tolist()})
    parts = train_test_split(
        np.arange(whole.num_rows), test_size=HELD_OUT, stratify=bunch.target, random_state=0
    )
    return whole.take(np.sort(parts[0])), whole.take(np.sort(parts[1]))


def _report(model: stagewise.GradientBoostingClassifier, test: pa.Table, screen: Screen) -> None:
    y = np.asarray(test[TARGET].to_pylist())
    table = ScoreTable.of(Predictions.of(model, test.drop_columns([TARGET]), y))
    screen.line()
    rounds = amount(int(model.n_iter_), "round")
    table.show(f"Test scores ({rounds}, chosen by cross-validation)", screen)
    screen.line()
    screen.table("Each class", table.per_class)
    screen.line()
    screen.bars("Most important features (share of the total gain)", top_importances(model, top=10))


# ---- other libraries -----------------------------------------------------------------------------


def _compare(screen: Screen) -> None:
    """Print the losses of libraries on the same folds of two tables, as a table and a chart."""
    from sklearn.datasets import load_breast_cancer, load_diabetes

    screen.line()
    screen.line(
        f"Every library with its default parameters and one thread, on the same {FOLDS} folds; "
        "the loss of rows that were not trained on:"
    )
    for name, load, task, loss in (
        ("breast cancer", load_breast_cancer, "Classifier", "log loss"),
        ("diabetes", load_diabetes, "Regressor", "RMSE"),
    ):
        X, y = load(return_X_y=True)
        found = {library: _cross_validate(model, X, y) for library, model in _models(task).items()}
        screen.line()
        rows = [
            {
                "library": library,
                loss: float(f"{value:.4g}"),
                "standard error": float(f"{error:.2g}"),
                "seconds": float(f"{seconds:.2g}"),
            }
            for library, (value, error, seconds) in found.items()
        ]
        screen.table(f"{name.capitalize()}, {len(y)} rows", rows)
        screen.bars(
            f"{loss}, smaller is better",
            {library: value for library, (value, _, _) in found.items()},
            ".4g",
        )
    screen.line()
    screen.line(
        "Stagewise chooses the number of rounds by cross-validation inside every fit, which takes "
        "time; the others have a fixed number. Two small tables are an example, not a benchmark: "
        "docs/accuracy.md has more."
    )


def _models(task: str) -> dict[str, Any]:
    """Return the models of the libraries that are installed; scikit-learn always is."""
    from sklearn import ensemble

    peers = {
        "LightGBM": ("lightgbm", "LGBM", {"n_jobs": 1, "verbose": -1}),
        "XGBoost": ("xgboost", "XGB", {"n_jobs": 1}),
        "CatBoost": (
            "catboost",
            "CatBoost",
            {"thread_count": 1, "verbose": 0, "allow_writing_files": False},
        ),
    }
    models = {"Stagewise": getattr(stagewise, f"GradientBoosting{task}")(n_jobs=1)}
    models["scikit-learn HGB"] = getattr(ensemble, f"HistGradientBoosting{task}")()
    for name, (module, prefix, options) in peers.items():
        if importlib.util.find_spec(module) is not None:
            models[name] = getattr(importlib.import_module(module), prefix + task)(**options)
    return models


def _cross_validate(model: Any, X: Any, y: Any) -> tuple[float, float, float]:
    """Return the mean loss of the folds, its standard error, and the seconds of all fits."""
    from sklearn.metrics import log_loss, root_mean_squared_error
    from sklearn.model_selection import KFold, StratifiedKFold
    from threadpoolctl import threadpool_limits

    classes = hasattr(model, "predict_proba")
    folds = (StratifiedKFold if classes else KFold)(FOLDS, shuffle=True, random_state=0)
    losses, seconds = [], 0.0
    with threadpool_limits(1):
        for train, test in folds.split(X, y):
            start = perf_counter()
            model.fit(X[train], y[train])
            seconds += perf_counter() - start
            losses.append(
                log_loss(y[test], model.predict_proba(X[test]))
                if classes
                else root_mean_squared_error(y[test], model.predict(X[test]))
            )
    return float(np.mean(losses)), float(np.std(losses, ddof=1) / FOLDS**0.5), seconds


# ---- the end -------------------------------------------------------------------------------------


def _screenshot(page: Path) -> Path | None:
    """Return a picture of the report, if a browser is installed and draws one."""
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    picture = page.with_suffix(".png").resolve()
    if browser is None:
        return None
    # Chromium's sandbox does not run as root, and the page is our own.
    root = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
    words = [browser, "--headless", *root, "--hide-scrollbars", f"--screenshot={picture}"]
    words += ["--window-size=1280,1500", page.resolve().as_uri()]
    picture.unlink(missing_ok=True)
    try:
        subprocess.run(words, capture_output=True, timeout=SECONDS_OF_A_SCREENSHOT, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return page.with_suffix(".png") if picture.exists() else None


def _next(folder: Path, page: Path, screen: Screen) -> None:
    """Print the files and the next commands."""
    program = "stagewise"
    if shutil.which(program) is None:
        program = str(Path(sys.executable).with_name(program))
        if Path(program).is_relative_to(Path.cwd()):
            program = str(Path(program).relative_to(Path.cwd()))
    screen.line()
    screen.line(f"The report of the model, for a browser: {page}")
    picture = _screenshot(page)
    if picture is not None:
        screen.line(f"A picture of its beginning: {picture}")
    screen.line(f"Other files in {folder}: model.stgw (the model), train.csv, test.csv.")
    screen.line()
    screen.line("Next steps:")
    model, train, test = (str(folder / name) for name in ("model.stgw", "train.csv", "test.csv"))
    for words in (
        ["show", model],
        ["predict", model, test, "--proba"],
        ["train", train, "--target", TARGET, "--valid", test],
    ):
        screen.line(f"  {shlex.join([program, *words])}")


if __name__ == "__main__":
    sys.exit(main())
