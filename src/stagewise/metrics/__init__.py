"""Metrics of predictions: by name, as functions, and scikit-learn's scorers.

A fit measures them after every round (`eval_metric`), and `stagewise.inspection` reports them.
"""

from stagewise.metrics.choice import find_metrics, metric_names
from stagewise.metrics.metric import Metric
from stagewise.metrics.registry import METRICS

__all__ = ["METRICS", "Metric", "find_metrics", "metric_names"]
