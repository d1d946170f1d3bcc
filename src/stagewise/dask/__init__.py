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


def __dir__() -> list[str]:
    """Return the public names."""
    return sorted(__all__)
