"""``make demo``: train, score, save and reload a model on a table of scikit-learn.

It uses the public interface only, prints the results, and writes files for the command line. It
fails if the reloaded model predicts differently.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

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
    screen.line(f"Wrote {page}: open the report in a browser.")
    _next(folder, screen)
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


def _next(folder: Path, screen: Screen) -> None:
    """Print the files and the next commands."""
    program = "stagewise"
    if shutil.which(program) is None:
        program = str(Path(sys.executable).with_name(program))
        if Path(program).is_relative_to(Path.cwd()):
            program = str(Path(program).relative_to(Path.cwd()))
    screen.line()
    screen.line(
        f"Files in {folder}: model.stgw (the model), report.html, train.csv, test.csv (the tables)."
    )
    screen.line("Next steps:")
    screen.line(f"  {program} show {folder}/model.stgw")
    screen.line(f"  {program} evaluate {folder}/model.stgw {folder}/test.csv")
    screen.line(f"  {program} predict {folder}/model.stgw {folder}/test.csv --proba")
    screen.line(f"  {program} report {folder}/model.stgw {folder}/test.csv")
    screen.line(f"  {program} train {folder}/train.csv --target {TARGET} --valid {folder}/test.csv")


if __name__ == "__main__":
    sys.exit(main())
