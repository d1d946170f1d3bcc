"""``stagewise train`` from end to end: a table in, a model file and a report out."""

import json

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, parquet

import stagewise
from cli_runs import FAST, ROWS, fails, make_table
from stagewise import Dart, FeatureSampling, Goss, SplitSearch
from stagewise.cli.main import main
from stagewise.model.file.atomic import replace_file
from stagewise.model.file.format import read_model


def test_train_prints_the_guessed_task_and_the_reason(run, tmp_path):
    code, out, err = run(
        *("train", "train.csv", "--target", "price", "--model", tmp_path / "m.stgw"),
        *("--ignore", "flag", "kind", *FAST),
    )
    assert code == 0
    assert "Task: regression, since 'price' has floating-point numbers" in err
    assert "m.stgw" in out
    assert stagewise.load(tmp_path / "m.stgw").feature_names_in_.tolist() == [
        "area",
        "age",
        "rooms",
        "weight",
    ]


@pytest.mark.parametrize(
    "options",
    [("--ignore=flag", "--ignore=kind"), ("--ignore", "flag,kind"), ("--ignore", '"flag", kind')],
)
def test_names_of_repeated_options_and_between_commas_add_up(run, tmp_path, options):
    categorical = ("--categorical=rooms", "--categorical=age")
    model = tmp_path / "m.stgw"
    common = ("train", "train.csv", "--target", "price", *FAST, "--model", model)
    code, _, _ = run(*common, *options, *categorical)
    assert code == 0
    estimator = stagewise.load(model)
    assert estimator.feature_names_in_.tolist() == ["area", "age", "rooms", "weight"]
    assert estimator.model_.features.categorical == {1, 2}
    given = ("predict", model, "train.csv", "--keep=rooms", "--keep", "area,age")
    assert run(*given)[1].startswith('"rooms","area","age","prediction"')


def test_train_gives_the_model_of_the_estimator(run, folder, tmp_path):
    code, _, _ = run(
        *("train", "train.csv", "--target", "price", "--weight", "weight", "--seed", "3"),
        *("--set", "subsample=0.7", "--ignore", "flag", "kind", *FAST),
        *("--model", tmp_path / "m.stgw"),
    )
    table = csv.read_csv(folder / "train.csv")
    estimator = stagewise.GradientBoostingRegressor(
        n_estimators=15, min_samples_leaf=5, subsample=0.7, random_state=3
    )
    estimator.fit(
        table.select(["area", "age", "rooms"]),
        table["price"].to_numpy(),
        table["weight"].to_numpy(),
    )
    assert code == 0
    assert stagewise.load(tmp_path / "m.stgw").fingerprint() == estimator.fingerprint()


@pytest.mark.parametrize(
    "options", [("--eval-metric", "mae,rmse"), ("--eval-metric", "mae", "--eval-metric", "rmse")]
)
def test_metrics_of_held_out_rows_are_printed(run, tmp_path, options):
    given = ("train", "train.csv", "--target", "price", "--ignore", "flag", "kind", *FAST)
    given += ("--model", tmp_path / "m.stgw", "--early-stopping", *options)
    code, out, _ = run(*given)
    assert code == 0
    assert "mae, held-out rows" in out
    assert "rmse, held-out rows" in out
    _, out, _ = run(*given, "--json")
    found = json.loads(out)["best_score"]
    assert list(found["valid"]) == ["loss", "mae", "rmse"]
    assert stagewise.load(tmp_path / "m.stgw").eval_metric == ["mae", "rmse"]


def test_an_unknown_metric_is_an_error(run, tmp_path):
    code, _, err = run(
        *("train", "train.csv", "--target", "price", "--ignore", "flag", "kind", *FAST),
        *("--model", tmp_path / "m.stgw", "--early-stopping", "--eval-metric", "l1"),
    )
    assert code == 1
    assert "'l1' is the name of LightGBM; here it is 'mae'" in err.replace("\n", " ")


