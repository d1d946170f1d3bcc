"""Metrics of predictions of times until an event, some of which are censored."""

from stagewise.metrics.survival.accuracy import brier_rows, brier_scores, dynamic_auc, time_mean
from stagewise.metrics.survival.concordance import concordance, concordance_influence, uno_weights
from stagewise.metrics.survival.targets import c_index, exit_times, uno_c_index

__all__ = [
    "brier_rows",
    "brier_scores",
    "c_index",
    "concordance",
    "concordance_influence",
    "dynamic_auc",
    "exit_times",
    "time_mean",
    "uno_c_index",
    "uno_weights",
]
