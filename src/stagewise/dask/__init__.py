"""Training and prediction on a Dask cluster; the models are those of one machine, to the byte."""

try:
    import distributed as _distributed  # noqa: F401
except ImportError as error:
    raise ImportError(
        "stagewise.dask needs Dask; install it with: pip install 'stagewise[dask]'"
    ) from error

from stagewise.dask.estimators import GradientBoostingClassifier, GradientBoostingRegressor
from stagewise.dask.forests import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from stagewise.dask.shap import LazyShapValues, shap_values

__all__ = [
    "ExtraTreesClassifier",
    "ExtraTreesRegressor",
    "GradientBoostingClassifier",
    "GradientBoostingRegressor",
    "LazyShapValues",
    "RandomForestClassifier",
    "RandomForestRegressor",
    "shap_values",
]


_ELSEWHERE = {
    "GradientBoostingSurvival": "The sums over rows at risk need all times in one place",
    "GradientBoostingRanker": "The rows of a query may be in several partitions",
}
"""Estimators that a cluster does not train, and why."""


def __getattr__(name: str) -> object:
    if name in _ELSEWHERE:
        raise ImportError(
            f"stagewise.dask has no {name}. {_ELSEWHERE[name]}; fit stagewise.{name} to a table in "
            "memory, such as rows.compute()."
        )
    raise AttributeError(f"module 'stagewise.dask' has no attribute {name!r}")


def __dir__() -> list[str]:
    """Return the public names."""
    return sorted(__all__)
