"""Writes the examples of the lab: `python tools/make_lab_examples.py`.

Points are integers, in units of 1/1024, so that the thresholds between them are exact and the page
does not depend on the version of NumPy. Classes: [x1, x2, class]; regressions: [x, y].
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import numpy.typing as npt

Vector = npt.NDArray[np.float64]

FILE = Path(__file__).parents[1] / "src" / "stagewise" / "lab" / "page" / "examples.json"
UNIT, ROWS = 1024, 200


def two_moons(rng: np.random.Generator, n: int) -> tuple[Vector, Vector]:
    code = np.arange(n) % 2
    angle = rng.uniform(0, np.pi, n)
    x = np.where(code, 0.5 - np.cos(angle), np.cos(angle) - 0.5)
    y = np.where(code, 0.25 - np.sin(angle), np.sin(angle) - 0.25)
    return np.column_stack([x, y]) * 0.5 + rng.normal(0, 0.12, (n, 2)), code


def nested_spheres(rng: np.random.Generator, n: int) -> tuple[Vector, Vector]:
    X = rng.normal(size=(n, 2))
    code = (X**2).sum(axis=1) > 2 * np.log(2)  # the median of a chi-squared variable
    return X * 0.36, np.where(rng.random(n) < 0.05, ~code, code)


def banana(rng: np.random.Generator, n: int) -> tuple[Vector, Vector]:
    code = np.arange(n) % 2
    angle = rng.uniform(-0.2, 1.2, n) * np.pi
    arc = np.column_stack([np.cos(angle), np.sin(angle)]) * 0.68 - [0, 0.3]
    blob = rng.normal(0, 1, (n, 2)) * [0.2, 0.17] - [0, 0.2]
    return np.where(code[:, np.newaxis], arc + rng.normal(0, 0.11, (n, 2)), blob), code


def exclusive_or(rng: np.random.Generator, n: int) -> tuple[Vector, Vector]:
    X = rng.uniform(-0.95, 0.95, (n, 2))
    code = (X[:, 0] > 0.05) != (X[:, 1] > -0.1)
    return X, np.where(rng.random(n) < 0.05, ~code, code)


def sine(rng: np.random.Generator, n: int) -> tuple[Vector, Vector]:
    x = rng.uniform(-0.97, 0.97, n)
    return x[:, np.newaxis], 0.6 * np.sin(1.5 * np.pi * x) + 0.12 * x + rng.normal(0, 0.12, n)


def steps_with_outliers(rng: np.random.Generator, n: int) -> tuple[Vector, Vector]:
    x = rng.uniform(-0.97, 0.97, n)
    y = np.select([x < -0.35, x < 0.25], [-0.35, 0.45], 0.05) + rng.normal(0, 0.07, n)
    return x[:, np.newaxis], np.where(rng.random(n) < 0.08, rng.uniform(-0.95, -0.75, n), y)


EXAMPLES = {
    "moons": ("two moons", two_moons, True),
    "spheres": ("nested spheres", nested_spheres, True),
    "banana": ("banana", banana, True),
    "xor": ("exclusive or", exclusive_or, True),
    "sine": ("sine curve", sine, False),
    "steps": ("steps with outliers", steps_with_outliers, False),
}


def points(rng: np.random.Generator, draw: object, n: int, classes: bool) -> list[list[int]]:
    X, y = draw(rng, n)  # type: ignore[operator]
    columns = X if classes else np.column_stack([X, y])
    whole = np.clip(np.rint(columns * UNIT), 1 - UNIT, UNIT - 1).astype(int)
    return (np.column_stack([whole, y.astype(int)]) if classes else whole).tolist()


def main() -> None:
    lines = []
    for seed, (key, (name, draw, classes)) in enumerate(EXAMPLES.items()):
        rng = np.random.default_rng(seed)
        example = {
            "key": key,
            "name": name,
            "classes": classes,
            "train": points(rng, draw, ROWS, classes),
            "test": points(rng, draw, 2 * ROWS, classes),
        }
        lines.append(json.dumps(example, separators=(",", ":")))
    FILE.write_text("[\n" + ",\n".join(lines) + "\n]\n", encoding="utf-8")


if __name__ == "__main__":
    main()
