"""The list of benchmark cases, and the tables they are trained on.

A table is a pure function of (case, draw), so every library gets the same bytes and every run of
the benchmark repeats the last one. This module imports no library under test and measures no time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

TREES = 100
QUICK_TREES = 10


class Table(NamedTuple):
    """Rows to train on and rows held out; X may be sparse (CSR)."""

    X_train: Any
    y_train: np.ndarray
    X_test: Any
    y_test: np.ndarray


@dataclass(frozen=True)
class Goal:
    """Wanted ratio of peer time to our time, for a peer by name or for the "fastest" of all."""

    at_least: float
    over: str = "fastest"


@dataclass(frozen=True)
class Case:
    """One case, which is one line of the table of goals.

    ``kind`` is how it is measured (see measure.py); ``threads=None`` means all cores;
    ``repeats`` is the default number of timed fits; with ``draws`` > 1 each repeat has its own
    table, because the held-out loss of one small table is mostly chance; ``quality_reference`` is
    the peer with which our held-out loss is compared: the "best", or the "median" one where the
    peers themselves differ by more than ten per cent (1k rows: 100 trees overfit, and the library
    that fits least closely wins). ``way`` is how trees are grown, if not by default; only libraries
    that offer it are measured (peers.py). ``categories`` are the columns that contain codes of
    categories. ``loss`` is the loss that is minimised and measured on the held-out rows; "adaboost"
    is the algorithm of that name with stumps, measured by its error rate. ``density`` is the share
    of values that are not 0; below 1 the table is sparse, and only libraries that read sparse
    tables are measured.
    """

    name: str
    title: str
    make: Callable[[int, int, int], tuple[Any, np.ndarray]]
    rows: int
    features: int
    task: str = "binary"
    loss: str = ""
    kind: str = "fit"
    held_out: int = 50_000
    threads: int | None = None
    repeats: int = 5
    draws: int = 1
    goals: tuple[Goal, ...] = ()
    points: tuple[int, ...] = ()
    vary: str = ""
    trees: int = TREES
    trials: int = 3
    quality_reference: str = "best"
    way: str = "usual"
    categories: tuple[int, ...] = ()
    density: float = 1.0

    def __post_init__(self) -> None:
        if not self.loss:
            usual = "log_loss" if self.n_classes else "squared_error"
            object.__setattr__(self, "loss", usual)

    @property
    def n_classes(self) -> int:
        """Number of classes; 0 for a regression."""
        return {"binary": 2, "classes": 7, "regression": 0, "targets": 0}[self.task]

    @property
    def sparse(self) -> bool:
        """Whether the table is sparse."""
        return self.density < 1.0

    @property
    def input_mb(self) -> float:
        """The size of the training rows; a sparse value is stored with its column index."""
        cells = self.features * (2.0 * self.density if self.sparse else 1.0)
        return self.rows * (cells + 1.0) * 4.0 / 2**20

    def table(self, draw: int = 0) -> Table:
        """Make the rows of one draw: float32, C order or CSR, labels int32, targets float32."""
        X, y = self.make(self.rows + self.held_out, self.features, 1000 + draw)
        n = self.rows
        return Table(X[:n], y[:n], X[n:], y[n:])

    def at(self, point: int) -> Case:
        """Return the same case at one point of its curve."""
        held_out = min(self.held_out, 20_000)
        if self.vary == "features":
            return replace(self, features=point, held_out=held_out)
        return replace(self, rows=point, held_out=held_out)

    def quick(self) -> Case:
        """Return a small copy that only shows that everything runs."""
        shrunk = replace(
            self,
            rows=max(1000, self.rows // 50),
            features=min(self.features, 2000 if self.sparse else 100),
            held_out=5000,
            repeats=2,
            draws=min(self.draws, 2),
            trees=QUICK_TREES,
            trials=1,
        )
        if self.vary == "features":
            return replace(shrunk, points=(10, 30, 100))
        return replace(shrunk, points=(1000, 3000, 10_000)) if self.points else shrunk


def collision_table(rows: int, features: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Two classes, similar to the Higgs table: 21 momenta and angles, 7 masses computed from them.

    A signal row often has a pair of jets whose mass lies near a peak; that is a curved surface in
    six of the raw columns and a simple peak in one of the derived ones.
    """
    rng = np.random.default_rng(seed)
    y = (rng.random(rows) < 0.53).astype(np.int32)
    X = np.empty((rows, 28), dtype=np.float32)
    momentum = rng.gamma(2.5, 25.0, size=(rows, 6)) + 15.0  # lepton, missing, four jets
    eta = rng.normal(0.0, np.where(y, 0.9, 1.1)[:, None], size=(rows, 6))
    phi = rng.uniform(-np.pi, np.pi, size=(rows, 6))
    for first, second, peak, share in ((2, 3, 125.0, 0.45), (0, 1, 80.0, 0.35), (4, 5, 80.0, 0.3)):
        angle = np.cosh(eta[:, first] - eta[:, second]) - np.cos(phi[:, first] - phi[:, second])
        wanted = peak**2 / (2.0 * momentum[:, first] * (angle + 0.05))
        chosen = (y == 1) & (rng.random(rows) < share)
        momentum[:, second] = np.where(
            chosen, np.minimum(wanted, 500.0) * rng.lognormal(0.0, 0.15, rows), momentum[:, second]
        )
    raw = [momentum[:, 0], eta[:, 0], phi[:, 0], momentum[:, 1], phi[:, 1]]
    for jet in range(2, 6):
        level = rng.random(rows) + 0.25 * (y == 1) * (jet < 4)
        tag = np.select([level > 0.95, level > 0.6], [2.17, 1.09], 0.0)
        raw += [momentum[:, jet], eta[:, jet], phi[:, jet], tag]
    for column, values in enumerate(raw):
        X[:, column] = values
    pairs = ((2, 3), (4, 5), (0, 1), (2, 4), (0, 2), (3, 5), (0, 5))
    for column, (a, b) in enumerate(pairs, start=21):
        angle = np.cosh(eta[:, a] - eta[:, b]) - np.cos(phi[:, a] - phi[:, b])
        mass = np.sqrt(2.0 * momentum[:, a] * momentum[:, b] * angle)
        X[:, column] = mass * rng.lognormal(0.0, 0.1, rows)
    return np.ascontiguousarray(X[:, :features]), y


