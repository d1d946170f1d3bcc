"""Gradient boosting for ranking: queries, laws, metrics, held-out queries, files and bad input."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.metrics import ndcg_score
from sklearn.model_selection import GroupKFold, KFold, cross_val_score

from reference import query_metrics as reference
from stagewise import (
    GradientBoostingRanker,
    GradientBoostingRegressor,
    InvalidParameterError,
    inspection,
    load,
    ranking_target,
)
from stagewise._native import Workers
from stagewise.inspection import permutation_importance, query_scores, scores, shap_values
from stagewise.losses import RANKING_LOSSES, LambdaNdcg, QuerySquaredError, XeNdcg
from stagewise.losses.ranking import _common_unit
from stagewise.metrics import find_metrics
from stagewise.metrics.queries import QueryMetric, RankedQueries
from stagewise.training.reading.query_reader import QueryReader

LOSSES = pytest.mark.parametrize("loss", RANKING_LOSSES)


def queries(n_queries: int = 60, seed: int = 0, features: int = 4) -> Any:
    """Return X, relevance 0 to 3 and the queries of rows, in random order."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 14, n_queries)
    qid = rng.permutation(np.repeat(np.arange(n_queries), sizes))
    X = rng.normal(size=(len(qid), features))
    level = X[:, 0] + 0.5 * X[:, 1] ** 2 + 0.4 * rng.normal(size=len(qid))
    return X, np.clip(np.floor(level + 1), 0, 3), qid


def ranker(**params: Any) -> GradientBoostingRanker:
    return GradientBoostingRanker(**{"n_estimators": 15, "learning_rate": 0.3, **params})


# ---- gains -------------------------------------------------------------------------------------


UNITLESS = [loss for loss in RANKING_LOSSES if loss != "query_squared_error"]


@pytest.mark.parametrize("loss", UNITLESS)
@pytest.mark.parametrize("unit", [2.0**-25, 2.0**166, 2.0**-166, 2.0**990])
def test_only_ratios_of_gains_matter(loss: str, unit: float) -> None:
    X, y, qid = queries()
    usual, other = (
        ranker(loss=loss, gains=[own * g for g in (0, 1, 3, 10)]).fit(X, y, qid=qid)
        for own in (1.0, unit)
    )
    np.testing.assert_array_equal(other.predict(X), usual.predict(X))
    assert np.isfinite(other.train_loss_).all()


@pytest.mark.parametrize("largest", [1.0, 3.0, 7.0, 15.0, 31.0])
def test_ordinary_gains_are_used_as_they_are(largest: float) -> None:
    gain = np.array([0.0, 0.5, largest])
    np.testing.assert_array_equal(_common_unit(gain), gain)
    np.testing.assert_array_equal(_common_unit(gain / 2**12 / largest).max(), 8.0)


# ---- negative relevance ------------------------------------------------------------------------

SIGNED = pytest.mark.parametrize("loss", ["pairwise", "query_squared_error"])


@SIGNED
def test_losses_of_differences_permit_negative_relevance(loss: str) -> None:
    X, y, qid = queries()
    plain, moved = (
        ranker(loss=loss, gains="linear", early_stopping=True).fit(X, y - shift, qid=qid)
        for shift in (0.0, 2.0)
    )
    np.testing.assert_allclose(moved.predict(X), plain.predict(X), atol=1e-5)
    assert moved.score(X, y, qid=qid) > 0.9


@SIGNED
def test_exponential_gains_of_negative_relevance_are_finite(loss: str) -> None:
    X, y, qid = queries()
    model = ranker(loss=loss).fit(X, y - 3, qid=qid)
    assert model.score(X, y, qid=qid) > 0.9


@pytest.mark.parametrize("loss", ["ndcg", "map", "softmax", "xendcg", "yetirank"])
@pytest.mark.parametrize("gains", ["linear", "exponential"])
def test_other_losses_refuse_negative_relevance(loss: str, gains: str) -> None:
    X, y, qid = queries()
    with pytest.raises(ValueError, match=f"for loss='{loss}'.*it is -0.5 at row 9; 1 of"):
        ranker(loss=loss, gains=gains).fit(X, np.where(np.arange(len(y)) == 9, -0.5, y), qid=qid)


@SIGNED
@pytest.mark.parametrize("metric", ["ndcg@5", ["map", "err"]])
def test_metrics_of_gains_refuse_negative_relevance(loss: str, metric: Any) -> None:
    X, y, qid = queries()
    name = metric if isinstance(metric, str) else metric[-1]
    with pytest.raises(ValueError, match=f"negative for eval_metric='{name}'.*in query"):
        ranker(loss=loss, eval_metric=metric, early_stopping=True).fit(X, y - 3, qid=qid)
    model = ranker(loss=loss, eval_metric="map", early_stopping=True).fit(X, y - 1, qid=qid)
    with pytest.raises(ValueError, match="negative for NDCG: in query"):
        model.score(X, y - 1, qid=qid)
    with pytest.raises(ValueError, match="negative for NDCG and the other metrics: in query"):
        query_scores(model, X, y - 1, qid=qid)


