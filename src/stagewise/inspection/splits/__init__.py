"""Candidate splits of a node, and the structure score of a tree."""

from stagewise.inspection.splits.node_splits import NodeSplits, show_split
from stagewise.inspection.splits.structure import StructureScore, structure_score

__all__ = ["NodeSplits", "StructureScore", "show_split", "structure_score"]


def __dir__() -> list[str]:
    """Return the public names."""
    return sorted(__all__)
