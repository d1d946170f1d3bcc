"""The ranks of conformal prediction: against a reference with loops, and their laws."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference import conformal as reference
from stagewise.conformal.conformity import Conformity
from stagewise.conformal.intervals import Centres, intervals
from stagewise.conformal.ranks import SortedScores, least_rows, needed_weight, union_quantile
from stagewise.conformal.sets import SetScore

COVERAGES = st.sampled_from(["0.05", "0.1", "0.5", "0.8", "0.9", "0.95", "0.99"])
NUMBERS = st.floats(0.0, 100.0).map(lambda x: round(x, 2))  # with ties


@given(st.lists(NUMBERS, min_size=1, max_size=60), COVERAGES)
def test_the_threshold_is_that_of_the_reference(scores: list[float], coverage: str) -> None:
    found = SortedScores.of(np.array(scores)).quantile(float(coverage))
    assert found == reference.threshold(scores, coverage)


@given(st.lists(st.tuples(NUMBERS, st.integers(1, 4)), min_size=1, max_size=30), COVERAGES)
def test_a_weight_is_a_number_of_rows(rows: list[tuple[float, int]], coverage: str) -> None:
    values, weight = (np.array(own, dtype=np.float64) for own in zip(*rows, strict=True))
    found = SortedScores.of(values, weight).quantile(float(coverage))
    repeated = SortedScores.of(np.repeat(values, weight.astype(int)))
    assert found == repeated.quantile(float(coverage))


def test_nine_rows_are_enough_for_nine_tenths() -> None:
    assert needed_weight(9.0, 0.9) == 9.0  # 10 · 0.9 in binary is more than 9
    assert least_rows(0.9) == 9
    assert SortedScores.of(np.arange(9.0)).quantile(0.9) == 8.0
    assert SortedScores.of(np.arange(8.0)).quantile(0.9) == math.inf


@given(st.integers(0, 2**31), st.integers(2, 5), COVERAGES)
def test_intervals_of_folds_are_those_of_the_reference(seed: int, k: int, coverage: str) -> None:
    rng = np.random.default_rng(seed)
    fold = rng.integers(0, k, size=int(rng.integers(20, 60))).astype(np.float64)
    scores, predicted = rng.exponential(size=len(fold)).round(2), rng.normal(size=(k, 7)).round(2)
    own = Conformity("absolute", "cv+", scores, fold=fold)
    centres = [Centres.of_mean(p) for p in predicted]
    c = float(coverage)
    if needed_weight(float(len(fold)), c) > len(fold):
        with pytest.raises(ValueError, match="needs at least"):
            intervals(own, centres, c)
        return
    found = intervals(own, centres, c)
    for i in range(7):
        each = [predicted[int(f), i] for f in fold]
        np.testing.assert_allclose(
            found[i], reference.cross_interval(each, scores, coverage), rtol=0, atol=1e-12
        )


def test_the_quantile_of_a_union_has_units_and_weights() -> None:
    rng = np.random.default_rng(0)
    scores, weight = rng.exponential(size=40), rng.integers(1, 4, size=40).astype(np.float64)
    fold = np.arange(40) % 2
    parts = [SortedScores.of(scores[fold == k], weight[fold == k]) for k in range(2)]
    centre, unit = rng.normal(size=(2, 5)), rng.exponential(size=(2, 5))
    found = union_quantile(parts, centre, unit, 0.8)
    for i in range(5):
        values = np.repeat(centre[fold, i] + unit[fold, i] * scores, weight.astype(int))
        assert found[i] == pytest.approx(reference.threshold(values.tolist(), "0.8"), rel=1e-12)


@pytest.mark.parametrize("kind", ["lac", "aps", "raps"])
@pytest.mark.parametrize("randomized", [False, True])
def test_scores_of_classes_are_those_of_the_reference(kind: str, *, randomized: bool) -> None:
    rng = np.random.default_rng(1)
    proba = rng.dirichlet(np.ones(5), size=30)
    score = SetScore(kind, randomized, 0.1, 2, seed=7)
    found = score.of_classes(proba, np.log(proba))
    u = [reference.uniform(row, 7) if randomized else 1.0 for row in np.log(proba)]
    for i in range(30):
        own = [reference.class_score(kind, proba[i], k, u[i], 0.1, 2) for k in range(5)]
        np.testing.assert_allclose(found[i], own, rtol=1e-12)


def test_conformity_scores_survive_as_numbers() -> None:
    rng = np.random.default_rng(2)
    own = Conformity(
        "raps",
        "split",
        rng.random(9),
        rng.random(9) + 0.5,
        np.arange(9.0) % 2,
        None,
        3,
        SetScore("raps", randomized=True, penalty=0.2, free_ranks=2, seed=5),
    )
    again = Conformity.of(own.learned())
    assert again is not None
    assert again.set_score == own.set_score
    assert (again.kind, again.method, again.group_column) == ("raps", "split", 3)
    for name in ("values", "weight", "group"):
        np.testing.assert_array_equal(getattr(again, name), getattr(own, name))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"conformity.facts": np.array([9.0] * 7)}, "unknown kind"),
        ({"conformity.facts": np.array([0.0])}, "incomplete"),
        ({"conformity.weight": np.ones(3)}, "differ in length"),
        ({"conformity.weight": np.zeros(9)}, "not positive"),
        ({"conformity.scores": np.full(9, np.nan)}, "not finite"),
    ],
)
def test_damaged_conformity_scores_are_refused(change: dict[str, object], message: str) -> None:
    own = Conformity("absolute", "split", np.arange(9.0))
    with pytest.raises(ValueError, match=message):
        Conformity.of({**own.learned(), **change})
