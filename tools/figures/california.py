"""Figures of docs/california.md: `make figures CALIFORNIA=housing.parquet`.

Draws an example after Hastie, Tibshirani & Friedman (2009), section 10.14.1, from a table that is
read from a file and stays there. The table has a row for each block group with the columns of the
census (median_income, housing_median_age, total_rooms, total_bedrooms, population, households,
latitude, longitude, median_house_value), as CSV or Parquet.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd
from style import GREY, ORANGE, plt, save

from stagewise import GradientBoostingRegressor
from stagewise.inspection import importance, partial_dependence, scores

NEEDED = (
    "median_income",
    "housing_median_age",
    "total_rooms",
    "total_bedrooms",
    "population",
    "households",
    "latitude",
    "longitude",
    "median_house_value",
)


def table(path: Path) -> tuple[pd.DataFrame, np.ndarray]:
    """Return the book's eight features, and median values in units of 100,000 dollars."""
    raw = pd.read_csv(path) if path.suffix == ".csv" else pd.read_parquet(path)
    absent = [name for name in NEEDED if name not in raw]
    if absent:
        raise SystemExit(f"{path} has no column {', '.join(absent)}.")
    X = pd.DataFrame(
        {
            "MedInc": raw.median_income,
            "HouseAge": raw.housing_median_age,
            "AveRooms": raw.total_rooms / raw.households,
            "AveBedrms": raw.total_bedrooms / raw.households,
            "Population": raw.population,
            "AveOccup": raw.population / raw.households,
            "Latitude": raw.latitude,
            "Longitude": raw.longitude,
        }
    )
    return X, (raw.median_house_value / 100_000).to_numpy()


def california(path: Path) -> None:
    """Fit trees of six leaves, ν = 0.1, Huber's loss, to 80 % of the rows, and draw the model."""
    X, y = table(path)
    order = np.random.default_rng(0).permutation(len(y))
    train, test = order[: len(y) * 4 // 5], order[len(y) * 4 // 5 :]
    model = GradientBoostingRegressor(
        loss="huber",
        response="gradient",
        max_leaf_nodes=6,
        learning_rate=0.1,
        max_features=1.0,
        n_estimators=800,
    ).fit(X.iloc[train], y[train])

    errors(model, X, y, train, test)
    fig, ax = plt.subplots(figsize=(6.4, 3.4))
    importance(model).plot(ax)
    ax.set(xlabel="relative importance")
    save(fig, "california_importance")
    for row in importance(model).table():
        print(f"  {row['feature']:<10} {row['importance']:5.1f}")

    curves(model, X.iloc[train])
    surface(model, X.iloc[train])
    location(model, X.iloc[train])


def errors(
    model: GradientBoostingRegressor,
    X: pd.DataFrame,
    y: np.ndarray,
    train: np.ndarray,
    test: np.ndarray,
) -> None:
    """Average absolute error by round."""
    fig, ax = plt.subplots()
    for rows, colour, name in ((train, GREY, "training"), (test, ORANGE, "test")):
        each = [
            np.abs(predicted - y[rows]).mean() for predicted in model.staged_predict(X.iloc[rows])
        ]
        ax.plot(range(1, len(each) + 1), each, color=colour, lw=1.8, label=name)
    ax.set(xlabel="rounds", ylabel="average absolute error ($100,000)", ylim=(0.2, None))
    ax.legend()
    save(fig, "california_error")
    constant = np.abs(y[test] - np.median(y[train])).mean()
    print(f"  constant {constant:.3f}\n{scores(model, X.iloc[test], y[test])}")


def curves(model: GradientBoostingRegressor, X: pd.DataFrame) -> None:
    """Partial dependence on four features, with the deciles of each at the bottom."""
    fig, axes = plt.subplots(1, 4, figsize=(11, 2.8), sharey=True)
    for ax, name in zip(axes, ("MedInc", "AveOccup", "HouseAge", "AveRooms"), strict=True):
        low, high = X[name].quantile([0.01, 0.98])
        found = partial_dependence(model, X, name, grid_resolution=np.linspace(low, high, 60))
        found.plot(ax)
        ax.set(ylabel="")
    axes[0].set_ylabel("partial dependence")
    save(fig, "california_dependence")


def surface(model: GradientBoostingRegressor, X: pd.DataFrame) -> None:
    """Draw the joint partial dependence on the age of houses and the people per household."""
    grid = {"HouseAge": np.linspace(5, 50, 40), "AveOccup": np.linspace(2, 5, 40)}
    found = partial_dependence(model, X, ["HouseAge", "AveOccup"], grid_resolution=grid)
    fig = plt.figure(figsize=(6.4, 4.6))
    ax = found.plot(fig.add_subplot(projection="3d"), kind="surface")
    ax.set(zlabel="")
    ax.set_box_aspect((1.25, 1.25, 0.8), zoom=1.05)
    save(fig, "california_surface")


def location(model: GradientBoostingRegressor, X: pd.DataFrame) -> None:
    """Draw the partial dependence on the place, at the places of some rows."""
    some = X.sample(6_000, random_state=0)
    names = ("Longitude", "Latitude")
    grid = {name: np.linspace(X[name].min(), X[name].max(), 300) for name in names}
    found = partial_dependence(model, None, names, grid_resolution=grid).mean[..., 0]
    at = [np.abs(some[name].to_numpy()[:, None] - grid[name]).argmin(axis=1) for name in names]
    fig, ax = plt.subplots(figsize=(5.8, 5.2))
    dependence = found[at[0], at[1]]
    dots = ax.scatter(some.Longitude, some.Latitude, c=dependence, s=5, lw=0, cmap="viridis")
    dots.set_clim(*np.quantile(dependence, [0.01, 0.99]))
    fig.colorbar(dots, ax=ax, label="partial dependence", extend="both")
    ax.set(xlabel="Longitude", ylabel="Latitude", aspect=1.25)
    save(fig, "california_location")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit("A table is needed: python tools/figures/california.py housing.parquet")
    california(Path(sys.argv[1]))