def test_a_csv_and_a_parquet_file_give_the_same_model(run, folder, tmp_path):
    parquet.write_table(csv.read_csv(folder / "train.csv"), tmp_path / "t.parquet")
    code, out, _ = run(
        *("train", tmp_path / "t.parquet", "--target", "price", "--json"),
        *("--ignore", "kind", "flag", "weight", *FAST, "--model", tmp_path / "m.stgw"),
    )
    assert code == 0
    assert json.loads(out)["fingerprint"] == stagewise.load(folder / "price.stgw").fingerprint()


def test_train_json_has_all_results_and_nothing_else_is_printed(run, tmp_path):
    code, out, err = run(
        *("train", "train.csv", "--target", "kind", "--valid", "test.csv", "--drop-text"),
        *("--model", tmp_path / "m.stgw", *FAST, "--json"),
    )
    result = json.loads(out)
    assert code == 0
    assert result["task"] == "classification"
    assert result["dropped"] == ["flag"]
    assert result["rows"] == ROWS
    assert set(result["validation"]) == {"log_loss", "accuracy", "auc"}
    assert "left out 1 column without numbers: 'flag'" in err


def test_the_task_can_be_overridden(run, tmp_path):
    code, out, _ = run(
        *("train", "train.csv", "--target", "kind", "--task", "regression", "--drop-text"),
        *("--model", tmp_path / "m.stgw", *FAST, "--json"),
    )
    assert code == 0
    assert json.loads(out)["task"] == "regression"


def test_early_stopping_uses_the_validation_file(run, tmp_path):
    code, out, _ = run(
        *("train", "train.csv", "--target", "price", "--drop-text", "--valid", "test.csv"),
        *("--early-stopping", "--set", "n_estimators=2000", "--set", "learning_rate=0.5"),
        *("--model", tmp_path / "m.stgw", "--json"),
    )
    assert code == 0
    result, model = json.loads(out), stagewise.load(tmp_path / "m.stgw")
    assert result["rounds"] < min(2000, len(model.validation_loss_))
    assert result["validation_loss"] == model.validation_loss_.min()
    assert result["train_loss"] == model.train_loss_[result["rounds"] - 1]


@pytest.mark.parametrize(
    "pruning", ["early_stopping", "reduced_error", "cost_complexity", "one standard error"]
)
def test_the_validation_loss_is_that_of_the_pruned_tree(run, tmp_path, pruning):
    more = ["--set", "one_standard_error=true"] if pruning == "one standard error" else []
    code, out, _ = run(
        *("train", "train.csv", "--target", "price", "--drop-text", "--method", "tree"),
        *("--set", f"pruning={'cost_complexity' if more else pruning}", *more),
        *("--model", tmp_path / "m.stgw", "--json"),
    )
    assert code == 0
    result, model = json.loads(out), stagewise.load(tmp_path / "m.stgw")
    losses, least = model.validation_loss_, model.validation_loss_.min()
    assert result["validation_loss"] in losses
    assert result["validation_loss"] == least or (more and result["validation_loss"] > least)


def test_parameters_are_read_from_a_file(run, tmp_path):
    (tmp_path / "p.toml").write_text("n_estimators = 7\nmax_depth = 2\n")
    code, out, _ = run(
        *("train", "train.csv", "--target", "price", "--drop-text"),
        *("--params", tmp_path / "p.toml", "--model", tmp_path / "m.stgw", "--json"),
    )
    assert code == 0
    assert json.loads(out)["rounds"] == 7
    assert stagewise.load(tmp_path / "m.stgw").max_depth == 2


