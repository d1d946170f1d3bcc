"""What the tests of the command line share: a table, quick settings, and the look of a failure."""

import numpy as np
import pyarrow as pa

ROWS = 300
FAST = ["--set", "n_estimators=15", "--set", "min_samples_leaf=5"]


def make_table(seed):
    """Rows whose price, kind and flag follow from area and age; noise matters little."""
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


def fails(answer, *words):
    """Check that a command failed with one sentence, no traceback and nothing printed."""
    code, out, err = answer
    assert code == 1
    assert out == ""
    assert "Traceback" not in err
    for word in words:
        assert word in err
