"""Learners: they fit one term of the additive model to gradients and hessians."""

from stagewise.learners.histogram_tree import HistogramTree

__all__ = ["HistogramTree"]