@pytest.mark.parametrize(
    ("method", "settings", "parameter", "expected"),
    [
        ("boosting", ["sampling__top=0.3"], "sampling", Goss(top=0.3)),
        (
            "boosting",
            ["sampling__other=0.3", "sampling=goss", "sampling__top=0.1"],
            "sampling",
            Goss(top=0.1, other=0.3),
        ),
        ("boosting", ["dropout__rate=0.2"], "dropout", Dart(rate=0.2)),
        (
            "boosting",
            ["max_features=0.5", "max_features__per_tree=0.4"],
            "max_features",
            FeatureSampling(per_tree=0.4, per_node=0.5),
        ),
        (
            "tree",
            ["split__random_thresholds=true"],
            "split",
            SplitSearch(method="exact", random_thresholds=True),
        ),
    ],
)
def test_numbers_of_options_can_be_set(run, tmp_path, method, settings, parameter, expected):
    more = [word for setting in settings for word in ("--set", setting)]
    rounds = ["--set", "n_estimators=3"] if method == "boosting" else []
    code, _, err = run(
        *("train", "train.csv", "--target", "price", "--drop-text", "--method", method),
        *(*more, *rounds, "--model", tmp_path / "m.stgw"),
    )
    assert code == 0, err
    assert getattr(stagewise.load(tmp_path / "m.stgw"), parameter) == expected
    for form in ([], ["--json"]):
        assert run("show", tmp_path / "m.stgw", *form)[0] == 0


@pytest.mark.parametrize("way", ["--params", "--set"])
def test_missing_values_are_given_in_training_and_saved(run, tmp_path, way):
    table = make_table(0).select(["area", "rooms", "price"])
    marked, plain = tmp_path / "marked.csv", tmp_path / "plain.csv"
    rooms = table["rooms"].to_pylist()
    for path, gone in ((marked, -999), (plain, None)):
        column = pa.array([gone if n == 3 else n for n in rooms])
        csv.write_csv(table.set_column(1, "rooms", column), path)
    (tmp_path / "p.toml").write_text("missing_values = [-999, 1e20]\n")
    chosen = [way, tmp_path / "p.toml" if way == "--params" else "missing_values=[-999, 1e20]"]
    fingerprints, predictions = [], []
    for path, more in ((marked, chosen), (plain, [])):
        train = ["train", path, "--target", "price", "--model", tmp_path / "m.stgw", *FAST]
        code, out, _ = run(*train, *more, "--json")
        assert code == 0
        fingerprints.append(json.loads(out)["fingerprint"])
        code, out, _ = run("predict", tmp_path / "m.stgw", path)
        assert code == 0
        predictions.append(out)
        assert run("evaluate", tmp_path / "m.stgw", path)[0] == 0
    assert fingerprints[0] == fingerprints[1]
    assert predictions[0] == predictions[1]


def test_the_model_file_is_written_once(run, tmp_path, monkeypatch):
    written = []

    def count(path, data):
        written.append(path)
        replace_file(path, data)

    monkeypatch.setattr("stagewise.model.file.format.replace_file", count)
    model = tmp_path / "m.stgw"
    assert run("train", "train.csv", "--target", "price", "--drop-text", "--model", model)[0] == 0
    assert written == [model]
    assert read_model(model)[1]["target"] == "price"


def test_the_model_file_is_named_after_the_data_file(run, folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    arguments = ["train", str(folder / "train.csv"), "--target", "price", "--drop-text", *FAST]
    assert main([*arguments, "--quiet"]) == 0
    assert [path.name for path in tmp_path.iterdir()] == ["train.stgw"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["none.csv", "--target", "price"], ["no file 'none.csv'"]),
        (["train.csv", "--target", "prize"], ["no column 'prize'", "did you mean 'price'"]),
        (["train.csv", "--target", "price", "--weight", "wieght"], ["--weight", "'weight'"]),
        (["train.csv", "--target", "price", "--ignore", "Area"], ["--ignore", "'area'"]),
        (["train.csv", "--target", "price", "--ignore", "price"], ["cannot be ignored"]),
        (["train.csv", "--target", "price", "--weight", "price"], ["target and weight"]),
        (["train.csv", "--target", "flag", "--task", "regression"], ["must be numbers"]),
        (["train.csv", "--target", "price", "--set", "max_dept=3"], ["Did you mean 'max_depth'"]),
        (
            ["train.csv", "--target", "price", "--set", "num_leaves=5"],
            ["num_leaves is the name of LightGBM; here it is max_leaf_nodes."],
        ),
        (["train.csv", "--target", "price", "--set", "top_rate=0.3"], ["sampling__top=..."]),
        (["train.csv", "--target", "price", "--set", "sampling__to=1"], ["'sampling__top'"]),
        (["train.csv", "--target", "price", "--set", "sampling__top=2"], ["'top' of Goss"]),
        (["train.csv", "--target", "price", "--set", "max_depth__a=2"], ["'max_depth__a'"]),
        (["train.csv", "--target", "price", "--set", "verbose=2"], ["cannot set", "'verbose'"]),
        (
            [
                *("train.csv", "--target", "price", "--set", "sampling=uniform"),
                *("--set", "sampling__top=0.3"),
            ],
            ["sampling__top cannot be set with sampling=uniform"],
        ),
        (["train.csv", "--target", "price", "--set", "learning_rate=-1"], ["learning_rate"]),
        (["train.csv", "--target", "price", "--set", "learning_rate=x"], ["learning_rate"]),
        (["train.csv", "--target", "price", "--valid", "none.csv"], ["no file 'none.csv'"]),
        (["train.csv", "--target", "price", "--threads", "0"], ["n_jobs"]),
    ],
)
def test_an_error_is_one_sentence_with_a_remedy(run, tmp_path, arguments, words):
    result = run("train", *arguments, "--drop-text", "--quiet", "--model", tmp_path / "m.stgw")
    fails(result, *words)
    assert list(tmp_path.iterdir()) == []


