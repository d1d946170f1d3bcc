"""Input data: reads tables, targets and weights into the arrays that the native core uses.

This package must not import losses, trees or models. pandas, polars and pyarrow are read through
narwhals and never imported.
"""

from stagewise.data.categories.categorical_features import CategoricalFeatures
from stagewise.data.categories.unknown import NO_ROWS, UnknownCategories
from stagewise.data.date_columns import parse_dates
from stagewise.data.feature import Feature
from stagewise.data.features import Features
from stagewise.data.ranking import ranking_target
from stagewise.data.reading.missing_values import MissingValues
from stagewise.data.reading.table import Table, read_table
from stagewise.data.survival_target import survival_target
from stagewise.data.target import (
    Labels,
    TargetScale,
    as_frequencies,
    check_weight,
    read_labels,
    read_target,
    read_weight,
)
from stagewise.data.target_scale import TargetScales
from stagewise.data.targets import match_targets, read_label_columns, read_targets, target_names

__all__ = [
    "NO_ROWS",
    "CategoricalFeatures",
    "Feature",
    "Features",
    "Labels",
    "MissingValues",
    "Table",
    "TargetScale",
    "TargetScales",
    "UnknownCategories",
    "as_frequencies",
    "check_weight",
    "match_targets",
    "parse_dates",
    "ranking_target",
    "read_label_columns",
    "read_labels",
    "read_table",
    "read_target",
    "read_targets",
    "read_weight",
    "survival_target",
    "target_names",
]
