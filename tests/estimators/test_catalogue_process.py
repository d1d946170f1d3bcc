"""The catalogue of faults, 84 to 106: processes, threads and files, for every estimator.

Tests of the core or the file format alone are in `test_process` and `test_model_file*`.
"""

from __future__ import annotations

import copy
import os
import pickle
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import stagewise
from estimators.every import EVERY, PUBLIC, has, is_bagging, labelled, predictions, small
from estimators.processes import run_in_process
from estimators.tables import make_table
from stagewise import ModelFormatError

ROWS = 200


@pytest.fixture(scope="module")
def table() -> Any:
    return make_table(ROWS, missing=False)


def fitted(kind: type, table: Any, **params: Any) -> Any:
    return small(kind, **params).fit(table.X, labelled(kind, table))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_84_a_child_forked_after_a_fit_can_fit_and_predict() -> None:
    assert run_in_process("every_estimator_forked") == {kind.__name__: True for kind in PUBLIC}


@EVERY
def test_88_89_threads_may_fit_in_parallel_and_predict_with_one_model(
    kind: type, table: Any
) -> None:
    model = fitted(kind, table)
    expected, start = predictions(fitted(kind, table), table.X), threading.Barrier(4)

    def work(place: int) -> bool:
        start.wait()
        own = predictions(fitted(kind, table), table.X)
        part = predictions(model, table.X[place:])
        return np.array_equal(own, expected) and np.array_equal(part, expected[place:])

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(work, range(4))) == [True] * 4


@EVERY
def test_89_the_number_of_threads_does_not_matter(kind: type, table: Any) -> None:
    if not has(kind, "n_jobs"):  # least squares uses one thread
        assert not has(kind, "n_estimators")
        return
    one, three = fitted(kind, table, n_jobs=1), fitted(kind, table, n_jobs=3)
    assert one.fingerprint() == three.fingerprint()
    np.testing.assert_array_equal(predictions(one, table.X), predictions(three, table.X))


@pytest.mark.skipif(sys.platform != "linux", reason="needs Linux")
def test_92_memory_does_not_grow_with_the_number_of_fits() -> None:
    # 8 fits of 18 estimators of a table of 16 KiB, each with its model: a leak would be MiBs.
    assert run_in_process("fits_of_every_estimator") < 2.0


@EVERY
def test_87_a_time_limit_ends_a_fit_early(kind: type, table: Any) -> None:
    if not has(kind, "time_limit"):
        with pytest.raises(TypeError, match="time_limit"):
            kind(time_limit=1.0)
        return
    rounds = {"n_estimators": 10_000} if has(kind, "n_estimators") else {}
    model = fitted(kind, table, **rounds, time_limit=1e-6)
    assert 1 <= model.n_iter_ < 10_000
    assert np.isfinite(predictions(model, table.X)).all()


# ---- files and pickles --------------------------------------------------------------------------


@EVERY
def test_105_pickles_and_copies_predict_the_same(kind: type, table: Any) -> None:
    model = fitted(kind, table)
    for copied in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        np.testing.assert_array_equal(predictions(copied, table.X), predictions(model, table.X))
        assert copied.get_params().keys() == model.get_params().keys()
        assert copied.fingerprint() == model.fingerprint()


def saved(kind: type, table: Any, path: Any) -> bytes | None:
    """Return the bytes of a model file; None, after a check of the error, if it has none."""
    model = fitted(kind, table)
    if is_bagging(kind):  # base estimators may be of other libraries
        with pytest.raises(ValueError, match=r"cannot be saved.*Pickle it instead"):
            model.save(path)
        assert not path.exists()
        return None
    model.save(path)
    return bytes(path.read_bytes())


@EVERY
def test_104_a_file_can_be_loaded_under_any_name(kind: type, table: Any, tmp_path: Any) -> None:
    path = tmp_path / "größe 日本 😀.stgw"
    if saved(kind, table, path) is None:
        return
    for name in (path, str(path)):
        again = stagewise.load(name)
        assert type(again) is kind
        model = fitted(kind, table)
        assert again.fingerprint() == model.fingerprint()
        np.testing.assert_array_equal(predictions(again, table.X), predictions(model, table.X))
        assert again.n_features_in_ == 5


@EVERY
def test_95_101_damaged_files_are_refused(kind: type, table: Any, tmp_path: Any) -> None:
    data = saved(kind, table, tmp_path / "m.stgw")
    if data is None:
        return
    path = tmp_path / "damaged.stgw"
    for length in (0, 7, len(data) // 3, len(data) - 1):
        path.write_bytes(data[:length])
        with pytest.raises(ModelFormatError):
            stagewise.load(path)
    for place in range(0, len(data), len(data) // 25):
        path.write_bytes(data[:place] + bytes([data[place] ^ 16]) + data[place + 1 :])
        with pytest.raises(ModelFormatError):
            stagewise.load(path)
    path.write_bytes(data + b"\0")
    with pytest.raises(ModelFormatError):
        stagewise.load(path)


@EVERY
def test_102_a_failed_save_leaves_the_old_file(kind: type, table: Any, tmp_path: Any) -> None:
    path = tmp_path / "m.stgw"
    data = saved(kind, table, path)
    if data is None:
        return
    model = fitted(kind, table)
    with pytest.raises((TypeError, ValueError)):
        model.save(path, notes={"no JSON": object()})
    assert path.read_bytes() == data
    assert list(tmp_path.iterdir()) == [path]


@EVERY
def test_106_a_continued_fit_equals_the_uninterrupted_one(kind: type, table: Any) -> None:
    if not has(kind, "warm_start"):
        with pytest.raises(TypeError, match="warm_start"):
            kind(warm_start=True)
        return
    y = labelled(kind, table)
    whole = small(kind, n_estimators=9).fit(table.X, y)
    model = small(kind, n_estimators=4, warm_start=True).fit(table.X, y)
    model = pickle.loads(pickle.dumps(model))
    model.set_params(n_estimators=9).fit(table.X, y)
    np.testing.assert_array_equal(predictions(model, table.X), predictions(whole, table.X))
    assert model.fingerprint() == whole.fingerprint()
