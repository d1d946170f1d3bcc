"""A fit that ended early resumes from a folder, and its model has the same bytes."""

import errno
import json
import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import stagewise
from stagewise import GradientBoostingClassifier, GradientBoostingRegressor
from stagewise.model.file.format import encode
from stagewise.training.reading.training_data import FitArguments
from stagewise.training.stored.checkpoint import Rounds
from stagewise.training.stored.checkpoint_folder import CheckpointFolder

KEY = {"rows": "1", "n_estimators": "12"}


def rows(seed=0, n=2_000):
    """Return rows with missing values and categories, and a class target."""
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=n), np.where(rng.random(n) < 0.1, np.nan, rng.normal(size=n))
    colour = rng.choice(["red", "green", "blue"], n)
    y = (a + np.nan_to_num(b) + (colour == "red") + rng.normal(size=n) > 0.5).astype(int)
    table = pa.table({"a": a, "b": b, "colour": colour.tolist(), "y": y + (a > 1)})
    return stagewise.read_batches(table, target="y")


def classifier(**parameters):
    given = {"n_estimators": 12, "categorical_features": ["colour"], "category_encoding": "sets"}
    return GradientBoostingClassifier(**given | parameters)


def fit(model, folder, key=KEY, valid=None, seconds=0.0, seed=0):
    with CheckpointFolder(folder, key, seconds) as checkpoints:
        model._fit(FitArguments(rows(seed), None, X_val=valid), checkpoints=checkpoints)
    return model


def bytes_of(model):
    return encode(model.model_)


def stop_after(n):
    """Return a callback that fails after a round, as a fault of the machine would."""

    def stop(progress):
        if progress.round == n:
            raise RuntimeError("ended on purpose")

    return stop


def interrupted(folder, at, seconds=0.0, **parameters):
    with pytest.raises(RuntimeError, match="on purpose"):
        fit(classifier(callbacks=stop_after(at), **parameters), folder, seconds=seconds)


@pytest.mark.parametrize("at", [1, 2, 7, 12])
def test_a_resumed_fit_has_the_same_bytes(tmp_path, at):
    whole = classifier(subsample=0.7).fit(rows())
    interrupted(tmp_path / "c", at, subsample=0.7)
    assert bytes_of(fit(classifier(subsample=0.7), tmp_path / "c")) == bytes_of(whole)


def test_other_rows_are_found_by_their_loss(tmp_path):
    """Names, sizes and footers may be equal; the training loss of the rounds is not."""
    interrupted(tmp_path / "c", 5)
    message = "not those of the checkpoint: after round 4 .*use another folder"
    with pytest.raises(ValueError, match=message):
        fit(classifier(), tmp_path / "c", seed=1)


def test_a_fit_that_early_stopping_has_ended_gets_no_further_round(tmp_path):
    stopped = {"n_estimators": 200, "n_iter_no_change": 3, "learning_rate": 0.5}
    whole = classifier(**stopped).fit(rows(), X_val=rows(1))
    assert len(whole.validation_loss_) < 200
    fit(classifier(**stopped), tmp_path / "c", valid=rows(1))
    resumed = fit(classifier(**stopped), tmp_path / "c", valid=rows(1))
    assert bytes_of(resumed) == bytes_of(whole)


def test_only_new_rounds_are_fitted(tmp_path):
    interrupted(tmp_path / "c", 7)
    seen = []
    fit(classifier(callbacks=lambda progress: seen.append(progress.round)), tmp_path / "c")
    # Round 7 failed before it was kept.
    assert seen == [7, 8, 9, 10, 11, 12]


def test_rounds_that_are_not_written_yet_are_written_when_a_fit_fails(tmp_path):
    interrupted(tmp_path / "c", 7, seconds=1e9)
    assert (tmp_path / "c" / "model.rounds").stat().st_size > 0
    with CheckpointFolder(tmp_path / "c", KEY) as checkpoints:
        assert checkpoints.load("model").n >= 5


def test_rounds_are_appended_and_not_written_again(tmp_path):
    sizes = []
    path = tmp_path / "c" / "model.rounds"

    def measure(progress):
        sizes.append(path.stat().st_size if path.exists() else 0)

    fit(classifier(n_estimators=40, callbacks=measure), tmp_path / "c")
    written = np.diff(sizes)
    assert (written > 0).sum() >= 38
    assert written.max() < 3 * np.median(written)


