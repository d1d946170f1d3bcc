"""A least-squares fit as text."""

from __future__ import annotations

from collections.abc import Sequence

from stagewise.display import Text
from stagewise.linear.design import Design
from stagewise.linear.least_squares import LeastSquares
from stagewise.model.model import Model

__all__ = ["summary_of"]

HEADS = ("estimate", "std. error", "t", "p")
LONGEST_NAME = 40
SMALLEST_P = 1e-16


def summary_of(model: Model, fit: LeastSquares, terms: Sequence[str], level: float) -> Text:
    """Return the coefficients with their tests, and the quality of the fit.

    Parameters
    ----------
    model, fit : Model, LeastSquares
        The model and its least-squares fit.
    terms : sequence of str
        The names of the coefficients.
    level : float
        The confidence level of the intervals.
    """
    about = "" if fit.centred else " (about 0)"
    lines = [
        f"{fit.weight:g} rows, {fit.rank} coefficients, {fit.df:g} residual degrees of freedom",
        f"R²{about} {fit.r2:.4f}, adjusted {fit.adjusted_r2:.4f}, residual error {fit.sigma:.6g}",
        *([] if fit.model_df == 0 else [_slopes(fit)]),
        f"log likelihood {fit.log_likelihood:.6g}, AIC {fit.aic:.6g}, BIC {fit.bic:.6g}",
        "",
        *_table(fit, terms, level),
    ]
    baselines = Design.of(model.features).baselines()
    if baselines:
        listed = ", ".join(f"{name}={level}" for name, level in baselines.items())
        lines += ["", f"baselines, whose coefficient is 0: {listed}"]
    return Text("\n".join(lines))


def _slopes(fit: LeastSquares) -> str:
    """Return the test that all slopes are 0."""
    return f"all slopes 0: F({fit.model_df}, {fit.df:g}) = {fit.f:.4g}, {_of_p(fit.f_p)}"


def _table(fit: LeastSquares, terms: Sequence[str], level: float) -> list[str]:
    ends = f"{100 * level:g} % interval"
    rows = [["", *HEADS, ends]]
    columns = (fit.estimate, fit.standard_error, fit.t, fit.p, *fit.interval(level).T)
    for name, b, error, t, p, low, high in zip(terms, *columns, strict=True):
        short = name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…"
        interval = f"{low:.4g} to {high:.4g}"
        rows.append([short, f"{b:.6g}", f"{error:.4g}", f"{t:.2f}", _p(p), interval])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]).rstrip()
        for row in rows
    ]
    return [lines[0], "─" * max(map(len, lines)), *lines[1:]]


def _of_p(p: float) -> str:
    return f"p {_p(p)}" if p < SMALLEST_P else f"p = {_p(p)}"


def _p(p: float) -> str:
    return "< 1e-16" if p < SMALLEST_P else f"{p:.3g}"