@pytest.mark.parametrize("dtype", ["U4", object])
def test_errors_have_the_text_of_a_query(dtype: Any) -> None:
    X, y, qid = queries()
    named = np.array([f"q{q}" for q in qid]).astype(dtype)
    with pytest.raises(ValueError, match=f"in query 'q{qid[0]}' it is -1 at row 0"):
        ranker().fit(X, np.where(np.arange(len(y)) == 0, -1, y), qid=named)
    with pytest.raises(ValueError, match=r"out: query 'q\d+' has"):
        ranker().fit(X, y, np.arange(len(y)) + 1.0, qid=named)


def test_a_list_of_gains_has_none_of_negative_relevance() -> None:
    X, y, qid = queries()
    with pytest.raises(ValueError, match=r"gains has 4 entries.*the relevance is -1"):
        ranker(loss="pairwise", gains=[0, 1, 3, 7]).fit(X, y - 1, qid=qid)


# ---- squared error -------------------------------------------------------------------------------


def long_and_short_queries() -> Any:
    """Return rows whose effect differs between queries of 2 and of 100 rows."""
    X = np.random.default_rng(0).normal(size=(4000, 2))
    qid = np.r_[np.repeat(np.arange(200), 2), np.repeat(200 + np.arange(36), 100)]
    return X, np.where(qid < 200, 1, -1) * np.clip(X[:, 0], -2, 2) + 3, qid


def squared(**params: Any) -> GradientBoostingRanker:
    return ranker(loss="query_squared_error", gains="linear", **params)


def test_the_squared_error_counts_rows_and_falls() -> None:
    X, y, qid = long_and_short_queries()
    weight = np.where(qid % 2 == 0, 2.0, 1.0)
    model = squared(sampling="uniform", learning_rate=0.1).fit(X, y, weight, qid=qid)
    assert (np.diff(model.train_loss_) < 0).all()
    left = y - model.predict(X)
    left -= (np.bincount(qid, left) / np.bincount(qid))[qid]
    assert model.train_loss_[-1] == pytest.approx(0.5 * np.average(left**2, weights=weight))
    target = _target(y, qid)
    losses = QuerySquaredError().loss(target, model.predict(X)[:, np.newaxis])
    assert losses.mean() == pytest.approx(0.5 * (left**2).mean())
    stopped = squared(n_estimators=60, early_stopping=True).fit(X, y, qid=qid)
    assert stopped.n_iter_ > 5


@pytest.mark.parametrize("constant", [1e5, 1.7e9])
def test_a_constant_of_the_relevance_changes_nothing(constant: float) -> None:
    X, y, qid = queries()
    plain = squared().fit(X, y, qid=qid).predict(X)
    np.testing.assert_allclose(squared().fit(X, y + constant, qid=qid).predict(X), plain, atol=1e-5)


@pytest.mark.parametrize("unit", [2.0**-50, 2.0**-33, 2.0**31, 2.0**50])
@pytest.mark.parametrize("params", [{}, {"response": "gradient"}, {"sampling": "goss"}])
def test_squared_errors_have_the_unit_of_the_relevance(unit: float, params: dict[str, Any]) -> None:
    X, y, qid = queries()
    plain, other = (squared(**params).fit(X, own * y, qid=qid) for own in (1.0, unit))
    np.testing.assert_array_equal(other.predict(X) / unit, plain.predict(X))
    np.testing.assert_array_equal(other.train_loss_ / unit**2, plain.train_loss_)


def test_biases_of_positions_have_the_unit_of_the_relevance() -> None:
    X, y, qid, position, _ = clicks(100)
    biases = [
        squared().fit(X, own * y, qid=qid, position=position).position_bias_
        for own in (1.0, 2.0**-50, 2.0**50)
    ]
    assert biases[1][1] * 2.0**50 == pytest.approx(biases[0][1], rel=1e-5)
    assert biases[2][1] / 2.0**50 == pytest.approx(biases[0][1], rel=1e-5)


@pytest.mark.parametrize("unit", [1e-25, 1e25, 1e300])
def test_relevance_of_an_extreme_unit_is_refused(unit: float) -> None:
    X, y, qid = queries()
    with pytest.raises(ValueError, match="Divide the relevance by a constant, and multiply"):
        squared().fit(X, unit * y, qid=qid)


