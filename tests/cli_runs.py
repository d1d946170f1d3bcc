"""Shared code of the command-line tests: a table, quick settings, and a check for failures."""

import numpy as np
import pyarrow as pa

ROWS = 300
FAST = ["--set", "n_estimators=15", "--set", "min_samples_leaf=5"]


def make_table(seed):
    """Return rows whose price, kind and flag depend on area and age, with little noise."""
    rng = np.random.default_rng(seed)
    area, age = rng.normal(size=ROWS), rng.normal(size=ROWS)
    price = 3 * area - age + 0.1 * rng.normal(size=ROWS)
    kind = np.digitize(area + age, [-0.7, 0.7])
    return pa.table(
        {
            "area": area,
            "age": age,
            "rooms": rng.integers(1, 9, size=ROWS),
            "price": price,
            "kind": kind,
            "flag": np.where(area > age, "yes", "no").tolist(),
            "weight": rng.integers(1, 4, size=ROWS),
        }
    )


def fails(result, *words):
    """Check that a command failed with one sentence, no traceback and nothing printed."""
    code, out, err = result
    assert code == 1
    assert out == ""
    assert "Traceback" not in err
    for word in words:
        assert word in err
