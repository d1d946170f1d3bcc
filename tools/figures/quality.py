"""Figures of docs/quality.md and docs/explain.md, drawn by plot methods."""

from __future__ import annotations

import numpy as np
import pandas as pd
from style import plt, save

from inspection import houses
from stagewise import GradientBoostingClassifier, GradientBoostingRegressor
from stagewise.inspection import (
    Calibration,
    ConfusionMatrix,
    Predictions,
    Scores,
    Thresholds,
    learning_curves,
    residuals,
    scores,
    shap_values,
)


def loans(n: int, seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Return features of loans and a class: most are paid, some late, few never."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "income": rng.lognormal(3.6, 0.5, n),
            "debt": rng.gamma(2.0, 6.0, n),
            "years employed": rng.exponential(5.0, n).round(),
            "reminders": rng.poisson(0.6, n),
            "purpose": pd.Categorical(rng.choice(["car", "house", "study", "other"], n)),
        }
    )
    risk = table.debt / table.income * 3 + table.reminders - table["years employed"] / 6
    risk = risk + 0.7 * (table.purpose == "other") - 1.3 + rng.logistic(0, 0.8, n)
    return table, np.select([risk < 0.3, risk < 1.8], ["paid", "late"], "never")


def quality() -> None:
    """Draw the quality of models of two classes, of three classes, and of numbers."""
    (X, y), (held, y_held) = loans(4_000, 0), loans(4_000, 1)
    model = GradientBoostingClassifier(n_estimators=300, early_stopping=True, random_state=0)
    predictions = Predictions.of(model.fit(X, y != "paid"), held, y_held != "paid")
    fig, axes = plt.subplots(1, 4, figsize=(12, 3.1))
    found = Thresholds.of(predictions)
    found.roc().plot(axes[0])
    found.precision_recall().plot(axes[1])
    found.cost(false_positive=1, false_negative=4).plot(axes[2])
    Calibration.of(predictions).plot(axes[3])
    for ax in axes:
        ax.set_title(ax.get_title().removeprefix("True: "), fontsize=9)
    save(fig, "quality_classes")
    print(Scores.of(predictions))

    fig, axes = plt.subplots(1, 2, figsize=(9, 3.3))
    learning_curves(model).plot(axes[0])
    three = GradientBoostingClassifier(n_estimators=60).fit(X, y)
    ConfusionMatrix.of(Predictions.of(three, held, y_held)).plot(axes[1], normalize="true")
    save(fig, "quality_learning")

    (X, y), (held, y_held) = houses(3_000, 0), houses(3_000, 1)
    numbers = GradientBoostingRegressor(n_estimators=150).fit(X, y)
    fig, axes = plt.subplots(1, 3, figsize=(11, 3.3))
    residuals(numbers, held, y_held).plot(axes)
    save(fig, "quality_numbers")
    print(scores(numbers, held, y_held))


def shapley() -> None:
    """Draw Shapley values: of all rows, of one row, and by the values of one feature."""
    X, y = houses(3_000, 0)
    model = GradientBoostingRegressor(n_estimators=150).fit(X, y)
    found = shap_values(model, X.iloc[:1_500])
    fig, ax = plt.subplots(figsize=(7.5, 3.4))
    found.beeswarm(ax)
    save(fig, "beeswarm")
    fig, axes = plt.subplots(1, 2, figsize=(11, 3.4), width_ratios=(1.0, 1.15))
    found.waterfall(3, axes[0], top=4)
    found.dependence("floor", axes[1])
    save(fig, "waterfall_dependence")