def test_queries_with_gains_of_any_size_count_the_same() -> None:
    X, y, qid = queries()
    gain = np.array([0.0, 1.0, 3.0, 7.0])[y.astype(int)]
    unit = np.where(qid % 2 == 0, 2.0**60, 2.0**-200)
    losses = [LambdaNdcg().query_loss(_target(gain * own, qid)) for own in (1.0, unit)]
    score = X[:, 0] + 0.1 * X[:, 1]
    found = [np.empty((2, len(gain))) for _ in losses]
    for loss, (gradient, hessian) in zip(losses, found, strict=True):
        loss.evaluate(Workers(1), score, gradient, hessian, np.zeros(loss.n_queries))
    np.testing.assert_array_equal(found[0], found[1])


def _target(gain: Any, qid: Any) -> Any:
    target = np.empty(len(gain), dtype=[("gain", np.float64), ("query", np.int64)])
    target["gain"], target["query"] = gain, qid
    return target


# ---- fits --------------------------------------------------------------------------------------


@LOSSES
def test_every_loss_ranks_better_than_chance(loss: str) -> None:
    X, y, qid = queries()
    model = ranker(loss=loss).fit(X, y, qid=qid)
    chance = np.mean([_ndcg(np.random.default_rng(s).normal(size=len(y)), y, qid) for s in (1, 2)])
    assert model.score(X, y, qid=qid) > chance + 0.15
    assert model.train_loss_[-1] < model.train_loss_[0]
    assert model.predict(X).shape == (len(X),)


def _ndcg(score: np.ndarray, y: np.ndarray, qid: np.ndarray) -> float:
    target = QueryReader("a ranker").read(ranking_target(y, qid=qid), None, len(y)).y
    return QueryMetric("ndcg")(target, score, None)


@LOSSES
def test_sizes_are_queries_of_consecutive_rows(loss: str) -> None:
    X, y, qid = queries()
    order = np.argsort(qid, kind="stable")
    sizes = np.bincount(qid)
    by_sizes = ranker(loss=loss).fit(X[order], y[order], query_sizes=sizes)
    by_qid = ranker(loss=loss).fit(X[order], y[order], qid=qid[order])
    assert by_sizes.fingerprint() == by_qid.fingerprint()


@LOSSES
def test_names_of_queries_do_not_matter(loss: str) -> None:
    X, y, qid = queries()
    text = np.array([f"query {999 - q}" for q in qid])
    plain = ranker(loss=loss).fit(X, y, qid=qid)
    named = ranker(loss=loss).fit(X, y, qid=text)
    if loss == "yetirank":  # its random numbers depend on the order of the queries
        assert named.score(X, y, qid=qid) == pytest.approx(plain.score(X, y, qid=qid), abs=0.03)
        return
    np.testing.assert_array_equal(named.predict(X), plain.predict(X))


@LOSSES
def test_the_order_of_the_rows_does_not_matter(loss: str) -> None:
    X, y, qid = queries()
    order = np.random.default_rng(3).permutation(len(y))
    own = {"sampling": "uniform", "loss": loss}
    plain = ranker(**own).fit(X, y, qid=qid).predict(X)
    moved = ranker(**own).fit(X[order], y[order], qid=qid[order]).predict(X)
    np.testing.assert_allclose(moved, plain, atol=0.02)


@LOSSES
def test_threads_change_no_bit(loss: str) -> None:
    X, y, qid = queries(400)
    models = [ranker(loss=loss, n_jobs=n).fit(X, y, qid=qid) for n in (1, 2, 3)]
    assert len({model.fingerprint() for model in models}) == 1


@LOSSES
def test_weight_2_is_the_query_twice(loss: str) -> None:
    X, y, qid = queries()
    twice = qid % 3 == 0
    weight = np.where(twice, 2.0, 1.0)
    own = {"sampling": "uniform", "loss": loss}
    weighted = ranker(**own).fit(X, y, weight, qid=qid)
    repeated = ranker(**own).fit(
        np.concatenate([X, X[twice]]),
        np.concatenate([y, y[twice]]),
        qid=np.concatenate([qid, qid[twice] + 1000]),
    )
    if loss == "yetirank":  # the copy of a query has random orders of its own
        assert np.corrcoef(weighted.predict(X), repeated.predict(X))[0, 1] > 0.95
        return
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), atol=0.02)
    np.testing.assert_allclose(weighted.train_loss_, repeated.train_loss_, atol=5e-3)


def test_weight_2_is_the_query_twice_with_biases_of_positions() -> None:
    X, y, qid, position, _ = clicks(100)
    twice = qid % 3 == 0
    position = position + 20 * (qid % 2)  # the queries have positions of their own
    weight = np.where(twice, 2.0, 1.0)
    rows = np.r_[np.arange(len(y)), np.flatnonzero(twice)]
    again = np.r_[qid, qid[twice] + 1000]
    loss = XeNdcg(position_regularization=0.5)
    own = {"sampling": "uniform", "loss": loss}
    weighted = ranker(**own).fit(X, y, weight, qid=qid, position=position)
    repeated = ranker(**own).fit(X[rows], y[rows], qid=again, position=position[rows])
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), atol=1e-4)
    assert weighted.position_bias_ == pytest.approx(repeated.position_bias_, abs=1e-6)