def forest_table(rows: int, features: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Seven classes of unequal size, 10 integer columns and 44 columns of zeros and ones."""
    rng = np.random.default_rng(seed)
    height = rng.normal(2950.0, 280.0, rows)
    zone = (height + rng.normal(0.0, 250.0, rows) > np.array([[2500], [2850], [3150]])).sum(axis=0)
    soil = np.clip(zone * 10 + rng.poisson(5.0, rows) - 2, 0, 39)
    other = rng.gamma(2.0, 1.0, size=(rows, 9)) * np.array(
        [80, 7, 130, 25, 1200, 110, 110, 70, 990]
    )
    X = np.zeros((rows, 54), dtype=np.float32)
    X[:, 0] = np.rint(height)
    X[:, 1:10] = np.rint(other)
    X[np.arange(rows), 10 + zone] = 1.0
    X[np.arange(rows), 14 + soil] = 1.0
    damp = np.log1p(other[:, 2]) - 5.2 - 0.002 * (height - 2900.0)
    step = np.sin(other[:, 0] / 60.0) + 0.4 * (other[:, 4] > 1500.0) - 0.1 * other[:, 1]
    centres = np.array([3120, 2920, 2400, 2230, 2790, 2420, 3360])
    likes = np.random.default_rng(7).normal(size=(7, 40))  # which soil each class prefers
    fit_to = -(((height[:, None] - centres) / 230.0) ** 2) + 0.8 * likes.T[soil]
    fit_to += damp[:, None] * np.linspace(-1.0, 1.0, 7) + step[:, None] * np.cos(np.arange(7))
    fit_to += np.array([1.6, 2.0, 0.3, -0.6, -0.8, 0.0, 0.2])
    chance = rng.gumbel(0.0, 0.7, size=fit_to.shape)
    return X[:, :features], np.argmax(fit_to + chance, axis=1).astype(np.int32)


def surface_table(rows: int, features: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """One smooth target: the sum of two Friedman (1991) surfaces in ten columns, plus noise."""
    rng = np.random.default_rng(seed)
    X = rng.random(size=(rows, features), dtype=np.float32)
    f = np.zeros(rows)
    for weight, first in ((1.0, 0), (0.5, 5)):
        a, b, c, d, e = (X[:, first + k].astype(np.float64) for k in range(5))
        f += weight * (10.0 * np.sin(np.pi * a * b) + 20.0 * (c - 0.5) ** 2 + 10.0 * d + 5.0 * e)
    return X, (f + rng.normal(0.0, 2.0, rows)).astype(np.float32)


def sides_table(rows: int, features: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Two classes: above and below the mean of the same surface."""
    X, y = surface_table(rows, features, seed)
    return X, (y > y.mean()).astype(np.int32)


def spectrum_table(rows: int, features: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Sixteen targets, each a mixture of the same six curved surfaces, with independent noise."""
    rng = np.random.default_rng(seed)
    X = rng.random(size=(rows, features), dtype=np.float32)
    a = X[:, :12].astype(np.float64)
    parts = [np.sin(6.0 * a[:, i]) * a[:, i + 1] + (a[:, i + 6] > 0.5) for i in range(6)]
    mixture = np.random.default_rng(7).normal(size=(6, 16))
    y = np.stack(parts, axis=1) @ mixture + rng.normal(0.0, 0.5, size=(rows, 16))
    return X, y.astype(np.float32)


def centred_table(rows: int, features: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the same surface with mean 0: some libraries start there, and diverge elsewhere."""
    X, y = surface_table(rows, features, seed)
    return X, y - y.mean()


def positive_table(law: str) -> Callable[[int, int, int], tuple[np.ndarray, np.ndarray]]:
    """Non-negative targets around the exponential of the same surface.

    ``law``: "poisson" counts, "gamma" sizes of shape 2, "tweedie" sums of a Poisson number of them.
    """

    def make(rows: int, features: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
        X, surface = surface_table(rows, features, seed)
        rng = np.random.default_rng(seed + 1)
        mean = np.exp((surface - surface.mean()) / 10.0)
        if law == "poisson":
            y = rng.poisson(mean)
        elif law == "gamma":
            y = rng.gamma(2.0, mean / 2.0)
        else:
            y = rng.gamma(2.0 * np.maximum(rng.poisson(mean), 1e-12), 0.5)
        return X, y.astype(np.float32)

    return make


def wide_table(rows: int, features: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Two classes; many correlated columns, some with few values; only the first ten matter."""
    rng = np.random.default_rng(seed)
    factors = rng.normal(size=(rows, 8)).astype(np.float32)
    X = rng.normal(size=(rows, features)).astype(np.float32)
    X += factors @ np.random.default_rng(7).normal(0.0, 0.4, size=(8, features)).astype(np.float32)
    X[:, 4::5] = np.rint(2.0 * X[:, 4::5])
    u = X[:, :10].astype(np.float64)
    logit = 1.5 * u[:, 0] * u[:, 1] + 2.0 * np.sin(2.0 * u[:, 2]) + u[:, 3] - 0.5 * u[:, 4]
    logit += np.where(u[:, 5] > 0.3, u[:, 6], -u[:, 7]) + 0.5 * (u[:, 8] ** 2 - u[:, 9] ** 2)
    return X, (logit + rng.logistic(size=rows) > 0.0).astype(np.int32)


def shops_table(rows: int, features: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Two classes; six categorical columns (10,000 shops to 7 weekdays), the others numeric.

    Categories have their own effects, and so has a date, which is a combination of month and day.
    """
    rng, known = np.random.default_rng(seed), np.random.default_rng(7)
    sizes = (10_000, 1000, 200, 31, 12, 7)
    X = rng.normal(size=(rows, features)).astype(np.float32)
    logit = X[:, 6] + np.sin(2.0 * X[:, 7]) + X[:, 8] * X[:, 9]
    for column, size in enumerate(sizes):
        often = known.gamma(0.7, 1.0, size) + 0.05
        codes = rng.choice(size, rows, p=often / often.sum())
        X[:, column] = codes
        logit += 0.8 * known.normal(size=size)[codes]
    day, month = X[:, 3].astype(np.int64), X[:, 4].astype(np.int64)
    logit += known.normal(size=(31, 12))[day, month]
    return X, (logit + rng.logistic(size=rows) > 0.0).astype(np.int32)


def words_table(rows: int, features: int, seed: int) -> tuple[Any, np.ndarray]:
    """Two classes of texts; the words of each text, 0.5 % of all, as ones in a sparse matrix (CSR).

    The k-th most frequent word occurs in a share of the texts proportional to 1/k (Zipf), and 200
    words separate the classes.
    """
    from scipy.sparse import csr_matrix

    rng = np.random.default_rng(seed)
    share = 1.0 / np.arange(1.0, features + 1.0)
    for _ in range(50):  # shares of at most a half, 0.5 % on average
        share = np.minimum(0.5, share * (0.005 * features / share.sum()))
    columns = rng.permutation(features)
    texts = [rng.choice(rows, rng.binomial(rows, p), replace=False) for p in share]
    word = np.repeat(columns, [len(t) for t in texts])
    ones = np.ones(len(word), dtype=np.float32)
    X = csr_matrix((ones, (np.concatenate(texts), word)), shape=(rows, features))
    telling = columns[rng.choice(np.arange(features // 1000, features // 5), 200, replace=False)]
    logit = X[:, telling] @ rng.normal(0.0, 2.0, 200)
    noise = rng.logistic(0.0, 0.5, rows)
    return X, (logit + noise > np.median(logit)).astype(np.int32)


def covertype_table(folder: Path) -> Callable[[int, int, int], tuple[np.ndarray, np.ndarray]]:
    """Read the real covertype table (covertype.parquet in ``folder``) instead of making one."""
    path = folder / "covertype.parquet"
    if not path.is_file():
        raise SystemExit(f"--data: there is no covertype.parquet in {folder}")

    def make(rows: int, features: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
        from importlib import import_module

        frame: Any = import_module("pyarrow.parquet").read_table(path)
        chosen = np.random.default_rng(seed).permutation(frame.num_rows)[:rows]
        names = [name for name in frame.column_names if name != "Cover_Type"][:features]
        X = np.empty((rows, len(names)), dtype=np.float32)
        for column, name in enumerate(names):
            X[:, column] = frame[name].to_numpy()[chosen]
        labels = np.unique(frame["Cover_Type"].to_numpy()[chosen], return_inverse=True)[1]
        return X, labels.astype(np.int32)

    return make


ROW_POINTS = (10_000, 30_000, 100_000, 300_000, 1_000_000, 3_000_000)
FEATURE_POINTS = (10, 30, 100, 300, 1000)
MILLION_GOALS = (Goal(3.0, "lightgbm"), Goal(3.0, "xgboost"), Goal(2.5))

CASES = (
    Case("binary-1m", "1M × 28 floats, binary", collision_table, 1_000_000, 28,
         held_out=100_000, goals=MILLION_GOALS),
    Case("binary-100k", "100k × 28, binary", collision_table, 100_000, 28, repeats=7,
         goals=(Goal(2.5),)),
    Case("binary-10k", "10k × 28, binary", collision_table, 10_000, 28, repeats=11, draws=11,
         goals=(Goal(2.0),)),
    Case("binary-1k", "1k × 28, binary", collision_table, 1000, 28, repeats=21, draws=21,
         goals=(Goal(2.0),), quality_reference="median"),
    Case("classes-7", "100k × 54, 7 classes", forest_table, 100_000, 54, task="classes",
         draws=3, goals=(Goal(2.0),)),
    Case("regression-200k", "200k × 50, regression", surface_table, 200_000, 50,
         task="regression", goals=(Goal(2.0),)),
    *(
        Case(f"loss-{loss.replace('_', '-')}", f"100k × 28, {loss.replace('_', ' ')}", make,
             100_000, 28, task="regression", loss=loss, goals=(Goal(2.0),))
        for loss, make in (
            ("absolute_error", centred_table), ("huber", centred_table),
            ("quantile", centred_table), ("poisson", positive_table("poisson")),
            ("gamma", positive_table("gamma")), ("tweedie", positive_table("tweedie")),
        )
    ),
    Case("linear-leaves", "100k × 28, regression, linear leaves", surface_table, 100_000, 28,
         task="regression", way="linear", goals=(Goal(2.0),)),
    Case("loss-exponential", "20k × 28, exponential", collision_table, 20_000, 28,
         loss="exponential", repeats=3, goals=(Goal(2.0),)),
    Case("adaboost", "100k × 20, AdaBoost, 50 stumps", collision_table, 100_000, 20,
         loss="adaboost", repeats=3, trees=50, goals=(Goal(10.0),)),
    Case("exact", "100k × 28, binary, every value a candidate, depth 6", collision_table, 100_000,
         28, repeats=3, way="exact", goals=(Goal(2.0),)),
    Case("symmetric", "1M × 28, binary, symmetric trees of depth 6", collision_table, 1_000_000, 28,
         held_out=100_000, repeats=3, way="symmetric", goals=(Goal(3.0, "catboost"),)),
    Case("goss", "1M × 28, binary, GOSS", collision_table, 1_000_000, 28, held_out=100_000,
         repeats=3, way="goss", goals=(Goal(1.0, "lightgbm"),)),
    Case("categories", "100k × 12, binary, six categorical columns", shops_table, 100_000, 12,
         categories=(0, 1, 2, 3, 4, 5), way="categories", draws=3,
         goals=(Goal(2.0, "catboost"), Goal(1.0, "lightgbm"))),
    Case("joint-classes-7", "100k × 54, 7 classes, one tree for all", forest_table, 100_000, 54,
         task="classes", way="joint", repeats=3),
    Case("joint-targets-16", "100k × 30, 16 targets, one tree for all", spectrum_table, 100_000, 30,
         task="targets", way="joint", repeats=3),
    Case("forest-classes", "100k × 30, binary, random forest", sides_table, 100_000, 30,
         loss="squared_error", way="forest", repeats=3,
         goals=(Goal(4.0, "scikit-learn-forest"), Goal(1.5))),
    Case("forest-classes-7", "40k × 54, 7 classes, random forest", forest_table, 40_000, 54,
         task="classes", loss="squared_error", way="forest", repeats=3,
         goals=(Goal(3.0, "scikit-learn-forest"), Goal(1.5))),
    Case("forest-numbers", "100k × 30, regression, random forest", surface_table, 100_000, 30,
         task="regression", way="forest", repeats=3,
         goals=(Goal(4.0, "scikit-learn-forest"), Goal(1.5))),
    Case("forest-memory", "peak memory of the forest of classes beyond the input", sides_table,
         100_000, 30, loss="squared_error", way="forest", kind="memory", held_out=1000, repeats=1),
    Case("wide-1000", "20k × 1000, binary", wide_table, 20_000, 1000, draws=3,
         goals=(Goal(1.5),)),
    Case("one-thread", "100k × 28, binary, one thread", collision_table, 100_000, 28, threads=1,
         goals=(Goal(2.5),)),
    Case("busy-core", "10k × 28 while another process keeps one core busy", collision_table,
         10_000, 28, kind="busy", repeats=7),
    Case("memory-2m", "peak memory of a 2M × 28 fit beyond the input", collision_table, 2_000_000,
         28, kind="memory", held_out=1000, repeats=1),
    Case("scaling-rows", "28 features, rows grow", collision_table, 10_000, 28, kind="scaling",
         vary="rows", points=ROW_POINTS, repeats=2),
    Case("scaling-features", "20k rows, features grow", wide_table, 20_000, 10, kind="scaling",
         vary="features", points=FEATURE_POINTS, repeats=3),
    Case("sparse", "50k texts × 20,000 words, 0.5 % of them there, binary", words_table, 50_000,
         20_000, held_out=10_000, repeats=3, goals=(Goal(1.0),), density=0.005),
    Case("sparse-memory", "peak memory of the same fit beyond the input", words_table, 50_000,
         20_000, kind="memory", held_out=1000, repeats=1, density=0.005),
    Case("one-row", "one-row predict, regression", surface_table, 10_000, 28, task="regression",
         kind="one-row", repeats=7),
    Case("one-row-proba", "one-row class probability, binary", collision_table, 10_000, 28,
         kind="one-row", repeats=7),
)  # fmt: skip
