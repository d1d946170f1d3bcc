"""Tables in files that may be larger than memory."""

from stagewise.datasets.dataset import Dataset
from stagewise.datasets.open import read_batches, read_csv, read_parquet

__all__ = ["Dataset", "read_batches", "read_csv", "read_parquet"]


def __dir__() -> list[str]:
    """Return the public names."""
    return sorted(__all__)