@LOSSES
def test_weight_0_is_the_absence_of_rows(loss: str) -> None:
    X, y, qid = queries()
    kept = (qid % 5 > 0) & (np.arange(len(y)) % 7 > 0)
    weighted = ranker(loss=loss, sampling="uniform").fit(X, y, kept.astype(float), qid=qid)
    absent = ranker(loss=loss, sampling="uniform").fit(X[kept], y[kept], qid=qid[kept])
    np.testing.assert_array_equal(weighted.predict(X), absent.predict(X))


@LOSSES
def test_a_constant_offset_of_a_query_changes_nothing(loss: str) -> None:
    X, y, qid = queries()
    offset = np.random.default_rng(0).integers(-3, 4, 60)[qid].astype(float)
    plain = ranker(loss=loss, sampling="uniform").fit(X, y, qid=qid)
    moved = ranker(loss=loss, sampling="uniform").fit(X, y, qid=qid, offset=offset)
    np.testing.assert_allclose(moved.predict(X, offset=0), plain.predict(X), atol=1e-3)


def test_a_good_offset_leaves_less_to_learn() -> None:
    X, y, qid = queries()
    model = ranker(n_estimators=1).fit(X, y, qid=qid, offset=5 * y)
    assert model.train_loss_[0] < 1e-6
    assert model.score(X, y, qid=qid, offset=5 * y) == pytest.approx(1.0)


@pytest.mark.parametrize(
    "params",
    [
        {"sampling": "group", "subsample": 0.6},
        {"sampling": "group", "subsample": 0.6, "oob_score": True},
        {"sampling": "goss"},
        {"sampling": "mvs"},
        {"dropout": "dart"},
        {"leaves": "linear"},
        {"response": "gradient"},
        {"grow_policy": "symmetric"},
        {"monotonic_cst": [1, 0, 0, 0]},
    ],
)
def test_other_parameters_of_boosting_work(params: dict[str, Any]) -> None:
    X, y, qid = queries()
    model = ranker(**params).fit(X, y, qid=qid)
    assert model.score(X, y, qid=qid) > 0.8


def test_categories_are_split_and_target_encoded() -> None:
    X, y, qid = queries(200)
    rng = np.random.default_rng(0)
    town = rng.integers(0, 80, len(y))
    better = np.clip(y + (town % 4 == 0), 0, 3)
    table = np.column_stack([X, town])
    model = ranker(categorical_features=[4]).fit(table, better, qid=qid)
    assert model.fit_report_["category_encoding"] == "target"
    assert model.score(table, better, qid=qid) > ranker().fit(X, better, qid=qid).score(
        X, better, qid=qid
    )


def test_a_continued_fit_equals_one_fit() -> None:
    X, y, qid = queries()
    whole = ranker(n_estimators=12, learning_rate=0.2).fit(X, y, qid=qid)
    part = ranker(n_estimators=5, learning_rate=0.2, warm_start=True).fit(X, y, qid=qid)
    part.set_params(n_estimators=12).fit(X, y, qid=qid)
    assert part.fingerprint() == whole.fingerprint()


def test_refit_takes_queries() -> None:
    X, y, qid = queries()
    model = ranker().fit(X, y, qid=qid)
    again = model.refit(X, y, qid=qid, decay=0.5)
    assert again.score(X, y, qid=qid) > 0.8


# ---- the target --------------------------------------------------------------------------------


def test_a_target_with_queries_can_be_divided_as_an_array() -> None:
    X, y, qid = queries()
    target = ranking_target(y, qid=qid)
    plain = ranker().fit(X, y, qid=qid)
    assert ranker().fit(X, target).fingerprint() == plain.fingerprint()
    assert plain.score(X, target) == plain.score(X, y, qid=qid)
    found = cross_val_score(ranker(), X, target, groups=qid, cv=GroupKFold(3))
    assert (found > 0.75).all()


def test_gains_are_those_of_the_grades() -> None:
    X, y, qid = queries()
    table = ranker(gains=[0.0, 1.0, 3.0, 7.0]).fit(X, y, qid=qid)
    assert table.predict(X).tolist() == ranker().fit(X, y, qid=qid).predict(X).tolist()
    linear = ranker(gains="linear").fit(X, y, qid=qid)
    assert linear.predict(X).tolist() != table.predict(X).tolist()


