"""The sets of evaluation rows of rankers: the queries become a part of y."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stagewise.data.ranking import (
    NEEDS_QUERIES_OF_SET,
    is_ranking_target,
    ranking_target,
)
from stagewise.validation.messages import short_repr

__all__ = ["ranked_eval_sets"]

FORMS = "(X, y, qid), (X, y, qid, weight), or a mapping of X, y, qid and sample_weight"


def ranked_eval_sets(
    value: Any, X: Any, y: Any, target: Any, sample_weight: Any, qid: Any, query_sizes: Any
) -> Any:
    """Return the argument `eval_set` with ranking targets in the place of relevance and queries.

    Parameters
    ----------
    value : None, list, tuple or mapping
        A set, several, or several by name; see `GradientBoostingRanker.fit`.
    X, y, sample_weight, qid, query_sizes
        The training rows as they were passed.
    target : structured array
        Their target: a set of the same objects gets this object, and is the training rows.
    """
    if value is None:
        return None

    def converted(name: str, own: Any) -> Any:
        parts = _parts(name, own)
        same = parts["X"] is X and parts["y"] is y
        same &= parts.get("qid") is qid and parts.get("query_sizes") is query_sizes
        queries = {key: parts.pop(key, None) for key in ("qid", "query_sizes")}
        if same and not is_ranking_target(y):
            return {**parts, "y": target}
        if is_ranking_target(parts["y"]):
            return parts
        if all(given is None for given in queries.values()):
            raise ValueError(f"In eval_set {name!r}: {NEEDS_QUERIES_OF_SET}")
        try:
            return {**parts, "y": ranking_target(parts["y"], **queries)}
        except (TypeError, ValueError) as error:
            raise type(error)(f"In eval_set {name!r}: {error}") from None

    if isinstance(value, Mapping) and not {"X", "y"} <= set(value):
        return {name: converted(str(name), own) for name, own in value.items()}
    is_one = isinstance(value, Mapping) or (
        isinstance(value, tuple) and not all(isinstance(v, (tuple, Mapping)) for v in value)
    )
    sets = [value] if is_one else list(value)
    return [converted(f"valid_{place}", own) for place, own in enumerate(sets)]


def _parts(name: str, own: Any) -> dict[str, Any]:
    """Return one set as a mapping."""
    if isinstance(own, Mapping):
        if not {"X", "y"} <= set(own):
            raise ValueError(f"A set of eval_set must be {FORMS}; {name!r} has {', '.join(own)}.")
        return dict(own)
    if not isinstance(own, (tuple, list)) or not 2 <= len(own) <= 4:
        raise TypeError(f"A set of eval_set must be {FORMS}; {name!r} is {short_repr(own)}.")
    X, y, *others = own
    keys = ("sample_weight",) if is_ranking_target(y) else ("qid", "sample_weight")
    if len(others) > len(keys):
        raise TypeError(f"A set of eval_set must be {FORMS}; {name!r} has {len(own)} parts.")
    return {"X": X, "y": y, **dict(zip(keys, others, strict=False))}
