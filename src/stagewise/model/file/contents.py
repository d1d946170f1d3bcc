"""The contents of a model file: converts a model to header entries and arrays, and back.

`unpack` is the only function that decides whether these are a valid model. It runs when a file is
read and also when it is written, so a file that could not be read again is never written. This
module must not convert to bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise.data.feature import Feature
from stagewise.data.features import Features
from stagewise.data.reading.missing_values import MissingValues
from stagewise.data.row_offset import RowOffset
from stagewise.errors import ModelFormatError
from stagewise.model.ensemble import Ensemble
from stagewise.model.file.categories import pack_categories, unpack_categories
from stagewise.model.file.checks import (
    CATEGORICAL,
    INT64_CUTS,
    REAL,
    UINT64_CUTS,
    check_category_sets,
    check_features,
    check_linear_leaves,
    check_predictions,
    check_splittable,
    check_starts,
    check_trees,
)
from stagewise.model.file.crosses import pack_crosses, unpack_crosses
from stagewise.model.file.datetimes import pack_temporal_types, unpack_temporal_types
from stagewise.model.file.fold_ensembles import pack_fold_ensembles, unpack_fold_ensembles
from stagewise.model.file.header import from_json, to_json
from stagewise.model.file.labels import (
    pack_label_lists,
    pack_labels,
    unpack_label_lists,
    unpack_labels,
)
from stagewise.model.file.learned_numbers import pack_learned, unpack_learned
from stagewise.model.file.least_squares import pack_least_squares, unpack_least_squares
from stagewise.model.file.row_offsets import pack_row_offset, unpack_row_offset
from stagewise.model.file.sections import (
    CATEGORY_SETS,
    LABELS,
    LEAST_SQUARES,
    LINEAR_LEAVES,
    MISSING_VALUES,
    NAMES,
    OPTIONAL,
    SECTIONS,
    TARGETS,
    VECTORS,
)
from stagewise.model.file.target_encodings import pack_target_encodings, unpack_target_encodings
from stagewise.model.model import Model
from stagewise.trees.tree import NODE_ARRAYS

__all__ = ["pack", "unpack"]

Array = npt.NDArray[Any]

_FACTS = ("task", "loss", "classes", "estimator")
_TASKS = ("regression", "classification", "ranking", "survival")


def pack(model: Model, estimator: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Array]]:
    """Return a model as header entries and arrays.

    Parameters
    ----------
    model : Model
        The model.
    estimator : mapping
        The data that restore an estimator: ``class`` (a str), ``params`` (a dict), and other
        entries of the estimator; or empty.

    Returns
    -------
    facts : dict
        The entries of the header.
    arrays : dict of str to array
        The sections.

    Raises
    ------
    ValueError
        If something in the model or the estimator cannot be stored; the message names it.
    """
    arrays: dict[str, Array] = {
        "base": np.asarray(model.ensemble.base, dtype=np.float64),
        "offset": np.atleast_1d(np.asarray(model.offset, dtype=np.float64)),
        "scale": np.atleast_1d(np.asarray(model.scale, dtype=np.float64)),
        "train_loss": np.asarray(model.train_loss, dtype=np.float64),
        "valid_loss": np.asarray(model.valid_loss, dtype=np.float64),
        **_pack_trees(model.ensemble),
        **_pack_targets(model.targets),
        **_pack_features(model.features),
        **pack_temporal_types([feature.temporal_type for feature in model.features]),
        **_pack_missing_values(model.features.missing_values),
        **pack_categories([feature.categories for feature in model.features]),
        **pack_crosses(model.features.crosses),
        **pack_target_encodings(model.features.target_encodings),
        **pack_least_squares(model.least_squares),
        **pack_row_offset(model.row_offset),
        **pack_learned(model.learned),
        **pack_fold_ensembles(model.fold_ensembles),
    }
    facts: dict[str, Any] = {
        "task": model.task,
        "loss": model.loss,
        "classes": None,
        "estimator": _pack_estimator(estimator),
    }
    if model.classes is not None:
        facts["classes"], labels = pack_labels(model.classes)
        if labels is not None:
            arrays[LABELS] = labels
    if model.class_targets is not None:
        facts["classes"] = pack_label_lists(model.class_targets)
    if model.ensemble.n_features != len(model.features.sources):
        raise ValueError("the trees and the features of the model differ in number of columns")
    return facts, arrays


def _pack_estimator(estimator: Mapping[str, Any]) -> dict[str, Any]:
    packed = {}
    for key, value in estimator.items():
        if key == "params" and isinstance(value, Mapping):
            packed[key] = {
                # The depth of a parameter is 3: the header, the estimator, its params.
                name: to_json(item, f"the parameter {name!r}", depth=3)
                for name, item in value.items()
            }
        else:
            packed[key] = to_json(value, f"the estimator's {key!r}", depth=2)
    return packed


def _pack_trees(ensemble: Ensemble) -> dict[str, Array]:
    """Return trees as arrays; vector values are stored in a separate section, node by node."""
    arrays = ensemble.flat()
    if ensemble.outputs_per_tree > 1:
        (name,) = VECTORS
        arrays[name] = arrays.pop("value").reshape(-1)
    return arrays


def _pack_targets(targets: tuple[str, ...] | None) -> dict[str, Array]:
    if targets is None:
        return {}
    texts = [name.encode("utf-8", "surrogatepass") for name in targets]
    names = np.frombuffer(b"".join(texts), dtype=np.uint8)
    return {"target_start": _starts(texts), "target_names": names}


def _pack_features(features: Features) -> dict[str, Array]:
    """Return features as arrays: kinds, concatenated cuts, and concatenated names."""
    kinds = np.array([_kind_of(feature) for feature in features], dtype=np.uint8)
    none = np.empty(0, np.uint64)
    cuts = [none if f.cuts is None else f.cuts for f in features]
    arrays: dict[str, Array] = {
        "feature_kind": kinds,
        "cut_start": _starts(cuts),
        # int64 cuts keep their bits; the kind of the feature gives the type.
        "cuts": np.concatenate([none, *(np.ascontiguousarray(c).view(np.uint64) for c in cuts)]),
    }
    names = [feature.name for feature in features if feature.name is not None]
    if names:
        if len(names) != len(kinds):
            raise ValueError("some features of the model have names and some have none")
        # Names need not be valid text: invalid bytes in a table's header become lone surrogates.
        texts = [name.encode("utf-8", "surrogatepass") for name in names]
        arrays["name_start"] = _starts(texts)
        arrays["names"] = np.frombuffer(b"".join(texts), dtype=np.uint8)
    return arrays


def _pack_missing_values(missing_values: MissingValues) -> dict[str, Array]:
    """Return missing values as arrays, each in the first type that holds it; no empty arrays."""
    parts: dict[str, list[int | float]] = {name: [] for name in MISSING_VALUES}
    for value in missing_values.values:
        whole = "missing_int64" if value < 2**63 else "missing_uint64"
        parts["missing_float64" if isinstance(value, float) else whole].append(value)
    return {
        name: np.array(values, dtype=MISSING_VALUES[name])
        for name, values in parts.items()
        if values
    }


def _kind_of(feature: Feature) -> int:
    if feature.kind != "wide_integer":
        return REAL if feature.kind == "real" else CATEGORICAL
    assert feature.cuts is not None
    if feature.cuts.dtype == np.int64:
        return INT64_CUTS
    if feature.cuts.dtype == np.uint64:
        return UINT64_CUTS
    raise ValueError(f"the cuts of feature {feature.name!r} are neither int64 nor uint64")


def _starts(items: list[Any]) -> npt.NDArray[np.uint64]:
    return np.cumsum([0, *map(len, items)], dtype=np.uint64)


def unpack(facts: Mapping[str, Any], arrays: Mapping[str, Array]) -> tuple[Model, dict[str, Any]]:
    """Check header entries and arrays, and return the model and the estimator's data.

    Parameters
    ----------
    facts : mapping
        As `pack` returns them, or a header; unknown keys are ignored.
    arrays : mapping of str to array
        Arrays of the types that ``sections.py`` lists.

    Returns
    -------
    model : Model
    estimator : dict

    Raises
    ------
    ModelFormatError
        If they are not a valid model.
    """
    _check_types(arrays)
    for key in _FACTS:
        if key not in facts:
            raise ModelFormatError(f"its header has no {key!r}")
    task, loss = facts["task"], facts["loss"]
    if task not in _TASKS:
        raise ModelFormatError(f"the task of its model is not one of {', '.join(_TASKS)}")
    if not isinstance(loss, str):
        raise ModelFormatError("the name of its loss is not text")
    classes, class_targets = _unpack_classes(facts["classes"], arrays.get(LABELS), task)
    base = arrays["base"]
    n_classes = None if classes is None else len(classes)
    if class_targets is not None:
        n_classes = sum(map(len, class_targets))
    joint = 0 if class_targets is None else len(class_targets)
    offset, scale = _unpack_scores(arrays, n_classes, n_targets=joint)
    features = _unpack_features(arrays)
    if not features.n and not any(name in arrays for name in LEAST_SQUARES):
        raise ModelFormatError("it has no features, and only a linear model needs none")
    real = [j for j, feature in enumerate(features) if feature.kind == "real"]
    features = features.with_crosses(unpack_crosses(arrays, real))
    target_encodings = unpack_target_encodings(
        arrays, features.n_categories_per_feature(), len(base)
    )
    features = features.with_target_encodings(target_encodings)
    n_categories = features.n_categories_per_column()
    flat = _unpack_trees(arrays, len(base))
    check_trees(flat, len(n_categories), len(base))
    check_category_sets(flat, n_categories)
    check_linear_leaves(flat, n_categories)
    check_predictions(flat, base, offset, scale)
    uncut = [j for j, f in enumerate(features) if f.cuts is not None and not len(f.cuts)]
    check_splittable(flat, uncut)
    ensemble = Ensemble.from_flat(len(n_categories), base, flat, n_categories)
    model = Model(
        task=task,
        loss=loss,
        features=features,
        ensemble=ensemble,
        offset=offset,
        scale=scale,
        classes=classes,
        train_loss=arrays["train_loss"],
        valid_loss=arrays["valid_loss"],
        targets=_unpack_targets(arrays, len(base) if classes is None else 1, class_targets),
        class_targets=class_targets,
        least_squares=unpack_least_squares(arrays, features, ensemble, offset, scale),
        row_offset=_unpack_row_offset(arrays, features),
        learned=unpack_learned(arrays),
        fold_ensembles=unpack_fold_ensembles(arrays, ensemble, uncut, offset, scale),
    )
    return model, _unpack_estimator(facts["estimator"])


def _unpack_row_offset(arrays: Mapping[str, Array], features: Features) -> RowOffset:
    found = unpack_row_offset(arrays)
    if set(found.columns) & set(features.names or ()):
        raise ModelFormatError("the column of its offset is a feature, too")
    return found


def _check_types(arrays: Mapping[str, Array]) -> None:
    for name, dtype in SECTIONS.items():
        array = arrays.get(name)
        if array is None:
            if name not in OPTIONAL and name not in _replaced(arrays):
                raise ModelFormatError(f"it has no section {name!r}")
        elif array.dtype != dtype or array.ndim != 1:
            raise ModelFormatError(f"its section {name!r} has the wrong type or shape")


def _replaced(arrays: Mapping[str, Array]) -> tuple[str, ...]:
    """Return the required sections that others replace."""
    return ("value",) if any(name in arrays for name in VECTORS) else ()


def _unpack_trees(arrays: Mapping[str, Array], n_outputs: int) -> dict[str, Array]:
    """Return the arrays of the trees; vector values have one column per output."""
    names = ("tree_start", *NODE_ARRAYS, *CATEGORY_SETS, *LINEAR_LEAVES)
    flat = {name: arrays[name] for name in names if name in arrays}
    (name,) = VECTORS
    if name in arrays:
        if "value" in flat or n_outputs < 2:
            raise ModelFormatError(
                "its trees have scalar values and vectors, or vectors for one output"
            )
        if any(line in flat for line in LINEAR_LEAVES):
            raise ModelFormatError("its trees have linear leaves and vectors")
        if len(arrays[name]) != n_outputs * len(flat["feature"]):
            raise ModelFormatError("the arrays of its trees differ in length")
        flat["value"] = arrays[name].reshape(-1, n_outputs)
    return flat


def _unpack_targets(
    arrays: Mapping[str, Array], n_outputs: int, class_targets: tuple[Array, ...] | None
) -> tuple[str, ...] | None:
    if not any(name in arrays for name in TARGETS):
        return None
    n_targets = n_outputs if class_targets is None else len(class_targets)
    if n_targets < 2:
        raise ModelFormatError("it has names of targets, but does not have several targets")
    names = _texts(arrays, tuple(TARGETS), n_targets, "target")
    return tuple(names)


def _unpack_classes(
    fact: object, array: Array | None, task: str
) -> tuple[Array | None, tuple[Array, ...] | None]:
    """Return the labels of one target, and those of several; one of them is None, or both."""
    if task == "classification":
        if isinstance(fact, dict) and "targets" in fact and array is None:
            return None, unpack_label_lists(fact)
        return unpack_labels(fact, array), None
    if fact is not None or array is not None:
        raise ModelFormatError("it is a regression model with class labels")
    return None, None


def _unpack_scores(
    arrays: Mapping[str, Array], n_classes: int | None, *, n_targets: int
) -> tuple[Any, Any]:
    """Check the constants of the model against its task; return offset and scale."""
    base, offset, scale = arrays["base"], arrays["offset"], arrays["scale"]
    n = len(base) if n_classes is None else 1
    # Several scores may describe one target, which has one offset and one scale.
    if len(offset) not in (1, n) or len(scale) != len(offset):
        raise ModelFormatError(
            "the number of its offsets or scales is not the number of its targets"
        )
    constants = (base, offset, scale)
    if not (all(np.isfinite(c).all() for c in constants) and (scale > 0).all()):
        raise ModelFormatError(
            "its base score, offset or scale is not finite, or a scale is not positive"
        )
    if n_classes is None:
        fits = len(base) >= 1
    else:
        # Two classes have one output or two; more classes have one output each.
        # Ordered classes share one, and have learned thresholds; several targets have one each, or
        # one for each class.
        shared = n_classes == 2 or "learned_values" in arrays
        fits = len(base) == n_classes or len(base) == (n_targets or int(shared))
        fits = fits and len(base) > 0
        if offset[0] != 0.0 or scale[0] != 1.0:
            raise ModelFormatError("it is a classifier with an offset or a scale")
    if not fits:
        raise ModelFormatError(f"its {len(base)} outputs do not fit its task")
    return (offset, scale) if len(offset) > 1 else (float(offset[0]), float(scale[0]))


def _unpack_features(arrays: Mapping[str, Array]) -> Features:
    kinds, cuts = arrays["feature_kind"], arrays["cuts"]
    bounds = check_features(kinds, arrays["cut_start"], cuts).tolist()
    signed = cuts.view(np.int64)
    names = _unpack_names(arrays, len(kinds))
    categories = unpack_categories(arrays, kinds)
    temporal_types = unpack_temporal_types(arrays, kinds)
    features = []
    parts = zip(names, kinds.tolist(), pairwise(bounds), categories, temporal_types, strict=True)
    for name, kind, (first, last), own, temporal_type in parts:
        if kind == REAL:
            features.append(Feature(name, "real", temporal_type=temporal_type))
        elif kind == CATEGORICAL:
            features.append(Feature(name, "categorical", None, own))
        else:
            values = signed if kind == INT64_CUTS else cuts
            features.append(
                Feature(name, "wide_integer", values[first:last], temporal_type=temporal_type)
            )
    return Features(features, _unpack_missing_values(arrays))


def _unpack_missing_values(arrays: Mapping[str, Array]) -> MissingValues:
    given = {name: arrays[name] for name in MISSING_VALUES if name in arrays}
    values = [value for array in given.values() for value in array.tolist()]
    if not np.isfinite(arrays.get("missing_float64", np.empty(0))).all():
        raise ModelFormatError("it has a missing value that is not finite")
    missing_values = MissingValues.of(values)
    expected = _pack_missing_values(missing_values)
    if given.keys() != expected.keys() or any(
        not np.array_equal(given[name], expected[name]) for name in expected
    ):
        raise ModelFormatError("its missing values are not increasing, or one has the wrong type")
    return missing_values


def _unpack_names(arrays: Mapping[str, Array], n_features: int) -> list[str] | list[None]:
    if not any(name in arrays for name in NAMES):
        return [None] * n_features
    return _texts(arrays, tuple(NAMES), n_features, "feature")


def _texts(
    arrays: Mapping[str, Array], sections: tuple[str, ...], n: int, of_what: str
) -> list[str]:
    """Return names from the section of their starts and the section of their text."""
    start, names = sections
    if any(name not in arrays for name in sections) or len(arrays[start]) != n + 1:
        raise ModelFormatError(f"it does not have a name for each {of_what}")
    text = arrays[names].tobytes()
    bounds = check_starts(arrays[start], len(text), "names").tolist()
    try:
        found = [text[a:b].decode("utf-8", "surrogatepass") for a, b in pairwise(bounds)]
    except UnicodeDecodeError:
        raise ModelFormatError(f"the name of a {of_what} is not valid text") from None
    if len(set(found)) != len(found):
        raise ModelFormatError(f"two of its {of_what}s have the same name")
    return found


def _unpack_estimator(fact: object) -> dict[str, Any]:
    if not isinstance(fact, dict):
        raise ModelFormatError("its header has no valid estimator")
    named = isinstance(fact.get("class"), str) and isinstance(fact.get("params"), dict)
    if fact and not named:
        raise ModelFormatError("the class or the parameters of its estimator are missing")
    estimator = from_json(fact)
    assert isinstance(estimator, dict)
    return estimator