def test_the_score_is_that_of_scikit_learn() -> None:
    X, y, qid = queries()
    model = ranker(n_estimators=2).fit(X, y, qid=qid)
    score, found = model.predict(X), []
    for q in np.unique(qid):
        own = qid == q
        if y[own].any():
            found.append(ndcg_score([2 ** y[own] - 1], [score[own]], k=5))
    assert model.score(X, y, qid=qid, k=5) == pytest.approx(np.mean(found))


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), k=st.sampled_from([None, 1, 3, 10]), levels=st.integers(1, 20))
def test_metrics_equal_loops_over_rows(seed: int, k: int | None, levels: int) -> None:
    rng = np.random.default_rng(seed)
    n = 40
    relevance, qid = rng.integers(0, 4, n) * rng.integers(0, 2, n), rng.integers(0, 6, n)
    score = rng.integers(0, levels, n).astype(float)
    y = QueryReader("a ranker").read(ranking_target(relevance, qid=qid), None, n).y
    ranked = RankedQueries.of(y, score)
    largest = y["gain"].max()
    for place, q in enumerate(ranked.queries):
        gain, own = y["gain"][y["query"] == q], score[y["query"] == q]
        if not gain.any():
            assert np.isnan(ranked.values("ndcg", k)[place])
            continue
        expected = {
            "ndcg": reference.ndcg(gain, own, k),
            "map": reference.average_precision(gain, own, k),
            "mrr": reference.reciprocal_rank(gain, own, k),
            "err": reference.err(gain, own, largest, k),
        }
        for kind, value in expected.items():
            assert ranked.values(kind, k)[place] == pytest.approx(value)


# ---- held-out queries --------------------------------------------------------------------------


def test_fractions_hold_out_whole_queries() -> None:
    X, y, qid = queries()
    model = ranker(early_stopping=True, validation_fraction=0.25).fit(X, y, qid=qid)
    held = model.held_out_rows_
    others = np.setdiff1d(np.arange(len(y)), held)
    assert not set(qid[held]) & set(qid[others])
    assert len(set(qid[held])) == 15


def test_folds_hold_out_whole_queries() -> None:
    X, y, qid = queries()
    model = ranker(early_stopping="cv").fit(X, y, qid=qid)
    assert np.isfinite(model.oof_prediction_).all()
    assert model.fit_report_["round_choice"]["folds"] == 5
    with pytest.raises(ValueError, match="fold 1 of cv divides"):
        ranker(early_stopping=list(KFold(3).split(X))).fit(X, y, qid=qid)


def test_the_number_of_rounds_is_chosen_by_held_out_queries() -> None:
    X, y, qid = queries(100)
    model = GradientBoostingRanker(time_limit=30).fit(X, y, qid=qid)
    assert 1 <= model.n_iter_ < 3000
    test = queries(100, seed=1)
    assert model.score(test[0], test[1], qid=test[2]) > 0.85


def test_metrics_of_validation_queries_stop_the_fit() -> None:
    X, y, qid = queries(100)
    A, b, c = queries(40, seed=1)
    model = ranker(n_estimators=300, eval_metric=["ndcg@5", "map", "mrr@10", "err"])
    model.fit(X, y, qid=qid, X_val=A, y_val=b, qid_val=c)
    assert model.n_iter_ < 300
    evals = model.evals_result_["valid"]
    assert list(evals) == ["loss", "ndcg@5", "map", "mrr@10", "err"]
    best = model.n_iter_ - 1
    assert evals["ndcg@5"][best] == max(evals["ndcg@5"])
    assert evals["ndcg@5"][best] == pytest.approx(model.score(A, b, qid=c, k=5))


def test_sets_have_their_queries() -> None:
    X, y, qid = queries(100)
    A, b, c = queries(40, seed=1)
    order = np.argsort(c, kind="stable")
    sizes = {"X": A[order], "y": b[order], "query_sizes": np.bincount(c)}
    sets = {"plain": (A, b, c), "sizes": sizes, "target": (A, ranking_target(b, qid=c))}
    model = ranker(eval_metric="ndcg").fit(X, y, qid=qid, eval_set=sets)
    found = [model.evals_result_[name]["ndcg"] for name in sets]
    np.testing.assert_allclose(found[1], found[0])
    np.testing.assert_allclose(found[2], found[0])
    watched = ranker().fit(X, y, qid=qid, eval_set=[(X, y, qid), (A, b, c)])
    assert list(watched.evals_result_) == ["train", "valid_1"]


# ---- files and explanations --------------------------------------------------------------------


