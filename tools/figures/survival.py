"""Figures of docs/survival.md."""

from __future__ import annotations

import numpy as np
from style import BLUE, GREY, ORANGE, plt, save

from stagewise import GradientBoostingSurvival
from stagewise.inspection import survival_quality
from stagewise.kaplan_meier import KaplanMeier


def survival() -> None:
    """Draw the quality of a Cox model of simulated times."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4_000, 6))
    hazard = np.exp(X[:, 0] + 0.5 * X[:, 1] ** 2 - X[:, 2] * (X[:, 3] > 0))
    time, end = rng.weibull(1.3, 4_000) * 6 / hazard, rng.uniform(0, 12, 4_000)
    y = np.minimum(time, end), time <= end
    model = GradientBoostingSurvival().fit(X[:2_000], tuple(part[:2_000] for part in y))
    found = survival_quality(model, X[2_000:], tuple(part[2_000:] for part in y))
    fig, axes = plt.subplots(1, 3, figsize=(12, 3.4))
    found.plot(axes=axes)
    save(fig, "survival")
    print(f"survival: C {found.c_index:.3f}, integrated Brier {found.integrated_brier:.3f}")


def _risks(rng: np.random.Generator, n: int) -> tuple[np.ndarray, tuple[np.ndarray, np.ndarray]]:
    """Return features, and times with the cause 1 or 2; 0 is censored.

    The hazard of cause 1 grows with the first feature, that of cause 2 with the second one.
    """
    X = rng.uniform(-1, 1, size=(n, 3))
    first, second = rng.exponential(1 / _hazards(X))
    end = rng.uniform(0, 12, n)
    time = np.minimum(np.minimum(first, second), end)
    return X, (time, np.where(time == end, 0, np.where(first < second, 1, 2)))


def _hazards(X: np.ndarray) -> np.ndarray:
    return np.array([[0.15], [0.06]]) * np.exp(1.2 * X[:, :2].T)


def _draw_incidence(ax: plt.Axes, times: np.ndarray) -> None:
    """Draw the incidence of two causes for two rows, and the true one."""
    X, y = _risks(np.random.default_rng(0), 4_000)
    model = GradientBoostingSurvival(loss="cause_specific").fit(X, y)
    rows = np.array([[0.8, -0.8, 0.0], [-0.8, 0.8, 0.0]])
    found, hazards = model.predict_cumulative_incidence(rows).at(times), _hazards(rows)
    total = hazards.sum(axis=0)
    for row, colour in enumerate((BLUE, ORANGE)):
        for cause, line in enumerate(("-", "--")):
            name = f"row {'AB'[row]}, cause {cause + 1}"
            ax.plot(times, found[row, cause], color=colour, ls=line, label=name)
            true = hazards[cause, row] / total[row] * -np.expm1(-total[row] * times)
            ax.plot(times, true, color=GREY, ls=":", lw=1.2)
    ax.set(title="competing risks", xlabel="time", ylabel="P(T ≤ t, cause)", ylim=(0, 1))
    ax.legend(loc="upper left", ncols=2, fontsize=7)


def survival_curves() -> None:
    """Draw incidences of two causes, and curves of two losses where hazards cross."""
    times = np.linspace(0.01, 8, 300)
    fig, axes = plt.subplots(1, 3, figsize=(12, 3.6))
    _draw_incidence(axes[0], times)
    rng = np.random.default_rng(1)
    group = rng.integers(0, 2, 3_000)
    time, end = 4 * rng.weibull(np.where(group == 1, 2.5, 0.7)), rng.uniform(1, 12, 3_000)
    y = np.minimum(time, end), time <= end
    X = np.column_stack([group, rng.normal(size=3_000)])
    losses = {"cox": {}, "discrete_time": {"n_intervals": 30}}
    for ax, (loss, options) in zip(axes[1:], losses.items(), strict=True):
        model = GradientBoostingSurvival(loss=loss, **options).fit(X, y)
        curves = model.predict_survival_function(X)
        for k, (colour, line, name) in enumerate(((BLUE, "-", "A"), (ORANGE, "--", "B"))):
            own = group == k
            mean = curves.at(times)[own].mean(axis=0)
            ax.plot(times, mean, color=colour, ls=line, label=f"group {name}")
            observed = KaplanMeier.of(None, *(part[own] for part in y)).at(times)
            ax.plot(times, observed, color=GREY, ls=":", lw=1.4)
            print(f"  {loss}, {name}: largest difference {np.abs(mean - observed).max():.3f}")
        ax.set(title=f'loss="{loss}"', xlabel="time", ylabel="P(T > t)", ylim=(0, 1.02))
        ax.legend()
    save(fig, "survival_curves")
