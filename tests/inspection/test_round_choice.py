"""How the number of rounds was chosen, in words: in reports and after `stagewise train`."""

from __future__ import annotations

import numpy as np

from stagewise import (
    GradientBoostingClassifier,
    GradientBoostingRanker,
    GradientBoostingRegressor,
    RandomForestClassifier,
)
from stagewise.datasets import make_nested_spheres
from stagewise.inspection import learning_curves
from stagewise.inspection.quality.round_choice import describe_choice, describe_chosen_rounds
from stagewise.report.page_facts import report_facts

X, Y = make_nested_spheres(300, seed=1)
AUC = {"n_estimators": 60, "n_iter_no_change": 5, "eval_metric": "auc", "random_state": 0}


def sentence(model: object) -> str:
    return describe_choice(model, learning_curves(model))


def test_the_metric_and_the_rows_that_decided_are_named() -> None:
    model = GradientBoostingClassifier(early_stopping=True, **AUC).fit(X, Y)
    longest = len(model.evals_result_["valid"]["auc"])
    expected = (
        f"The model uses {model.n_iter_} of {longest} rounds, "
        "chosen by the auc of the validation rows."
    )
    assert sentence(model) == describe_chosen_rounds(model) == expected


def test_folds_choose_rounds_and_the_model_of_all_rows_has_more() -> None:
    model = GradientBoostingClassifier(eval_metric="auc", random_state=0).fit(X, Y)
    best = model.fit_report_["round_choice"]["best_round"]
    words = sentence(model)
    assert words.startswith("The auc of 300 held-out rows in ")
    assert f"chose {best} rounds; the model of all rows has {model.n_iter_}, because" in words


def test_sets_and_out_of_bag_rows_are_named() -> None:
    model = GradientBoostingClassifier(**AUC).fit(X[:200], Y[:200], eval_set={"May": (X, Y)})
    if model.n_iter_ < 60:
        assert sentence(model).endswith("chosen by the auc of the rows of 'May'.")
    forest = RandomForestClassifier(early_stopping=True, n_iter_no_change=5, random_state=0)
    assert sentence(forest.fit(X, Y)).endswith("chosen by the loss of the out-of-bag rows.")


def test_a_number_of_rounds_that_was_given_is_not_chosen() -> None:
    model = GradientBoostingRegressor(n_estimators=20).fit(X, X[:, 0])
    assert sentence(model) == "The model uses all 20 rounds."
    assert describe_chosen_rounds(model) == ""


def test_folds_of_a_given_number_of_rounds_choose_nothing() -> None:
    model = GradientBoostingRegressor(n_estimators=20, conformal="cv").fit(X, X[:, 0])
    assert sentence(model) == "The model uses all 20 rounds."
    assert describe_chosen_rounds(model) == ""
    assert "round_choice" not in model.fit_report_


def test_losses_of_rankings_are_named_by_what_they_are() -> None:
    relevance, qid = np.arange(300) % 3, np.arange(300) // 6
    for loss, name in {"ndcg": "1 - NDCG", "map": "1 - MAP", "softmax": "softmax"}.items():
        ranker = GradientBoostingRanker(loss=loss, n_estimators=3).fit(X, relevance, qid=qid)
        assert learning_curves(ranker).loss == name


def test_a_report_has_the_curves_of_the_metric_that_decided() -> None:
    model = GradientBoostingClassifier(early_stopping=True, **AUC).fit(X, Y)
    facts = report_facts(model, X, Y)
    assert facts.learning_metric is not None
    np.testing.assert_array_equal(
        facts.learning_metric.validation, model.evals_result_["valid"]["auc"]
    )
    assert "by the auc of the validation rows" in facts.rounds_note
    by_loss = GradientBoostingClassifier(n_estimators=20, early_stopping=True).fit(X, Y)
    assert report_facts(by_loss, X, Y).learning_metric is None
