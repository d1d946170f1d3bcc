"""Threads and processes: forks, parallel fits, Ctrl-C, memory, and the number of CPUs."""

from __future__ import annotations

import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import joblib
import numpy as np
import pytest
from sklearn.model_selection import cross_val_score

import stagewise.workers as workers
from estimators.processes import run_in_process
from estimators.tables import CASES, fit_case, make_table, quick
from stagewise import GradientBoostingClassifier, GradientBoostingRegressor, InvalidParameterError

linux = pytest.mark.skipif(sys.platform != "linux", reason="needs Linux")
forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


# ---- forks --------------------------------------------------------------------------------------


@forks
def test_a_child_forked_after_a_fit_can_fit_and_predict():
    assert run_in_process("forked_after_fit") == [True, True]


@forks
def test_a_child_forked_in_the_middle_of_a_fit_can_finish_it():
    assert run_in_process("forked_during_fit") == [True, True]


@forks
def test_a_pool_forked_after_a_fit_works():
    assert run_in_process("pool_of_forks") is True


# ---- parallel fits ------------------------------------------------------------------------------


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_fits_under_joblib_give_the_same(backend):
    table = make_table(3000)
    expected = [fit_case(case, table).fingerprint() for case in CASES]
    with joblib.parallel_config(backend=backend, n_jobs=2):
        models = joblib.Parallel()(joblib.delayed(fit_case)(case, table) for case in CASES)
    assert [model.fingerprint() for model in models] == expected


def test_cross_validation_in_parallel_gives_the_same():
    table = make_table(600)
    scores = [
        cross_val_score(quick(GradientBoostingRegressor), table.X, table.number, cv=4, n_jobs=jobs)
        for jobs in (1, 2)
    ]
    np.testing.assert_array_equal(*scores)


@pytest.mark.native
def test_eight_fits_in_parallel_threads_give_the_same():
    table = make_table(40_000)
    names = list(CASES)[:4] * 2
    expected = {case: fit_case(case, table).fingerprint() for case in set(names)}
    start = threading.Barrier(len(names))

    def fit(place: int) -> bool:
        start.wait()
        case = names[place]
        return fit_case(case, table, n_jobs=1 + place % 3).fingerprint() == expected[case]

    with ThreadPoolExecutor(len(names)) as pool:
        assert list(pool.map(fit, range(len(names)))) == [True] * len(names)


@pytest.mark.native
@pytest.mark.parametrize("kind", [GradientBoostingRegressor, GradientBoostingClassifier])
def test_sixteen_threads_may_predict_with_one_model(kind):
    table = make_table(20_000)
    y = table.number if kind is GradientBoostingRegressor else table.many
    model = quick(kind, n_jobs=2).fit(table.X, y)
    expected = model.predict(table.X)
    model = quick(kind, n_jobs=2).fit(table.X, y)  # not yet prepared for predicting
    start = threading.Barrier(16)

    def predict(place: int) -> bool:
        start.wait()
        begin = 100 * place
        few, many = slice(begin, begin + 1 + place), slice(begin, None)
        return all(
            np.array_equal(model.predict(table.X[part]), expected[part])
            for part in (few, many, few)
        )

    with ThreadPoolExecutor(16) as pool:
        assert list(pool.map(predict, range(16))) == [True] * 16


# ---- interruption and memory --------------------------------------------------------------------


@linux
def test_ctrl_c_stops_a_fit_and_changes_nothing():
    result = run_in_process("interrupted")
    assert result["stopped"]
    assert result["unchanged"]
    assert result["fits again"]
    # One tree of 50,000 rows takes milliseconds; the rest is for a busy machine.
    assert result["seconds"] < 5.0


@linux
def test_memory_does_not_grow_over_a_hundred_fits():
    # A copy of the table alone is 80 KiB: a hundred of them would be 8 MiB.
    assert run_in_process("hundred_fits") < 4.0


@linux
def test_too_little_memory_is_a_memory_error():
    # Freed memory is returned to the system at once, so that no fit can reuse it.
    result = run_in_process(
        "little_memory", MALLOC_MMAP_THRESHOLD_="65536", MALLOC_TRIM_THRESHOLD_="65536"
    )
    assert set(result["outcomes"]) == {"MemoryError", "fitted"}
    assert result["outcomes"][0] == "MemoryError"
    assert result["outcomes"][-1] == "fitted"
    assert result["after"] == [fit_case("squared error", make_table(200_000)).fingerprint()]