@LOSSES
def test_files_and_pickles_keep_the_model(loss: str, tmp_path: Any) -> None:
    X, y, qid = queries()
    model = ranker(loss=loss, gains=[0, 1, 2, 5], eval_metric="ndcg@5", early_stopping=True)
    model.fit(X, y, qid=qid)
    model.save(tmp_path / "model.stgw")
    for again in (load(tmp_path / "model.stgw"), pickle.loads(pickle.dumps(model))):
        assert again.fingerprint() == model.fingerprint()
        assert again.model_.task == "ranking"
        np.testing.assert_array_equal(again.predict(X), model.predict(X))
        assert again.score(X, y, qid=qid) == model.score(X, y, qid=qid)
    assert load(tmp_path / "model.stgw").get_params() == {
        **model.get_params(),
        "gains": [0, 1, 2, 5],
    }


def test_a_loss_object_is_saved(tmp_path: Any) -> None:
    X, y, qid = queries()
    model = ranker(loss=LambdaNdcg(truncation=3, sigmoid=2.0)).fit(X, y, qid=qid)
    model.save(tmp_path / "model.stgw")
    assert load(tmp_path / "model.stgw").loss == LambdaNdcg(truncation=3, sigmoid=2.0)


def test_shapley_values_add_up_to_the_score() -> None:
    X, y, qid = queries()
    model = ranker().fit(X, y, qid=qid)
    found = shap_values(model, X[:20])
    whole = found.values.reshape(20, -1).sum(axis=1) + np.ravel(found.base_values)
    np.testing.assert_allclose(whole, model.predict(X[:20]), atol=1e-6)


def test_scores_of_queries_have_confidence_limits() -> None:
    X, y, qid = queries(200)
    model = ranker(n_estimators=5).fit(X, y, qid=qid)
    found = query_scores(model, X, y, qid=qid, metrics=["ndcg@5", "map"])
    assert found.names == ("ndcg@5", "map")
    score = found["ndcg@5"]
    assert score.value == pytest.approx(model.score(X, y, qid=qid, k=5))
    assert score.baseline < score.low < score.value < score.high
    values = found.values[:, 0][~np.isnan(found.values[:, 0])]
    error = values.std(ddof=1) / np.sqrt(len(values))
    assert (score.high - score.low) / 2 == pytest.approx(1.96 * error, rel=0.15)
    rows = found.table()
    assert rows[0]["ndcg@5"] == np.nanmin(found.values[:, 0])
    assert sum(row["rows"] for row in rows) == len(X)
    whole = scores(model, X, ranking_target(y, qid=qid))
    assert whole["ndcg"].value == pytest.approx(model.score(X, y, qid=qid))
    few = query_scores(model, X[qid < 5], y[qid < 5], qid=qid[qid < 5])
    assert few["ndcg"].low <= few["ndcg"].value <= few["ndcg"].high
    assert "random order" in found.plot().get_legend().get_texts()[1].get_text()


def test_weights_count_in_the_scores_of_queries() -> None:
    X, y, qid = queries()
    model = ranker(n_estimators=5).fit(X, y, qid=qid)
    weight = np.where(qid % 2 == 0, 3.0, 0.0)
    weighted = query_scores(model, X, y, qid=qid, sample_weight=weight)
    part = query_scores(model, X[qid % 2 == 0], y[qid % 2 == 0], qid=qid[qid % 2 == 0])
    assert weighted["map"].value == pytest.approx(part["map"].value)


def test_scores_of_queries_refuse_other_models() -> None:
    X, y, qid = queries()
    model = ranker(n_estimators=2).fit(X, y, qid=qid)
    with pytest.raises(TypeError, match="needs a fitted GradientBoostingRanker"):
        query_scores(GradientBoostingRegressor(n_estimators=2).fit(X, y), X, y)
    with pytest.raises(InvalidParameterError, match="metrics must be among 'ndcg'"):
        query_scores(model, X, y, qid=qid, metrics="auc")
    with pytest.raises(ValueError, match="No query has a row"):
        query_scores(model, X, 0 * y, qid=qid)


def test_permutation_decreases_a_metric() -> None:
    X, y, qid = queries(150)
    model = ranker().fit(X, y, qid=qid)
    found = permutation_importance(model, X, ranking_target(y, qid=qid), loss="ndcg@5")
    assert found.unit == "decrease of ndcg@5"
    assert found.order[0] == 0


def test_a_plain_ranker_has_symmetric_trees_unless_a_parameter_forbids_them() -> None:
    assert "symmetric" in GradientBoostingRanker(n_estimators=9).recipe()
    assert "MVS (0.8" in GradientBoostingRanker(n_estimators=9).recipe()
    for params in ({"max_depth": 3}, {"max_leaf_nodes": 8}, {"split": "exact"}):
        assert "best-first" in GradientBoostingRanker(n_estimators=9, **params).recipe()
    X, y, qid = queries()
    few = ranker().fit(X, y, qid=qid)
    assert "at most 31 leaves" in few.recipe()
    assert "λ=3" in few.recipe()


