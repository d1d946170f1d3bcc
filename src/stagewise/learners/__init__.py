"""Learners: they fit one term of the additive model to gradients and hessians."""

from stagewise.learners.histogram_tree import HistogramTree

__all__ = ["HistogramTree"]


def __dir__() -> list[str]:
    """Return the public names."""
    return sorted(__all__)
