"""Measure the properties of learning methods: `.venv/bin/python tools/measure_properties.py`.

Prints the table of docs/methods/properties.md, after Table 10.1 of Hastie, Tibshirani & Friedman
(2009). Every cell is computed here; one function per row.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LassoCV
from sklearn.metrics import r2_score
from sklearn.neighbors import KNeighborsRegressor
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import SplineTransformer, StandardScaler
from sklearn.svm import SVR

from stagewise import DecisionTreeRegressor, GradientBoostingRegressor
from stagewise.datasets import make_friedman1

TREES: dict[str, Any] = {
    "boosted trees": GradientBoostingRegressor(
        n_estimators=300,
        learning_rate=0.1,
        max_leaf_nodes=6,
        min_samples_leaf=1,
        l2_regularization=0.0,
        max_features=None,
    ),
    "tree": DecisionTreeRegressor(min_samples_leaf=5),
}
LEARNERS: dict[str, Any] = {
    **TREES,
    "neural network": make_pipeline(
        StandardScaler(),
        MLPRegressor(
            hidden_layer_sizes=(50,),
            alpha=1.0,
            learning_rate_init=0.01,
            max_iter=2_000,
            random_state=0,
        ),
    ),
    "SVM": make_pipeline(StandardScaler(), SVR(C=100.0, gamma=0.03)),
    "splines": make_pipeline(
        SplineTransformer(8, degree=1, extrapolation="linear"),
        StandardScaler(),
        LassoCV(eps=0.01, alphas=20, cv=5),
    ),
    "k-NN": make_pipeline(StandardScaler(), KNeighborsRegressor(10)),
}
TRAIN, TEST = 1_000, 2_000
FEW, MANY = 500, 4_000

Table = tuple[np.ndarray, np.ndarray]


def tables(n: int = TRAIN) -> tuple[Table, Table]:
    """Return training rows and test rows of Friedman's first function."""
    return make_friedman1(n, seed=0), make_friedman1(TEST, seed=1)


def r_squared(learner: Any, train: Table, test: Table) -> float:
    """Return R² of the test rows."""
    return r2_score(test[1], clone(learner).fit(*train).predict(test[0]))


def accepts(learner: Any, X: Any, y: Any) -> bool:
    """Return whether the learner can be fitted to a table as it is."""
    clone(learner).fit(*tables(len(y))[0])  # raises if the learner itself is at fault
    try:
        clone(learner).fit(X, y)
    except (TypeError, ValueError):
        return False
    return True


@cache
def predictive_power(learner: Any) -> float:
    """Return R² of the test rows."""
    return r_squared(learner, *tables())


def mixed_types(learner: Any) -> bool:
    """Return whether a column of categories is accepted without an encoding."""
    (X, y), _ = tables(200)
    table = pd.DataFrame(X, columns=[f"x{j}" for j in range(10)])
    table["kind"] = pd.Categorical(np.where(X[:, 0] > 0.5, "a", "b"))
    return accepts(learner, table, y)


def missing_values(learner: Any) -> tuple[bool, float]:
    """Return whether NaN is accepted, and the loss of R² if 20 % of all values are missing."""
    (X, y), (X_test, y_test) = tables()
    rng = np.random.default_rng(2)
    holes, test_holes = (rng.random(table.shape) < 0.2 for table in (X, X_test))
    gaps, test_gaps = np.where(holes, np.nan, X), np.where(test_holes, np.nan, X_test)
    natural = accepts(learner, gaps, y)
    used = learner if natural else make_pipeline(SimpleImputer(), learner)
    return natural, predictive_power(learner) - r_squared(used, (gaps, y), (test_gaps, y_test))


def outliers(learner: Any) -> float:
    """Return the loss of R² if 1 % of the training values are multiplied by 1,000."""
    (X, y), test = tables()
    far = np.random.default_rng(3).random(X.shape) < 0.01
    return predictive_power(learner) - r_squared(learner, (np.where(far, 1_000 * X, X), y), test)


def monotone_transformations(learner: Any) -> float:
    """Return how far predictions of training rows move if x becomes e^(5x), in units of sd(y)."""
    (X, y), _ = tables()
    before, after = (clone(learner).fit(Z, y).predict(Z) for Z in (X, np.exp(5 * X)))
    return float(np.sqrt(np.mean((after - before) ** 2)) / y.std())


def irrelevant_inputs(learner: Any) -> float:
    """Return the loss of R² if 40 columns without influence are added."""
    (X, y), (X_test, y_test) = tables()
    rng = np.random.default_rng(4)
    wide, wide_test = (
        np.column_stack([table, rng.uniform(size=(len(table), 40))]) for table in (X, X_test)
    )
    return predictive_power(learner) - r_squared(learner, (wide, y), (wide_test, y_test))


def linear_combinations(learner: Any) -> float:
    """Return R² of y = sin(x·b) + noise: one function of a linear combination of ten columns."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(TRAIN + TEST, 10))
    y = np.sin(X @ np.full(10, 1 / np.sqrt(10)) * 2) + rng.normal(0, 0.1, len(X))
    return r_squared(learner, (X[:TRAIN], y[:TRAIN]), (X[TRAIN:], y[TRAIN:]))


def rows_visited(model: Any, n: int) -> float:
    """Return how many rows a fit of n rows and the predictions of n rows visit."""
    last = model[-1] if hasattr(model, "steps") else model
    if isinstance(last, KNeighborsRegressor):
        return n * n  # a prediction compares a row with all rows
    if isinstance(last, SVR):
        return n * float(np.sum(last.n_iter_))  # a step updates the gradients of all rows
    if isinstance(last, MLPRegressor):
        return n * float(last.n_iter_)  # a step of the optimiser reads all rows
    if isinstance(last, LassoCV):
        return n  # once, for the cross products
    trees = last.model_.ensemble.trees  # every inner node reads its rows
    return float(sum(tree.cover[tree.feature >= 0].sum() for tree in trees))


def scalability(learner: Any) -> float:
    """Return the exponent e: a fit of N rows visits N^e rows."""
    visits = [rows_visited(clone(learner).fit(*make_friedman1(n, seed=0)), n) for n in (FEW, MANY)]
    return float(np.log(visits[1] / visits[0]) / np.log(MANY / FEW))


def text(value: Any) -> str:
    if isinstance(value, tuple):
        return f"{text(value[0])}, {text(value[1])}"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value + 0.0:.2f}".replace("-0.00", "0.00")


ROWS: dict[str, Callable[[Any], Any]] = {
    "mixed types: accepted": mixed_types,
    "missing values: accepted, loss of R²": missing_values,
    "outliers in x: loss of R²": outliers,
    "monotone transformations: change": monotone_transformations,
    "scalability: exponent of N": scalability,
    "irrelevant inputs: loss of R²": irrelevant_inputs,
    "linear combinations: R²": linear_combinations,
    "predictive power: R²": predictive_power,
}


def main() -> None:
    # With outliers the columns of the splines are nearly constant.
    warnings.simplefilter("ignore", ConvergenceWarning)
    print("| property | " + " | ".join(LEARNERS) + " |")
    print("|---|" + "---|" * len(LEARNERS))
    for name, measure in ROWS.items():
        cells = (text(measure(learner)) for learner in LEARNERS.values())
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
