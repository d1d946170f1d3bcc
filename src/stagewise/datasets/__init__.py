"""Tables in files that may be larger than memory, and simulated tables."""

from stagewise.datasets.dataset import Dataset
from stagewise.datasets.open import read_batches, read_csv, read_parquet
from stagewise.datasets.simulated import (
    make_banana,
    make_friedman1,
    make_friedman2,
    make_friedman3,
    make_moons,
    make_nested_spheres,
    make_sine,
    make_step,
    make_xor,
)

__all__ = [
    "Dataset",
    "make_banana",
    "make_friedman1",
    "make_friedman2",
    "make_friedman3",
    "make_moons",
    "make_nested_spheres",
    "make_sine",
    "make_step",
    "make_xor",
    "read_batches",
    "read_csv",
    "read_parquet",
]


def __dir__() -> list[str]:
    """Return the public names."""
    return sorted(__all__)