@pytest.mark.parametrize("damage", ["cut", "zeros", "text", "all", "middle"])
def test_a_damaged_file_is_used_up_to_the_damage(tmp_path, damage):
    whole = classifier().fit(rows())
    interrupted(tmp_path / "c", 9)
    path = tmp_path / "c" / "model.rounds"
    data = path.read_bytes()
    changed = {
        "cut": data[:-17],
        "zeros": data + bytes(100),
        "text": data + b"STGWRND1 and no record",
        "all": b"",
        "middle": data[: len(data) // 2] + b"\xff" + data[len(data) // 2 + 1 :],
    }
    path.write_bytes(changed[damage])
    assert bytes_of(fit(classifier(), tmp_path / "c")) == bytes_of(whole)
    # What was damaged is gone: the next fit resumes from the last round.
    with CheckpointFolder(tmp_path / "c", KEY) as checkpoints:
        assert checkpoints.load("model").n == 12


def test_another_key_is_an_error_that_names_the_difference(tmp_path):
    interrupted(tmp_path / "c", 3)
    other = {**KEY, "n_estimators": "13"}
    with pytest.raises(ValueError, match="n_estimators is 12 there and 13 now") as error:
        CheckpointFolder(tmp_path / "c", other)
    assert "delete this one" in str(error.value)
    CheckpointFolder(tmp_path / "c", KEY).close()  # the error has released the folder


def test_a_damaged_key_is_one_clear_error(tmp_path):
    interrupted(tmp_path / "c", 3)
    (tmp_path / "c" / "checkpoint.json").write_text("{")
    with pytest.raises(ValueError, match="is damaged; delete it"):
        CheckpointFolder(tmp_path / "c", KEY)


def test_rounds_without_a_key_are_not_used(tmp_path):
    interrupted(tmp_path / "c", 3)
    (tmp_path / "c" / "checkpoint.json").unlink()
    with CheckpointFolder(tmp_path / "c", {"rows": "other"}) as checkpoints:
        assert checkpoints.load("model") is None


def test_two_processes_cannot_use_one_folder(tmp_path):
    with (
        CheckpointFolder(tmp_path / "c", KEY),
        pytest.raises(OSError, match="Another process uses"),
    ):
        CheckpointFolder(tmp_path / "c", KEY)


def test_stages_are_kept_apart(tmp_path):
    model = fit(GradientBoostingRegressor(n_estimators=4, categorical_features=[2]), tmp_path / "c")
    trees = model.model_.ensemble.trees
    with CheckpointFolder(tmp_path / "d", KEY, 1e9) as checkpoints:
        checkpoints.save("search", Rounds(4, trees, [4.0, 3.0, 2.0, 1.0], []))
        checkpoints.save("model", Rounds(2, trees[:2], [4.0, 3.0], []))
        assert (tmp_path / "d" / "search.rounds").exists()  # a new stage writes the earlier one
    with CheckpointFolder(tmp_path / "d", KEY) as checkpoints:
        assert checkpoints.load("search").n == 4
        assert checkpoints.load("model").n == 2


def test_a_full_disk_is_one_clear_error_and_the_written_rounds_stay(tmp_path, monkeypatch):
    fsync, calls = os.fsync, []

    def fail(descriptor):
        calls.append(descriptor)
        if len(calls) > 6:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="The checkpoint cannot be written: No space left"):
        fit(classifier(), tmp_path / "c")
    monkeypatch.undo()
    with CheckpointFolder(tmp_path / "c", KEY) as checkpoints:
        # Two calls are those of the key.
        assert checkpoints.load("model").n == 4
    assert bytes_of(fit(classifier(), tmp_path / "c")) == bytes_of(classifier().fit(rows()))


def test_a_complete_fit_leaves_no_file(tmp_path):
    with CheckpointFolder(tmp_path / "c", KEY, 0.0) as checkpoints:
        classifier()._fit(FitArguments(rows(), None), checkpoints=checkpoints)
        assert json.loads((tmp_path / "c" / "checkpoint.json").read_text()) == KEY
        checkpoints.remove()
    assert not Path(tmp_path / "c").exists()
