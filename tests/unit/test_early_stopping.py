"""Early stopping: which round is the best, and when a fit stops."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from stagewise.boosting.stopping import EarlyStopping

VALUES = st.lists(st.sampled_from([0.0, 0.1, 0.2, 0.5, 0.8, 1.0]), min_size=1, max_size=30)


def stopped(rule: EarlyStopping, costs: list[float], losses: list[float] | None = None) -> int:
    """Return the number of rounds that are run."""
    for m, cost in enumerate(costs, start=1):
        if rule.should_stop(m, cost, None if losses is None else losses[m - 1]):
            return m
    return len(costs)


@given(losses=VALUES, patience=st.integers(1, 5))
def test_the_loss_chooses_its_first_lowest_value(losses: list[float], patience: int) -> None:
    rule = EarlyStopping(patience)
    run = stopped(rule, losses)
    assert rule.best_round == losses[:run].index(min(losses[:run])) + 1
    assert run == len(losses) or run == rule.best_round + patience


@given(pairs=st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=30))
def test_no_round_is_kept_before_nine_tenths_of_the_fall(pairs: list[tuple[float, float]]) -> None:
    costs, losses = map(list, zip(*pairs, strict=True))
    rule = EarlyStopping(len(pairs))
    stopped(rule, costs, losses)
    fall = losses[0] - min(losses)
    assert min(losses[: rule.best_round]) <= losses[0] - 0.9 * fall


@given(losses=VALUES, patience=st.integers(1, 5))
def test_no_fit_stops_within_the_rounds_that_are_left(losses: list[float], patience: int) -> None:
    end = stopped(EarlyStopping(patience), losses)
    rule = EarlyStopping(patience)
    assert rule.rounds_left(0) == patience
    for m, loss in enumerate(losses[: end - 1], start=1):
        rule.should_stop(m, loss)
        assert m + rule.rounds_left(m) <= end or end == len(losses)


def test_of_equal_metrics_the_lower_loss_is_better() -> None:
    rule = EarlyStopping(2)
    assert stopped(rule, [-1.0] * 6, [0.9, 0.5, 0.2, 0.3, 0.4, 0.5]) == 5
    assert rule.best_round == 3


def test_a_fit_goes_on_while_the_metric_or_the_loss_improves() -> None:
    assert stopped(EarlyStopping(2), [-1.0] * 5, [0.5, 0.4, 0.3, 0.2, 0.1]) == 5
    assert stopped(EarlyStopping(2), [0.5, 0.4, 0.3, 0.2, 0.1], [0.1, 0.2, 0.3, 0.4, 0.5]) == 5


def test_a_chance_peak_of_the_metric_before_the_loss_has_fallen_is_not_kept() -> None:
    losses = [1.0, 0.9, 0.6, 0.3, 0.11, 0.1, 0.12]
    rule = EarlyStopping(10)
    stopped(rule, [-0.9, -0.99, -0.8, -0.9, -0.95, -0.96, -0.95], losses)
    assert rule.best_round == 6


def test_a_later_peak_of_the_metric_is_kept_though_the_loss_rises() -> None:
    rule = EarlyStopping(10)
    stopped(rule, [-0.5, -0.8, -0.9, -0.95], [1.0, 0.1, 0.4, 0.97])
    assert rule.best_round == 4