def test_the_defaults_of_a_plain_ranker_count_weights() -> None:
    X, y, qid = queries(800)
    n = len(y)
    assert 5000 < n < 10_000
    many = ranker(n_estimators=2).fit(X, y, np.full(n, 2.0), qid=qid)
    assert "at most 64 leaves" in many.recipe()
    rows = np.r_[np.arange(n), np.arange(n)]
    twice = ranker(n_estimators=2).fit(X[rows], y[rows], qid=np.r_[qid, qid + n])
    assert twice.recipe() == many.recipe()
    half = ranker(n_estimators=2).fit(X[rows], y[rows], np.repeat([1, 0], n), qid=qid[rows])
    assert "at most 31 leaves" in half.recipe()


def test_the_recipe_and_a_clone_have_the_parameters() -> None:
    model = ranker(loss="map", truncation=7)
    assert clone(model).get_params() == model.get_params()
    assert "map" in model.recipe()


# ---- bad input ---------------------------------------------------------------------------------


def test_bad_input_is_refused() -> None:
    X, y, qid = queries()
    target = ranking_target(y, qid=qid)
    cases: list[tuple[dict[str, Any], str]] = [
        ({"qid": None}, "needs the query of every row. Pass qid.*such as the search, the page"),
        ({"qid": qid[:-1]}, "qid has shape"),
        ({"qid": np.where(np.arange(len(y)) == 7, np.nan, qid)}, "qid contains missing.*at row 7"),
        ({"query_sizes": [3, 4], "qid": None}, "query_sizes add up to 7 rows, but there are"),
        ({"query_sizes": [len(y), 0], "qid": None}, "entry 1 is 0"),
        ({"query_sizes": [len(y)]}, "Pass qid or query_sizes, not both"),
        (
            {"y": np.where(np.arange(len(y)) == 5, -1, y)},
            f"negative for loss='ndcg' .*permit it.*in query {qid[5]} it is -1 at row 5",
        ),
        ({"y": y + 40}, "at row 0, above 31"),
        ({"y": np.where(np.arange(len(y)) == 5, np.nan, y)}, "missing, the first at row 5"),
        ({"y": np.zeros(len(y))}, "nothing can be ranked: none of the 60 queries"),
        ({"qid": np.arange(len(y))}, "nothing can be ranked"),
        ({"sample_weight": np.arange(len(y)) + 1.0}, "same for all rows of a query"),
        ({"sample_weight": np.zeros(len(y))}, "at least one non-zero"),
        ({"y": target}, "must not be passed, too"),
        ({"X_val": X, "y_val": y}, "In y_val.*needs the query of every row"),
        ({"X_val": X, "y_val": y, "qid_val": qid[1:]}, "In y_val, qid_val.*qid has shape"),
        ({"eval_set": [(X, y)]}, "In eval_set 'valid_0'.*needs the query"),
        ({"eval_set": [(X, y, qid, None, 1)]}, "must be \\(X, y, qid\\)"),
    ]
    for change, message in cases:
        arguments = {"X": X, "y": y, "qid": qid, **change}
        with pytest.raises((TypeError, ValueError), match=message):
            ranker().fit(**arguments)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"loss": "lambdarank"}, "the name of LightGBM; here it is 'ndcg'"),
        ({"loss": "squared_error"}, "must be one of 'ndcg', 'map'"),
        ({"loss": "cox"}, "here it is GradientBoostingSurvival"),
        ({"loss": "softmax", "truncation": 3}, "is for loss='ndcg' or 'map' or 'pairwise'"),
        ({"loss": LambdaNdcg(), "truncation": 3}, "Pass it to the loss"),
        ({"truncation": 0}, "'truncation' of GradientBoostingRanker must be"),
        ({"gains": "squares"}, "'gains' of GradientBoostingRanker must be 'exponential'"),
        ({"gains": [0, 1]}, "gains has 2 entries"),
        ({"oob_score": True, "subsample": 0.5}, "set sampling='group'"),
        ({"leaves": "vector"}, "a ranker has one"),
        ({"eval_metric": "rmse", "early_stopping": True}, "'rmse' is a metric of regression"),
        ({"eval_metric": "ndcg@0", "early_stopping": True}, "must be one of 'ndcg', 'map'"),
        ({"eval_metric": "NDCG@10", "early_stopping": True}, "Did you mean 'ndcg@10'"),
        ({"sampling": "group", "subsample": 1.0}, "must be below 1 with sampling='group'"),
    ],
)
def test_bad_parameters_are_refused(params: dict[str, Any], message: str) -> None:
    X, y, qid = queries()
    with pytest.raises((InvalidParameterError, ValueError), match=message):
        ranker(**params).fit(X, y, qid=qid)


def test_metrics_of_rankings_are_for_rankers() -> None:
    with pytest.raises(InvalidParameterError, match="'ndcg@10' is a metric of ranking"):
        find_metrics("ndcg@10", "regression")
    metric = find_metrics("ndcg@10", "ranking")[0]
    assert pickle.loads(pickle.dumps(metric)) is metric


