"""Losses of ranked documents, against loops over queries and pairs."""

import threading
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import ndcg_score

from reference import query_loss as reference
from stagewise._native import Cancellation, QueryLoss, Workers, set_cancellation, supported_isas

pytestmark = pytest.mark.native

METRICS = ("ndcg", "map", "pairs")
ALL = (*METRICS, "softmax", "xendcg", "yetirank", "squared")


def query_loss(gain, query, metric, **rules):
    usual = {"sigmoid": 1.0, "truncation": 0, "normalise": True, "orders": 10, "decay": 0.99}
    return QueryLoss(gain, query, metric, **(usual | rules))


def evaluate(gain, query, score, metric, workers=None, **rules):
    loss = query_loss(gain, query, metric, **rules)
    gradient, hessian = np.full((2, len(gain)), np.nan)
    losses = np.full(loss.n_queries, np.nan)
    loss.evaluate(workers or Workers(1), score, gradient, hessian, losses)
    return gradient, hessian, losses


def queries(seed, n=300, n_queries=17):
    rng = np.random.default_rng(seed)
    relevance = rng.integers(0, 5, n)
    return 2.0**relevance - 1, rng.integers(0, n_queries, n).astype(np.int32), rng.normal(size=n)


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    metric=st.sampled_from(METRICS),
    truncation=st.sampled_from([0, 1, 3, 30]),
    sigmoid=st.sampled_from([1.0, 2.0]),
    normalise=st.booleans(),
)
def test_pairwise_losses_equal_loops_over_pairs(seed, metric, truncation, sigmoid, normalise):
    gain, query, score = queries(seed, n=90, n_queries=6)
    rules = {"truncation": truncation, "sigmoid": sigmoid, "normalise": normalise}
    gradient, hessian, losses = evaluate(gain, query, score, metric, **rules)
    for q in range(6):
        rows = query == q
        own, curve, loss = reference.pairwise(gain[rows], score[rows], metric, **rules)
        np.testing.assert_allclose(gradient[rows], own, rtol=2e-4, atol=2e-6)
        np.testing.assert_allclose(hessian[rows], curve, rtol=2e-4, atol=2e-6)
        if metric == "pairs":
            assert losses[q] == pytest.approx(loss, rel=1e-4, abs=1e-6)
        if metric == "ndcg":
            expected = 1 - reference.ndcg_of_ties(gain[rows], score[rows], truncation)
            assert losses[q] == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("truncation", [0, 5])
@pytest.mark.parametrize("n", [17, 129, 200])
@pytest.mark.parametrize("rare", [0.0, 1.0, 3.0])
def test_pairs_of_rare_gains_equal_loops_over_pairs(metric, truncation, n, rare):
    rng = np.random.default_rng(n)
    gain = np.where(rng.random(n) < 0.06, rare, 1.0 if rare == 0.0 else 0.0)
    gain[3] = 2.0
    score = rng.normal(size=n)
    found = evaluate(gain, np.zeros(n, np.int32), score, metric, truncation=truncation)
    own, curve, loss = reference.pairwise(gain, score, metric, truncation=truncation)
    np.testing.assert_allclose(found[0], own, rtol=2e-4, atol=2e-6)
    np.testing.assert_allclose(found[1], curve, rtol=2e-4, atol=2e-6)
    if metric == "pairs":
        assert found[2][0] == pytest.approx(loss, rel=1e-4)


def test_pairs_depend_on_differences_of_gains_only():
    gain, query, score = queries(12)
    plain = evaluate(gain, query, score, "pairs")
    for a, b in zip(plain, evaluate(gain - 20.0, query, score, "pairs"), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("n", [127, 128, 129, 400])
def test_long_queries_are_ordered_as_short_ones(n):
    rng = np.random.default_rng(n)
    gain, score = rng.integers(0, 3, n).astype(float), rng.integers(0, 40, n).astype(float)
    _, _, losses = evaluate(gain, np.zeros(n, np.int32), score, "map")
    order = reference.pessimistic_order(gain, score)
    assert 1 - losses[0] == pytest.approx(reference.average_precision(gain, order), abs=1e-6)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10**6), k=st.integers(1, 20), levels=st.integers(1, 8))
def test_ndcg_of_ties_equals_that_of_scikit_learn(seed, k, levels):
    rng = np.random.default_rng(seed)
    gain, score = rng.integers(0, 4, 15).astype(float), rng.integers(0, levels, 15).astype(float)
    gain[0] = 1.0
    query = np.zeros(15, np.int32)
    _, _, losses = evaluate(gain, query, score, "ndcg", truncation=k)
    assert 1 - losses[0] == pytest.approx(ndcg_score(gain[None], score[None], k=k), abs=1e-6)


