"""Small tables in files, for the tests of datasets."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from pyarrow import parquet

ROWS = 100


def make_table(seed=0, n_rows=ROWS):
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "area": rng.normal(size=n_rows).astype(np.float32),
            "rooms": rng.integers(1, 9, size=n_rows),
            "city": pa.array(rng.choice(["Bern", "Rome", "Oslo"], size=n_rows).tolist()),
            "price": rng.normal(size=n_rows),
        }
    )


def write_parts(folder, n_files=3, group=40):
    """Write files of 100 rows in row groups of 40 rows; return the whole table."""
    tables = [make_table(seed) for seed in range(n_files)]
    for place, table in enumerate(tables):
        parquet.write_table(table, folder / f"part-{place}.parquet", row_group_size=group)
    return pa.concat_tables(tables)