# ---- positions ---------------------------------------------------------------------------------


def clicks(n_queries: int = 400, seed: int = 0) -> Any:
    """Return X, clicks, queries, positions and the true relevance of a simulated search engine.

    Rows are shown in the order of a poor ranker, and are examined with probability 1 / position.
    """
    rng = np.random.default_rng(seed)
    n = 10 * n_queries
    X = rng.normal(size=(n, 3))
    qid = np.repeat(np.arange(n_queries), 10)
    relevance = 1 / (1 + np.exp(-2 * X[:, 0]))
    shown = (X[:, 1] + 0.5 * rng.normal(size=n)).reshape(-1, 10)  # by an irrelevant feature
    position = np.argsort(np.argsort(-shown, axis=1), axis=1).ravel() + 1
    clicked = rng.random(n) < relevance / position
    return X, clicked.astype(float), qid, position, relevance


@LOSSES
def test_biases_of_positions_are_estimated(loss: str) -> None:
    X, y, qid, position, relevance = clicks()
    model = ranker(loss=loss, n_estimators=30, learning_rate=0.1)
    corrected = model.fit(X, y, qid=qid, position=position)
    bias = corrected.position_bias_
    assert list(bias) == list(range(1, 11))
    assert bias[1] > bias[2] > bias[5] > bias[10]
    plain = clone(model).fit(X, y, qid=qid)
    with pytest.raises(AttributeError, match="fitted without position"):
        _ = plain.position_bias_
    truth = ranking_target(relevance, qid=qid)
    assert corrected.score(X, truth, k=3) > plain.score(X, truth, k=3)


def test_files_have_the_biases_of_positions(tmp_path: Any) -> None:
    X, y, qid, position, _ = clicks(100)
    model = ranker().fit(X, ranking_target(y, qid=qid, position=position))
    model.save(tmp_path / "model.stgw")
    assert load(tmp_path / "model.stgw").position_bias_ == model.position_bias_
    with pytest.raises(InvalidParameterError, match="position cannot be combined with warm_start"):
        ranker(warm_start=True).fit(X, y, qid=qid, position=position)
    with pytest.raises(ValueError, match="position is nan at row 0"):
        ranker().fit(X, y, qid=qid, position=np.full(len(y), np.nan))


def test_folds_measure_rows_without_their_positions() -> None:
    X, y, qid, position, _ = clicks(100)
    model = ranker(early_stopping="cv", loss="softmax").fit(X, y, qid=qid, position=position)
    assert model.n_iter_ >= 1
    assert model.position_bias_[1] > model.position_bias_[10]


@pytest.mark.parametrize("k", [0, -3, 1.5, True, "a"])
def test_the_k_of_score_is_validated(k: Any) -> None:
    X, y, qid = queries(10)
    model = ranker(n_estimators=2).fit(X, y, qid=qid)
    with pytest.raises(InvalidParameterError, match="k must be"):
        model.score(X, y, qid=qid, k=k)


def test_fewer_queries_than_folds_are_refused() -> None:
    X, y, qid = queries(3)
    with pytest.raises(ValueError, match=r"at least 5 queries.*there are 3\. Set early"):
        ranker(early_stopping="cv").fit(X, y, qid=qid)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"group": [1]}, "Here it is query_sizes"),
        ({"groups": [1]}, "Here it is qid"),
        ({"group_id": [1]}, "Here it is qid"),
        ({"query_sizes": [np.inf]}, "list of whole numbers"),
        ({"qid": np.nan}, "qid is missing"),
    ],
)
def test_wrong_queries_have_a_remedy(given: dict[str, Any], message: str) -> None:
    X, y, _ = queries(5)
    with pytest.raises((TypeError, ValueError), match=message):
        ranker().fit(X, y, **given)


def test_evaluation_rows_without_queries_have_their_own_remedy() -> None:
    X, y, qid = queries(5)
    with pytest.raises(ValueError, match=r"Pass \(X, y, qid\)"):
        ranker().fit(X, y, qid=qid, eval_set=[(X, y)])
    with pytest.raises(ValueError, match="Pass qid_val="):
        ranker().fit(X, y, qid=qid, X_val=X, y_val=y)


@pytest.mark.parametrize("name", ["residuals", "lift", "calibration", "confusion_matrix"])
def test_measures_of_numbers_refuse_rankings(name: str) -> None:
    X, y, qid = queries(10)
    model = ranker(n_estimators=2).fit(X, y, qid=qid)
    with pytest.raises(InvalidParameterError, match=r"Use stagewise\.inspection"):
        getattr(inspection, name)(model, X, ranking_target(y, qid=qid))
