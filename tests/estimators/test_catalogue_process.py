"""The catalogue of faults, 84 to 106: processes, threads and files, for every estimator.

What is about the core or the file format alone is in `test_process` and `test_model_file*`; here is
what every estimator must hold to.
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
from estimators.every import EVERY, PUBLIC, answers, has, labelled, small
from estimators.processes import play
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
    assert play("every_estimator_forked") == {kind.__name__: True for kind in PUBLIC}


@EVERY
def test_88_89_threads_may_fit_beside_one_another_and_predict_with_one_model(
    kind: type, table: Any
) -> None:
    model = fitted(kind, table)
    expected, start = answers(fitted(kind, table), table.X), threading.Barrier(4)

    def work(place: int) -> bool:
        start.wait()
        own = answers(fitted(kind, table), table.X)
        said = answers(model, table.X[place:])
        return np.array_equal(own, expected) and np.array_equal(said, expected[place:])

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(work, range(4))) == [True] * 4


@EVERY
def test_89_the_number_of_threads_does_not_matter(kind: type, table: Any) -> None:
    if not has(kind, "n_jobs"):  # least squares works in one
        assert not has(kind, "n_estimators")
        return
    one, three = fitted(kind, table, n_jobs=1), fitted(kind, table, n_jobs=3)
    assert one.fingerprint() == three.fingerprint()
    np.testing.assert_array_equal(answers(one, table.X), answers(three, table.X))


@pytest.mark.skipif(sys.platform != "linux", reason="needs Linux")
def test_92_fits_of_every_estimator_do_not_grow_the_process() -> None:
    # 8 fits of 18 estimators of a table of 16 KiB, each with its model: a leak of one is MiBs.
    assert play("fits_of_every_estimator") < 2.0


@EVERY
def test_87_a_time_limit_ends_a_fit_early(kind: type, table: Any) -> None:
    if not has(kind, "time_limit"):
        with pytest.raises(TypeError, match="time_limit"):
            kind(time_limit=1.0)
        return
    model = fitted(kind, table, n_estimators=10_000, time_limit=1e-6)
    assert 1 <= model.n_iter_ < 10_000
    assert np.isfinite(answers(model, table.X)).all()


# ---- files and pickles --------------------------------------------------------------------------


@EVERY
def test_105_pickles_and_copies_predict_the_same(kind: type, table: Any) -> None:
    model = fitted(kind, table)
    for twin in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        np.testing.assert_array_equal(answers(twin, table.X), answers(model, table.X))
        assert twin.get_params().keys() == model.get_params().keys()
        assert twin.fingerprint() == model.fingerprint()


def saved(kind: type, table: Any, path: Any) -> bytes | None:
    """Return the file of a model; None, after a look at the words, if it can have none."""
    model = fitted(kind, table)
    if has(kind, "estimator"):  # members may be estimators of others
        with pytest.raises(ValueError, match=r"cannot be saved.*Pickle it instead"):
            model.save(path)
        assert not path.exists()
        return None
    model.save(path)
    return bytes(path.read_bytes())


@EVERY
def test_104_a_file_comes_back_under_any_name(kind: type, table: Any, tmp_path: Any) -> None:
    path = tmp_path / "größe 日本 😀.stgw"
    if saved(kind, table, path) is None:
        return
    for name in (path, str(path)):
        again = stagewise.load(name)
        assert type(again) is kind
        model = fitted(kind, table)
        assert again.fingerprint() == model.fingerprint()
        np.testing.assert_array_equal(answers(again, table.X), answers(model, table.X))
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
def test_102_a_save_that_fails_leaves_the_old_file(kind: type, table: Any, tmp_path: Any) -> None:
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
def test_106_a_fit_that_is_continued_is_the_uninterrupted_one(kind: type, table: Any) -> None:
    if not has(kind, "warm_start"):
        with pytest.raises(TypeError, match="warm_start"):
            kind(warm_start=True)
        return
    y = labelled(kind, table)
    whole = small(kind, n_estimators=9).fit(table.X, y)
    model = small(kind, n_estimators=4, warm_start=True).fit(table.X, y)
    model = pickle.loads(pickle.dumps(model))
    model.set_params(n_estimators=9).fit(table.X, y)
    np.testing.assert_array_equal(answers(model, table.X), answers(whole, table.X))
    assert model.fingerprint() == whole.fingerprint()
