"""Stagewise: boosting as one additive model.

A name is imported when it is first used (PEP 562), so `import stagewise` imports neither NumPy nor
scikit-learn. Type checkers read the imports below.
"""

import importlib as _importlib
import logging as _logging
import typing as _typing

if _typing.TYPE_CHECKING:
    from stagewise import averaging, inspection, losses
    from stagewise.bagging import BaggingClassifier, BaggingRegressor
    from stagewise.boosting.monitor import Progress
    from stagewise.data import parse_dates, ranking_target, survival_target
    from stagewise.datasets import Dataset, read_batches, read_csv, read_parquet
    from stagewise.errors import (
        ColumnWarning,
        InvalidParameterError,
        ModelFormatError,
        UnknownCategoryWarning,
    )
    from stagewise.estimators import (
        AdaBoostClassifier,
        AdaBoostRegressor,
        AutoClassifier,
        AutoRegressor,
        DecisionTreeClassifier,
        DecisionTreeRegressor,
        ExtraTreesClassifier,
        ExtraTreesRegressor,
        GentleBoostClassifier,
        GradientBoostingClassifier,
        GradientBoostingRanker,
        GradientBoostingRegressor,
        GradientBoostingSurvival,
        LinearRegression,
        LogitBoostClassifier,
        RandomForestClassifier,
        RandomForestRegressor,
        StagewiseClassifier,
        StagewiseLinearRegressor,
        StagewiseRegressor,
        StepwiseRegressor,
    )
    from stagewise.estimators.load import load
    from stagewise.export import (
        export_dtreeviz,
        export_json,
        export_shap,
        export_svg,
        export_text,
        trees_to_frame,
    )
    from stagewise.export.rules import rules
    from stagewise.learners.histogram_tree import HistogramTree
    from stagewise.losses import Loss, register_loss
    from stagewise.options import (
        Conformal,
        Dart,
        FeatureSampling,
        Goss,
        LinearLeaves,
        Mvs,
        OrderedTargetEncoding,
        SplitSearch,
    )

    __version__: str

__all__ = [
    "AdaBoostClassifier",
    "AdaBoostRegressor",
    "AutoClassifier",
    "AutoRegressor",
    "BaggingClassifier",
    "BaggingRegressor",
    "ColumnWarning",
    "Conformal",
    "Dart",
    "Dataset",
    "DecisionTreeClassifier",
    "DecisionTreeRegressor",
    "ExtraTreesClassifier",
    "ExtraTreesRegressor",
    "FeatureSampling",
    "GentleBoostClassifier",
    "Goss",
    "GradientBoostingClassifier",
    "GradientBoostingRanker",
    "GradientBoostingRegressor",
    "GradientBoostingSurvival",
    "HistogramTree",
    "InvalidParameterError",
    "LinearLeaves",
    "LinearRegression",
    "LogitBoostClassifier",
    "Loss",
    "ModelFormatError",
    "Mvs",
    "OrderedTargetEncoding",
    "Progress",
    "RandomForestClassifier",
    "RandomForestRegressor",
    "SplitSearch",
    "StagewiseClassifier",
    "StagewiseLinearRegressor",
    "StagewiseRegressor",
    "StepwiseRegressor",
    "UnknownCategoryWarning",
    "__version__",
    "averaging",
    "export_dtreeviz",
    "export_json",
    "export_shap",
    "export_svg",
    "export_text",
    "inspection",
    "load",
    "losses",
    "parse_dates",
    "ranking_target",
    "read_batches",
    "read_csv",
    "read_parquet",
    "register_loss",
    "rules",
    "survival_target",
    "trees_to_frame",
]

_MODULE_NAMES = {
    "bagging": ("BaggingClassifier", "BaggingRegressor"),
    "boosting.monitor": ("Progress",),
    "data": ("parse_dates", "ranking_target", "survival_target"),
    "datasets": ("Dataset", "read_batches", "read_csv", "read_parquet"),
    "errors": (
        "ColumnWarning",
        "InvalidParameterError",
        "ModelFormatError",
        "UnknownCategoryWarning",
    ),
    "estimators": (
        "AdaBoostClassifier",
        "AdaBoostRegressor",
        "AutoClassifier",
        "AutoRegressor",
        "DecisionTreeClassifier",
        "DecisionTreeRegressor",
        "ExtraTreesClassifier",
        "ExtraTreesRegressor",
        "GentleBoostClassifier",
        "GradientBoostingClassifier",
        "GradientBoostingRanker",
        "GradientBoostingRegressor",
        "GradientBoostingSurvival",
        "LinearRegression",
        "LogitBoostClassifier",
        "RandomForestClassifier",
        "RandomForestRegressor",
        "StagewiseClassifier",
        "StagewiseLinearRegressor",
        "StagewiseRegressor",
        "StepwiseRegressor",
        "load",
    ),
    "export": (
        "export_dtreeviz",
        "export_json",
        "export_shap",
        "export_svg",
        "export_text",
        "rules",
        "trees_to_frame",
    ),
    "learners": ("HistogramTree",),
    "losses": ("Loss", "register_loss"),
    "options": (
        "Conformal",
        "Dart",
        "FeatureSampling",
        "Goss",
        "LinearLeaves",
        "Mvs",
        "OrderedTargetEncoding",
        "SplitSearch",
    ),
}
_MODULE_OF = {name: module for module, names in _MODULE_NAMES.items() for name in names}
_MODULES = {"averaging", "inspection", "metrics", *_MODULE_NAMES}

# Without a handler of the application, nothing is printed.
_logging.getLogger("stagewise").addHandler(_logging.NullHandler())

if not _typing.TYPE_CHECKING:  # for a type checker, an unknown name is an error

    def __getattr__(name: str) -> object:
        """Import a public name, or a public module, when it is first used."""
        if name == "__version__":
            value = _importlib.import_module("importlib.metadata").version("stagewise")
        elif name in _MODULES:
            return _importlib.import_module(f"stagewise.{name}")
        elif name in _MODULE_OF:
            value = getattr(_importlib.import_module(f"stagewise.{_MODULE_OF[name]}"), name)
        else:
            hint = "" if name.startswith("_") else _name_hint(name)
            stop = "." if hint else ""
            raise AttributeError(f"module 'stagewise' has no attribute {name!r}{stop}{hint}")
        globals()[name] = value
        return value


def _name_hint(name: str) -> str:
    """Return a sentence with the public name that is meant, here or in `inspection`, or ""."""
    calls = _importlib.import_module("stagewise.validation.foreign_calls")
    nearest = _importlib.import_module("stagewise.validation.parameters").nearest_name
    hint: str = calls.function_hint(name) or nearest(name, __all__)
    if not hint:
        module = "stagewise.inspection"
        names = getattr(_importlib.import_module(module), "__all__", ())
        hint = nearest(name, names, module)
    return hint


def __dir__() -> list[str]:
    """Return the public names."""
    return sorted(__all__)
