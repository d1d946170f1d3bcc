"""Figures of bagging, of cross-validation committees, and of the theory of averages."""

from __future__ import annotations

from typing import Any

import numpy as np
from data import additive
from sklearn.linear_model import Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.tree import DecisionTreeRegressor
from style import BLUE, GREEN, GREY, ORANGE, plt, save

from stagewise import BaggingRegressor, GradientBoostingRegressor
from stagewise.averaging import majority_vote_accuracy, variance_of_average

__all__ = ["bagging", "committees", "cross_validation_committees"]


def bagging() -> None:
    """Draw the error by the number of estimators, and for six base estimators with and without."""
    (X, y), (X_test, y_test) = additive(500, 0), additive(5_000, 1)
    fig, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4))
    tree = DecisionTreeRegressor()
    model = BaggingRegressor(tree, n_estimators=200, oob_score=True).fit(X, y)
    errors = [np.mean((p - y_test) ** 2) for p in model.staged_predict(X_test)]
    number = range(1, 201)
    left.plot(number, errors, color=BLUE, label="test rows")
    left.plot(number, model.oob_loss_, color=ORANGE, label="out-of-bag rows")
    left.axhline(9.0, color=GREY, ls="--")
    left.text(200, 9.1, "noise", ha="right", va="bottom", color=GREY)
    left.set(xlabel="trees", ylabel="squared error", xscale="log", ylim=(8, 32))
    left.legend()
    print(f"  200 trees: test {errors[-1]:.2f}, out of bag {model.oob_loss_[-1]:.2f}")
    estimators = {
        "large tree": DecisionTreeRegressor(random_state=0),
        "tree of depth 4": DecisionTreeRegressor(max_depth=4, random_state=0),
        "stump": DecisionTreeRegressor(max_depth=1, random_state=0),
        "1 neighbour": KNeighborsRegressor(1),
        "20 neighbours": KNeighborsRegressor(20),
        "ridge": Ridge(),
    }
    for place, (name, estimator) in enumerate(estimators.items()):
        alone = np.mean((estimator.fit(X, y).predict(X_test) - y_test) ** 2)
        bag = BaggingRegressor(estimator, n_estimators=100).fit(X, y)
        together = np.mean((bag.predict(X_test) - y_test) ** 2)
        print(f"  {name}: {alone:.2f} alone, {together:.2f} bagged")
        right.plot([alone, together], [place, place], color=GREY, lw=1)
        right.plot(alone, place, "o", color=ORANGE, label="alone" if not place else None)
        right.plot(together, place, "o", color=BLUE, label="100, bagged" if not place else None)
    right.set(xlabel="squared test error", yticks=range(len(estimators)), yticklabels=estimators)
    right.invert_yaxis()
    right.legend(loc="lower right")
    save(fig, "bagging")


def cross_validation_committees() -> None:
    """Draw the test errors of four ways of early stopping, on 30 small tables."""
    X_test, y_test = additive(5_000, 1)
    ways: dict[str, Any] = {
        "a tenth held out": _boosted(early_stopping=True),
        "five folds choose,\nall rows fitted": _boosted(early_stopping="cv"),
        "committee of\nfive folds": BaggingRegressor(_boosted(), sampling="folds", cv=5),
        "committee of\nten folds": BaggingRegressor(_boosted(), sampling="folds", cv=10),
    }
    found = {name: [] for name in ways}
    for number in range(30):
        X, y = additive(250, 100 + number)
        for name, model in ways.items():
            found[name].append(np.mean((model.fit(X, y).predict(X_test) - y_test) ** 2))
    fig, ax = plt.subplots()
    table = np.array(list(found.values()))
    ax.plot(table, color=GREY, lw=0.5, alpha=0.6)
    ax.plot(table.mean(axis=1), "o-", color=BLUE)
    ax.set(xticks=range(len(ways)), xticklabels=ways, ylabel="squared test error")
    for name, errors in found.items():
        print(f"  {name.replace(chr(10), ' ')}: {np.mean(errors):.2f}")
    print(f"  five folds better than the refit in {np.sum(table[2] < table[1])} of 30")
    save(fig, "cross_validation_committees")


def _boosted(**params: Any) -> GradientBoostingRegressor:
    return GradientBoostingRegressor(
        n_estimators=500, max_leaf_nodes=6, min_samples_leaf=5, **params
    )


def committees() -> None:
    """Draw the probability of a correct majority, and the variance of averages of trees."""
    fig, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4))
    M = np.arange(1, 202, 2)
    for p, colour in ((0.51, GREY), (0.55, ORANGE), (0.6, GREEN), (0.7, BLUE)):
        left.plot(M, majority_vote_accuracy(M, p), color=colour, label=f"p = {p}")
        left.plot(M, majority_vote_accuracy(M, p, method="normal"), ":", color=colour)
    left.set(xlabel="voters M", ylabel="probability of a correct majority", ylim=(0.48, 1.01))
    left.legend(loc="center right", bbox_to_anchor=(1.0, 0.42))
    for share, colour in ((1.0, ORANGE), (0.4, BLUE)):
        predicted = _predictions_at_one_point(share)
        sigma2 = predicted.var(axis=0).mean()
        M = predicted.shape[1]
        among = np.cov(predicted.T)
        rho = (among.sum() - np.trace(among)) / (M * (M - 1)) / sigma2
        number = np.arange(1, M + 1)
        measured = [predicted[:, :m].mean(axis=1).var() for m in number]
        label = "all columns" if share == 1 else f"{share:.0%} of the columns"
        print(f"  {label}: σ² = {sigma2:.2f}, ρ = {rho:.2f}")
        right.plot(number, measured, ".", color=colour, label=f"{label}, ρ = {rho:.2f}")
        right.plot(number, variance_of_average(rho, sigma2, number), color=colour)
        right.axhline(rho * sigma2, color=colour, ls=":")
    right.set(xlabel="trees M", ylabel="variance of the average", ylim=(0, None))
    right.legend()
    save(fig, "committees")


def _predictions_at_one_point(share: float) -> np.ndarray:
    """Return the predictions of 30 bagged trees for one row, for 300 training sets."""
    place = np.full((1, 10), 0.4)
    tree = DecisionTreeRegressor()
    model = BaggingRegressor(tree, n_estimators=30, max_features=share, n_jobs=1)
    rows = []
    for number in range(300):
        model.set_params(random_state=number).fit(*additive(100, 1_000 + number))
        columns = [slice(None) if c is None else c for c in model.estimators_features_]
        trees = zip(model.estimators_, columns, strict=True)
        rows.append([float(tree.predict(place[:, c])[0]) for tree, c in trees])
    return np.array(rows)