@linux
def test_more_threads_than_cpus_are_not_much_slower_beside_a_busy_process():
    # Threads that spin while they wait for each other would be hundreds of times slower here.
    one, four = run_in_process("fit_beside_a_busy_process")
    assert four < 5 * one + 0.1


# ---- number of threads --------------------------------------------------------------------------


@linux
def test_cpus_available_to_the_process_are_counted():
    assert run_in_process("threads_on_one_cpu") == [1, 1, 1, 3]


@pytest.fixture
def four_processors(monkeypatch, tmp_path):
    """A machine with four CPUs and no limits, and a folder for files of control groups."""
    monkeypatch.setattr(workers.os, "sched_getaffinity", lambda pid: {0, 1, 2, 3}, raising=False)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr(workers, "_CGROUP", tmp_path)
    monkeypatch.setattr(workers, "_OWN_CGROUP", tmp_path / "own", raising=True)
    (tmp_path / "own").write_text("0::/a/b\n")
    (tmp_path / "a" / "b").mkdir(parents=True)
    return tmp_path


@pytest.mark.parametrize(
    ("n_jobs", "threads"), [(None, 4), (1, 1), (3, 3), (9, 9), (-1, 4), (-2, 3), (-4, 1), (-99, 1)]
)
def test_n_jobs_has_the_meaning_of_scikit_learn(n_jobs, threads, four_processors):
    assert workers.thread_count(n_jobs) == threads
    assert workers.thread_count(None if n_jobs is None else np.int64(n_jobs)) == threads


def test_at_most_1024_threads_are_used(four_processors):
    assert workers.thread_count(10**9) == 1024


@pytest.mark.parametrize("n_jobs", [0, 1.0, True, "2", [1]])
def test_an_invalid_number_of_threads_is_refused(n_jobs):
    with pytest.raises(InvalidParameterError, match="n_jobs must be"):
        workers.thread_count(n_jobs)


@pytest.mark.parametrize(
    ("wish", "threads"),
    [
        ("2", 2),
        ("1", 1),
        ("16", 4),
        ("2,1", 2),
        (" 3 ", 3),
        ("", 4),
        ("0", 4),
        ("many", 4),
        ("²", 4),
    ],
)
def test_omp_num_threads_can_only_lower_the_number(wish, threads, four_processors, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", wish)
    assert workers.thread_count(None) == threads
    assert workers.thread_count(3) == 3, "a requested number is used"


QUOTAS = {
    "no limit": ({"a/b/cpu.max": "max 100000"}, 4),
    "two processors": ({"a/b/cpu.max": "200000 100000"}, 2),
    "one and a half": ({"a/b/cpu.max": "150000 100000"}, 2),
    "a tenth": ({"a/b/cpu.max": "10000 100000"}, 1),
    "more than there are": ({"a/b/cpu.max": "900000 100000"}, 4),
    "the limit of a parent": ({"a/b/cpu.max": "max 100000", "a/cpu.max": "300000 100000"}, 3),
    "the least of several": ({"a/b/cpu.max": "300000 100000", "cpu.max": "100000 100000"}, 1),
    "a limit of control groups v1": (
        {"cpu/cpu.cfs_quota_us": "200000", "cpu/cpu.cfs_period_us": "100000"},
        2,
    ),
    "no limit of control groups v1": (
        {"cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "100000"},
        4,
    ),
    "a limit that is not a number": ({"a/b/cpu.max": "plenty"}, 4),
    "an empty file": ({"a/b/cpu.max": ""}, 4),
    "a period of zero": ({"a/b/cpu.max": "100000 0"}, 4),
}


@pytest.mark.parametrize(("files", "threads"), QUOTAS.values(), ids=QUOTAS)
def test_the_quota_of_a_container_is_respected(files, threads, four_processors):
    for name, text in files.items():
        (four_processors / name).parent.mkdir(parents=True, exist_ok=True)
        (four_processors / name).write_text(text + "\n")
    assert workers.available_threads() == threads


def test_without_control_groups_all_cpus_are_used(four_processors):
    (four_processors / "own").unlink()
    assert workers.available_threads() == 4


def test_the_number_of_threads_is_in_the_report():
    table = make_table(300)
    model = quick(GradientBoostingRegressor, n_jobs=3).fit(table.X, table.number)
    assert model.fit_report_["threads"] == 3
