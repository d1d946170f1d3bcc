"""Ordered classes, labels and formulas, against LightGBM, XGBoost and CatBoost.

Usage: run.py DATA [--part ordinal|labels|losses|formula] [--seeds 3] [--out RESULTS.md]

DATA is a folder of Parquet files. All models stop by the same held-out rows: 15 % of the training
rows, 30 rounds without a better loss, at most 1,000 rounds, learning rate 0.1, one
thread, otherwise defaults.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from pathlib import Path

import formulas
import labels
import losses
import ordinal


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--part", choices=["ordinal", "labels", "losses", "formula"])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    parts: dict[str, Callable[[], list[str]]] = {
        "ordinal": lambda: ordinal.report(args.data, args.seeds),
        "labels": lambda: labels.report(args.data, args.seeds),
        "losses": lambda: losses.report(args.data, args.seeds),
        "formula": formulas.report,
    }
    chosen = [args.part] if args.part else list(parts)
    lines = ["# Ordered classes, labels and formulas", ""]
    lines += [f"Written by `make classes-bench`; {_versions()}.", ""]
    for part in chosen:
        lines += [*parts[part](), ""]
    text = "\n".join(lines)
    print(text)
    if args.out is not None:
        args.out.write_text(text, encoding="utf-8")


def _versions() -> str:
    found = []
    for name in ("stagewise", "lightgbm", "xgboost", "catboost"):
        try:
            found.append(f"{name} {__import__(name).__version__}")
        except ImportError:
            found.append(f"{name} not installed")
    return ", ".join(found)


if __name__ == "__main__":
    main()
