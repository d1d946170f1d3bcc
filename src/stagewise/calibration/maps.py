"""Maps from the probabilities of a model to calibrated ones.

Every map is a function of the logarithms of the probabilities, fitted by maximum likelihood (or by
least squares, "isotonic") to rows that the model was not trained on. A model keeps it as numbers.
By a map with numbers for each class, a class without a row gets about 1 / (n + 2) of n rows.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from scipy.special import expit, logsumexp, softmax
from sklearn.isotonic import IsotonicRegression

from stagewise.calibration.likelihood import fit_logistic, fit_temperature, mean_log_loss
from stagewise.row_hash import uniform_of_rows

__all__ = ["MAPS", "BetaMap", "CalibrationMap", "IsotonicMap", "TemperatureMap", "choose_map"]

Vector = npt.NDArray[np.float64]
Matrix = npt.NDArray[np.float64]
Codes = npt.NDArray[np.intp]

PREFIX = "calibration."
PARTS = 5
"""The parts of the rows by which "auto" compares maps."""
LEAST_INVERSE, LARGEST_INVERSE = 1e-2, 1e2
"""The range of 1 / T."""


class CalibrationMap(ABC):
    """A map of probabilities."""

    kind: ClassVar[str]

    @classmethod
    @abstractmethod
    def fit(cls, log_proba: Matrix, codes: Codes, weight: Vector | None, *, shifts: bool) -> Self:
        """Return the map that is fitted to rows.

        Parameters
        ----------
        log_proba : float64 array of shape (n_rows, n_classes)
            The logarithms of the probabilities, finite.
        codes : int array
            The true classes.
        weight : float64 array or None
            How often each row counts.
        shifts : bool
            Whether the base rates of the classes may be wrong, as after `class_weight`.
        """

    @abstractmethod
    def apply(self, log_proba: Matrix) -> Matrix:
        """Return the calibrated probabilities of rows."""

    @abstractmethod
    def arrays(self) -> dict[str, Vector]:
        """Return the numbers of the map."""

    @classmethod
    @abstractmethod
    def read(cls, arrays: Mapping[str, Vector], n_classes: int) -> Self:
        """Return the map of these numbers; raise ValueError if they are wrong."""

    def learned(self) -> dict[str, Vector]:
        """Return the numbers that a model keeps."""
        kind = np.array([float(list(MAPS).index(self.kind))])
        return {PREFIX + name: a for name, a in {"kind": kind, **self.arrays()}.items()}

    @staticmethod
    def of(learned: Mapping[str, Any], n_classes: int) -> CalibrationMap | None:
        """Return the map of a model; None: it has none."""
        found = {
            name.removeprefix(PREFIX): np.asarray(array, dtype=np.float64)
            for name, array in learned.items()
            if name.startswith(PREFIX)
        }
        if not found:
            return None
        kind = found.get("kind", np.empty(0))
        if len(kind) != 1 or not 0 <= kind[0] < len(MAPS):
            raise ValueError("its calibration is of an unknown kind")
        if not all(np.isfinite(a).all() for a in found.values()):
            raise ValueError("its calibration has a number that is not finite")
        return list(MAPS.values())[int(kind[0])].read(found, n_classes)


@dataclass(frozen=True)
class TemperatureMap(CalibrationMap):
    """p = softmax(log p / T + b) (Guo et al. 2017); b is 0 unless base rates may be wrong.

    With b it is bias-corrected temperature scaling (Alexandari, Kundaje & Shrikumar 2020), which
    is Platt scaling for two classes.
    """

    inverse: float
    bias: Vector
    kind: ClassVar[str] = "temperature"

    @classmethod
    def fit(cls, log_proba: Matrix, codes: Codes, weight: Vector | None, *, shifts: bool) -> Self:
        known = np.bincount(codes, minlength=log_proba.shape[1]) > 0
        place = np.cumsum(known) - 1
        own = log_proba[:, known] if shifts else log_proba
        found, of_known = fit_temperature(
            own, place[codes] if shifts else codes, weight, biased=shifts
        )
        inverse = float(np.clip(found, LEAST_INVERSE, LARGEST_INVERSE))
        if not shifts:
            return cls(inverse, of_known)
        bias = np.zeros(len(known))
        bias[known] = of_known
        rest = logsumexp(inverse * own + of_known, axis=1)
        least = np.log(_least(codes, weight))
        w = np.ones(len(codes)) if weight is None else weight
        for k in np.flatnonzero(~known):
            odds = logsumexp(inverse * log_proba[:, k] - rest, b=w) - np.log(w.sum())
            bias[k] = least - odds
        return cls(inverse, bias)

    def apply(self, log_proba: Matrix) -> Matrix:
        return np.asarray(softmax(self.inverse * log_proba + self.bias, axis=1))

    def arrays(self) -> dict[str, Vector]:
        return {"temperature": np.array([1.0 / self.inverse]), "bias": self.bias}

    @classmethod
    def read(cls, arrays: Mapping[str, Vector], n_classes: int) -> Self:
        own = [arrays.get(name, np.empty(0)) for name in ("temperature", "bias")]
        if [len(a) for a in own] != [1, n_classes] or not own[0][0] > 0:
            raise ValueError("its calibration has a wrong temperature or bias")
        return cls(1.0 / float(own[0][0]), own[1])


@dataclass(frozen=True)
class BetaMap(CalibrationMap):
    """logit p' = a log p - b log(1 - p) + c with a, b >= 0 (Kull, Silva Filho & Flach 2017).

    Of more than two classes, each is calibrated against the others, and the probabilities of a row
    are divided by their sum.
    """

    parameters: Matrix
    """The numbers a, b and c of each class; of the second one of two."""
    kind: ClassVar[str] = "beta"

    @classmethod
    def fit(cls, log_proba: Matrix, codes: Codes, weight: Vector | None, *, shifts: bool) -> Self:
        known = np.bincount(codes, minlength=log_proba.shape[1]) > 0
        least = _least(codes, weight)
        absent = np.array([0.0, 0.0, np.log(least / (1.0 - least))])
        found = [
            _fit_beta(*_one_against_others(log_proba, k), (codes == k).astype(np.intp), weight)
            if known[k]
            else absent
            for k in _calibrated_classes(log_proba.shape[1])
        ]
        return cls(np.array(found))

    def apply(self, log_proba: Matrix) -> Matrix:
        each = []
        for k, (a, b, c) in zip(
            _calibrated_classes(log_proba.shape[1]), self.parameters, strict=True
        ):
            own, others = _one_against_others(log_proba, k)
            each.append(a * own - b * others + c)
        logit = np.column_stack(each)
        if logit.shape[1] == 1:
            return np.asarray(expit(np.hstack([-logit, logit])))
        return _normalised(expit(logit))

    def arrays(self) -> dict[str, Vector]:
        return {"beta": self.parameters.reshape(-1)}

    @classmethod
    def read(cls, arrays: Mapping[str, Vector], n_classes: int) -> Self:
        own = arrays.get("beta", np.empty(0))
        if len(own) != 3 * len(_calibrated_classes(n_classes)):
            raise ValueError("its calibration does not have three numbers for each class")
        return cls(own.reshape(-1, 3))


def _fit_beta(own: Vector, others: Vector, is_own: Codes, weight: Vector | None) -> Vector:
    """Return a, b and c of maximum likelihood with a, b >= 0.

    If one of them would be negative, the likelihood is largest where one of them is 0.
    """
    features = np.column_stack([own, -others])
    found = []
    for used in ([0, 1], [0], [1], []):
        theta = fit_logistic(features[:, used], is_own, weight)
        if (theta[:-1] < 0).any():
            continue
        numbers = np.zeros(3)
        numbers[[*used, 2]] = theta
        if len(used) == 2:
            return numbers
        logit = features @ numbers[:2] + numbers[2]
        margin = np.where(is_own == 1, logit, -logit)
        found.append((float(np.average(np.logaddexp(0.0, -margin), weights=weight)), numbers))
    return min(found, key=lambda pair: pair[0])[1]


@dataclass(frozen=True)
class IsotonicMap(CalibrationMap):
    """The increasing step function with the least squared error (Zadrozny & Elkan 2002).

    Between steps it is linear, as scikit-learn's. Its values are at least 1 / (n + 2) and at most
    1 - 1 / (n + 2) for n rows, so that no log loss is infinite. Of more than two classes, each is
    calibrated against the others, and the probabilities of a row are divided by their sum.
    """

    x: tuple[Vector, ...]
    y: tuple[Vector, ...]
    kind: ClassVar[str] = "isotonic"

    @classmethod
    def fit(cls, log_proba: Matrix, codes: Codes, weight: Vector | None, *, shifts: bool) -> Self:
        least = _least(codes, weight)
        x, y = [], []
        for k in _calibrated_classes(log_proba.shape[1]):
            fit = IsotonicRegression(out_of_bounds="clip")
            fit.fit(np.exp(log_proba[:, k]), (codes == k).astype(np.float64), weight)
            x.append(np.asarray(fit.X_thresholds_, dtype=np.float64))
            y.append(np.clip(np.asarray(fit.y_thresholds_, dtype=np.float64), least, 1.0 - least))
        return cls(tuple(x), tuple(y))

    def apply(self, log_proba: Matrix) -> Matrix:
        places = _calibrated_classes(log_proba.shape[1])
        values = np.column_stack(
            [
                np.interp(np.exp(log_proba[:, k]), x, y)
                for k, x, y in zip(places, self.x, self.y, strict=True)
            ]
        )
        if values.shape[1] == 1:
            return np.hstack([1.0 - values, values])
        return _normalised(values)

    def arrays(self) -> dict[str, Vector]:
        sizes = np.array([len(own) for own in self.x], dtype=np.float64)
        return {"sizes": sizes, "x": np.concatenate(self.x), "y": np.concatenate(self.y)}

    @classmethod
    def read(cls, arrays: Mapping[str, Vector], n_classes: int) -> Self:
        sizes, x, y = (arrays.get(name, np.empty(0)) for name in ("sizes", "x", "y"))
        n = len(_calibrated_classes(n_classes))
        whole = len(sizes) == n and (sizes >= 1).all() and (sizes == np.rint(sizes)).all()
        if not whole or len(x) != sizes.sum() or len(y) != len(x):
            raise ValueError("its isotonic calibration has steps of the wrong number")
        ends = np.cumsum(sizes).astype(np.intp)[:-1]
        xs, ys = tuple(np.split(x, ends)), tuple(np.split(y, ends))
        rising = all((np.diff(a) > 0).all() for a in xs) and all(
            (np.diff(b) >= 0).all() for b in ys
        )
        if not rising or y.min() < 0 or y.max() > 1:
            raise ValueError("its isotonic calibration does not increase from 0 to 1")
        return cls(xs, ys)


MAPS: Mapping[str, type[CalibrationMap]] = MappingProxyType(
    {kind.kind: kind for kind in (TemperatureMap, BetaMap, IsotonicMap)}
)
"""The maps by name, from the one with the fewest parameters to the one with most."""


def _calibrated_classes(n_classes: int) -> range:
    """Return the classes that have a map of their own: of two, the second one."""
    return range(1, 2) if n_classes == 2 else range(n_classes)


def _least(codes: Codes, weight: Vector | None) -> float:
    """Return 1 / (n + 2), the share of a class without a row (Laplace's rule of succession)."""
    return 1.0 / ((len(codes) if weight is None else float(weight.sum())) + 2.0)


def _one_against_others(log_proba: Matrix, k: int) -> tuple[Vector, Vector]:
    """Return log p of class k, and log(1 - p)."""
    own = log_proba[:, k]
    if log_proba.shape[1] == 2:
        return own, log_proba[:, 1 - k]
    others = np.delete(log_proba, k, axis=1)
    largest = others.max(axis=1)
    return own, largest + np.log(np.exp(others - largest[:, np.newaxis]).sum(axis=1))


def _normalised(values: Matrix) -> Matrix:
    """Return rows divided by their sums; a row of zeros has equal probabilities."""
    total = values.sum(axis=1, keepdims=True)
    equal = np.full_like(values, 1.0 / values.shape[1])
    return np.asarray(np.divide(values, total, out=equal, where=total > 0))


def choose_map(
    log_proba: Matrix, codes: Codes, weight: Vector | None, seed: int, *, shifts: bool
) -> CalibrationMap:
    """Return the map with the least log loss of rows that it was not fitted to, fitted to all.

    The part of a row is a hash of its probabilities, so that a row of weight 2 is the row twice.

    Parameters
    ----------
    log_proba, codes, weight, shifts
        As of `CalibrationMap.fit`.
    seed : int
        The seed of the parts of the rows.
    """
    part = np.floor(uniform_of_rows(log_proba, seed) * PARTS)
    losses = dict.fromkeys(MAPS, 0.0)
    w = np.ones(len(codes)) if weight is None else weight
    for number in range(PARTS):
        fitted, other = part != number, part == number
        if not fitted.any() or not other.any():
            continue
        for name, kind in MAPS.items():
            own = kind.fit(log_proba[fitted], codes[fitted], w[fitted], shifts=shifts)
            with np.errstate(divide="ignore"):
                found = np.log(own.apply(log_proba[other]))
            losses[name] += mean_log_loss(found, codes[other], w[other]) * float(w[other].sum())
    best = min(MAPS, key=lambda name: losses[name])
    return MAPS[best].fit(log_proba, codes, weight, shifts=shifts)