def test_rows_without_a_target_are_an_error_unless_dropped(run, tmp_path):
    table = make_table(0).select(["area", "age"])
    gaps = np.where(np.arange(ROWS) < 10, np.nan, table["area"].to_numpy())
    parquet.write_table(table.append_column("y", [gaps]), tmp_path / "t.parquet")
    train = ["train", tmp_path / "t.parquet", "--target", "y", "--model", tmp_path / "m.stgw"]
    fails(run(*train, "--quiet"), "missing in 10 of 300 rows (first in row 1 (line 2")
    code, out, err = run(*train, "--drop-unlabelled", "--json", *FAST)
    assert code == 0
    assert json.loads(out)["rows"] == ROWS - 10
    assert "left out 10 rows" in err
    evaluate = ["evaluate", tmp_path / "m.stgw", tmp_path / "t.parquet"]
    fails(run(*evaluate), "--drop-unlabelled")
    assert run(*evaluate, "--drop-unlabelled")[0] == 0


def test_a_model_in_a_missing_folder_is_refused_before_training(run, tmp_path):
    fails(
        run("train", "train.csv", "--target", "price", "--model", tmp_path / "none" / "m.stgw"),
        "no folder",
    )


def test_train_and_show_print_the_automatic_learning_rate(run, tmp_path):
    settings, model = tmp_path / "p.toml", tmp_path / "m.stgw"
    settings.write_text('learning_rate = "auto"\nmax_features = 1.0\nn_estimators = 200\n')
    trained = ("train", "train.csv", "--target", "price", "--drop-text", "--model", model)
    code, out, _ = run(*trained, "--params", settings, "--json")
    assert code == 0
    assert json.loads(out)["learning_rate"] == pytest.approx(0.1 * 2**-0.25)
    code, out, _ = run("show", model)
    assert code == 0
    assert "learning rate  0.0840896" in out
    assert any(line.split() == ["learning_rate", "auto"] for line in out.splitlines())
    code, out, _ = run(*trained, "--set", "learning_rate=auto", "--set", "max_features=auto")
    assert code == 0
    assert "learning rate    0.05" in out
    fails(
        run(*trained, "--set", "max_features=often"),
        "max_features",
        "'auto'",
        "got 'often'",
    )


def test_show_prints_the_loss_of_the_round_that_is_kept(run, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    model = stagewise.GradientBoostingRegressor(n_estimators=100, early_stopping=True)
    model.fit(X, X[:, 0] + rng.normal(size=300)).save(tmp_path / "m.stgw")
    assert len(model.validation_loss_) > model.n_iter_
    _, shown, _ = run("show", tmp_path / "m.stgw")
    kept, last = (f"{model.validation_loss_[m]:.6g}" for m in (model.n_iter_ - 1, -1))
    line = next(line for line in shown.splitlines() if "validation loss" in line)
    assert kept in line
    assert last not in line
