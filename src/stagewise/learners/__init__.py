"""Learners: from rows, gradients and hessians to one term of the additive model."""

from stagewise.learners.histogram_tree import HistogramTree

__all__ = ["HistogramTree"]
