"""The fingerprints that fits have had since they were written down in golden.json.

A change here means that every user's models change: it belongs in the changelog. To write them
anew, type ``cd tests && ../.venv/bin/python -m estimators.golden``.
"""

from __future__ import annotations

import json
from pathlib import Path

from estimators.tables import CASES, fit_case, make_table

GOLDEN = Path(__file__).with_name("golden.json")

SIZES = {"few rows": 700, "rounded at random": 40_000, "cuts from a sample": 120_000}


def fingerprints(**params: object) -> dict[str, str]:
    """Fit every case on every size and return the fingerprints by name."""
    found = {}
    for size, rows in SIZES.items():
        table = make_table(rows)
        for case in CASES:
            found[f"{case}, {size}"] = fit_case(case, table, **params).fingerprint()
    return found


if __name__ == "__main__":
    GOLDEN.write_text(json.dumps(fingerprints(), indent=1) + "\n")