def test_the_loss_of_average_precision_is_one_minus_it():
    gain, query, score = queries(3)
    _, _, losses = evaluate(gain, query, score, "map")
    for q in range(17):
        own, at = gain[query == q], score[query == q]
        order = reference.pessimistic_order(own, at)
        assert 1 - losses[q] == pytest.approx(reference.average_precision(own, order), abs=1e-6)


@pytest.mark.parametrize("sigmoid", [1.0, 0.5])
def test_the_softmax_loss_equals_its_formula(sigmoid):
    gain, query, score = queries(4)
    gain[query == 3] = 0.0
    gradient, hessian, losses = evaluate(gain, query, score, "softmax", sigmoid=sigmoid)
    for q in range(17):
        rows = query == q
        own, curve, loss = reference.softmax(gain[rows], score[rows], sigmoid)
        np.testing.assert_allclose(gradient[rows], own, atol=1e-6)
        np.testing.assert_allclose(hessian[rows], curve, atol=1e-6)
        assert losses[q] == pytest.approx(loss, abs=1e-5)


@pytest.mark.parametrize("metric", ALL)
@pytest.mark.parametrize("isa", supported_isas())
@pytest.mark.parametrize("threads", [1, 3])
def test_instruction_sets_and_threads_change_no_bit(metric, isa, threads):
    gain, query, score = queries(5, n=9000, n_queries=60)
    plain = evaluate(gain, query, score, metric, Workers(1, "generic"), truncation=30)
    other = evaluate(gain, query, score, metric, Workers(threads, isa), truncation=30)
    for a, b in zip(plain, other, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("metric", ALL)
def test_the_order_of_the_rows_does_not_matter(metric):
    gain, query, score = queries(6)
    score = np.round(score)  # with ties
    order = np.random.default_rng(0).permutation(len(gain))
    plain = evaluate(gain, query, score, metric, truncation=3)
    moved = evaluate(gain[order], query[order], score[order], metric, truncation=3)
    for a, b in zip(plain[:2], moved[:2], strict=True):
        np.testing.assert_allclose(a[order], b, rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(plain[2], moved[2], atol=1e-7)


@pytest.mark.parametrize("metric", ALL)
def test_queries_without_a_choice_have_no_gradients(metric):
    gain = np.array([3.0, 1.0, 1.0, 0.0, 0.0])
    query = np.array([0, 1, 1, 2, 2], dtype=np.int32)
    gradient, hessian, losses = evaluate(gain, query, np.zeros(5), metric)
    np.testing.assert_array_equal(gradient, 0.0)
    assert (hessian >= 0).all()
    assert np.isfinite(losses).all()


@pytest.mark.parametrize("metric", ALL)
def test_scores_far_apart_have_finite_derivatives(metric):
    gain, query, score = queries(7)
    for number in evaluate(gain, query, 1e6 * score, metric):
        assert np.isfinite(number).all()


def test_the_squared_loss_is_that_of_centred_residuals():
    gain, query, score = queries(8)
    gradient, hessian, losses = evaluate(gain, query, score, "squared")
    for q in range(17):
        own = score[query == q] - gain[query == q]
        np.testing.assert_allclose(gradient[query == q], own - own.mean(), atol=1e-6)
        assert losses[q] == pytest.approx(0.5 * own.var(), rel=1e-6)
    np.testing.assert_array_equal(hessian, 1.0)


def test_the_squared_loss_has_gradients_in_queries_of_equal_gains():
    gain, query = np.ones(5), np.array([0, 0, 0, 1, 2], np.int32)
    gradient, hessian, losses = evaluate(gain, query, np.array([1.0, 2, 3, 4, 5]), "squared")
    np.testing.assert_array_equal(gradient, [-1, 0, 1, 0, 0])
    np.testing.assert_array_equal(hessian, [1, 1, 1, 0, 0])
    np.testing.assert_allclose(losses, [1 / 3, 0, 0])


@pytest.mark.parametrize("unit", [2.0**-55, 2.0**55])
def test_the_squared_loss_is_precise_for_gains_far_from_zero(unit):
    gain, query, score = queries(10)
    plain = evaluate(gain, query, score, "squared")
    far = evaluate(unit * (gain + 2.0**30 * query), query, unit * score, "squared")
    np.testing.assert_allclose(far[0] / unit, plain[0], atol=1e-6)
    np.testing.assert_allclose(far[2] / unit**2, plain[2], rtol=1e-6)


@pytest.mark.parametrize("scores", [(0.0, 0.0, 0.0, 0.0), (0.5, -0.25, 1.0, 0.0)])
def test_errors_of_yetirank_average_out_over_queries(scores):
    gain, score, n = np.array([0.0, 1, 3, 7]) / 8, np.array(scores), 4000
    query = np.repeat(np.arange(n), 4).astype(np.int32)
    gradient, hessian, _ = evaluate(
        np.tile(gain, n), query, np.tile(score, n), "yetirank", orders=10, decay=0.99
    )
    own, curve = reference.yetirank(gain, score, 40_000, 0.99)
    np.testing.assert_allclose(gradient.reshape(n, 4).mean(axis=0), own, atol=4e-3)
    np.testing.assert_allclose(hessian.reshape(n, 4).mean(axis=0), curve, atol=4e-3)


@pytest.mark.parametrize("metric", ["xendcg", "yetirank"])
def test_rounding_of_scores_changes_no_random_number(metric):
    gain, query, score = queries(11)
    if metric == "xendcg":
        score = np.where(np.arange(300) % 3 > 0, score, np.round(score))  # with ties
    noise = 1e-14 * np.random.default_rng(0).normal(size=300)
    plain = evaluate(gain, query, score, metric)[0]
    moved = evaluate(gain, query, score + noise, metric)[0]
    np.testing.assert_allclose(moved, plain, atol=1e-5)
    shifted = evaluate(gain, query, score + np.arange(17.0)[query], metric)[0]
    np.testing.assert_allclose(shifted, plain, atol=1e-5)


def test_the_best_rows_have_random_numbers_of_xendcg_as_all_others():
    n, score = 2000, 1e-4 * np.random.default_rng(0).normal(size=(2000, 5))
    query = np.repeat(np.arange(n), 5).astype(np.int32)
    gain = np.tile([0.0, 0, 0, 0, 1], n)
    gradient = evaluate(gain, query, score.ravel(), "xendcg")[0].reshape(n, 5)[:, :4]
    best = score[:, :4].argmax(axis=1) == score.argmax(axis=1)  # of their query, and not relevant
    own = np.take_along_axis(gradient, score[:, :4].argmax(axis=1)[:, np.newaxis], axis=1)[best]
    assert own.std() == pytest.approx(gradient.std(), rel=0.1)
    assert own.mean() == pytest.approx(gradient.mean(), abs=4 * own.std() / len(own) ** 0.5)


@pytest.mark.parametrize(("metric", "rules"), [("pairs", {}), ("yetirank", {"orders": 10_000})])
def test_a_long_query_can_be_interrupted(metric, rules):
    n = 300_000
    ended, cancellation = [], Cancellation()

    def work():
        set_cancellation(cancellation)
        try:
            gain, query = np.arange(float(n)), np.zeros(n, np.int32)
            evaluate(gain, query, np.linspace(0, 1, n), metric, **rules)
        except KeyboardInterrupt as interrupt:
            ended.append(type(interrupt))
        finally:
            set_cancellation(None)

    thread = threading.Thread(target=work)
    thread.start()
    time.sleep(0.2)
    cancellation.cancel()
    thread.join(5.0)
    assert ended == [KeyboardInterrupt]


@pytest.mark.parametrize("decay", [0.85, 0.99])
@pytest.mark.parametrize("ties", [False, True])
def test_yetirank_is_the_mean_of_random_orders(decay, ties):
    gain, query, score = queries(9, n=40, n_queries=4)
    gain, score = gain / 16, np.round(score) if ties else score
    rules = {"orders": 20_000, "decay": decay}
    gradient, hessian, losses = evaluate(gain, query, score, "yetirank", **rules)
    for q in range(4):
        rows = query == q
        own, curve = reference.yetirank(gain[rows], score[rows], 20_000, decay)
        np.testing.assert_allclose(gradient[rows], own, atol=0.02)
        np.testing.assert_allclose(hessian[rows], curve, atol=0.02)
        expected = 1 - reference.ndcg_of_ties(gain[rows], score[rows])
        assert losses[q] == pytest.approx(expected, abs=1e-6)


def test_a_wrong_argument_is_an_error():
    gain, query = np.zeros(2), np.zeros(2, np.int32)
    with pytest.raises(ValueError, match="no such metric"):
        query_loss(gain, query, "auc")
    with pytest.raises(ValueError, match="codes of queries"):
        query_loss(gain, query - 1, "ndcg")
    with pytest.raises(ValueError, match="one query per row"):
        query_loss(gain, query[:1], "ndcg")
