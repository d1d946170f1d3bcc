"""``stagewise predict`` with several files: outputs, restarts, interruptions and faults."""

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, parquet

import stagewise
from cli_runs import FAST, ROWS, fails, make_table
from stagewise.cli import table_writer
from stagewise.cli.scoring.scorer import Scorer


@pytest.fixture
def inputs(tmp_path):
    """A folder with three Parquet files in two folders."""
    folder = tmp_path / "in"
    (folder / "deep").mkdir(parents=True)
    for seed, name in enumerate(["a", "b", "deep/c"]):
        parquet.write_table(make_table(seed), folder / f"{name}.parquet", row_group_size=70)
    return folder


def files_in(folder):
    return sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file())


def predicted(folder, name):
    """Return the predictions of an input file by the estimator."""
    table = parquet.read_table(folder)
    return stagewise.load(name).predict(table).tolist()


def test_a_folder_gets_one_output_per_input(run, folder, inputs, tmp_path):
    out = tmp_path / "out"
    code, printed, err = run("predict", "price.stgw", inputs, "--out", out, "--keep", "rooms")
    assert (code, printed) == (0, "")
    assert files_in(out) == ["a.parquet", "b.parquet", "deep/c.parquet"]
    assert f"Predicted {3 * ROWS} rows of 3 files" in err
    for name in files_in(out):
        table = parquet.read_table(out / name)
        assert table.column_names == ["rooms", "prediction"]
        assert table["rooms"].equals(parquet.read_table(inputs / name)["rooms"])
        assert table["prediction"].to_pylist() == predicted(inputs / name, folder / "price.stgw")


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_several_inputs_can_have_one_output(run, folder, inputs, tmp_path, ending):
    out = tmp_path / f"all.{ending}"
    code, _, _ = run("predict", "kind.stgw", f"{inputs}/?.parquet", "--proba", "--out", out)
    assert code == 0
    table = csv.read_csv(out) if ending == "csv" else parquet.read_table(out)
    assert table.column_names == ["prediction", "proba_0", "proba_1", "proba_2"]
    whole = [predicted(inputs / f"{name}.parquet", folder / "kind.stgw") for name in "ab"]
    assert table["prediction"].to_pylist() == [*whole[0], *whole[1]]


def test_several_inputs_are_printed_in_order(run, inputs):
    _, one, _ = run("predict", "flag.stgw", inputs / "a.parquet", "--keep", "rooms")
    _, two, _ = run("predict", "flag.stgw", inputs / "b.parquet", "--keep", "rooms")
    code, both, _ = run(
        "predict", "flag.stgw", inputs / "a.parquet", inputs / "b.parquet", "--keep", "rooms"
    )
    assert code == 0
    assert both.splitlines() == one.splitlines() + two.splitlines()[1:]


def test_csv_inputs_have_parquet_outputs_in_a_folder(run, folder, tmp_path):
    code, _, _ = run("predict", "price.stgw", "test.csv", "train.csv", "--out", f"{tmp_path}/out/")
    assert code == 0
    assert files_in(tmp_path / "out") == ["test.parquet", "train.parquet"]
    expected = stagewise.load(folder / "price.stgw").predict(csv.read_csv(folder / "test.csv"))
    found = parquet.read_table(tmp_path / "out" / "test.parquet")["prediction"]
    assert found.to_pylist() == expected.tolist()


def test_an_input_without_rows_has_an_output_without_rows(run, inputs, tmp_path):
    parquet.write_table(make_table(0).slice(0, 0), inputs / "b.parquet")
    code, _, _ = run("predict", "flag.stgw", inputs, "--out", tmp_path / "out", "--keep", "flag")
    assert code == 0
    table = parquet.read_table(tmp_path / "out" / "b.parquet")
    assert table.schema.equals(parquet.read_table(tmp_path / "out" / "a.parquet").schema)
    assert table.num_rows == 0


def test_a_kept_dictionary_column_is_written(run, inputs, tmp_path):
    table = make_table(0)
    codes = table["flag"].combine_chunks().dictionary_encode()
    parquet.write_table(table.append_column("code", codes), tmp_path / "t.parquet")
    for out in ["o.csv", "o.parquet"]:
        argv = ["predict", "price.stgw", tmp_path / "t.parquet", "--keep", "code"]
        assert run(*argv, "--out", tmp_path / out)[0] == 0
    found = csv.read_csv(tmp_path / "o.csv")["code"].to_pylist()
    assert found == parquet.read_table(tmp_path / "o.parquet")["code"].to_pylist()
    assert found == table["flag"].to_pylist()


def test_row_groups_of_the_output_are_filled(run, inputs, tmp_path, monkeypatch):
    monkeypatch.setattr(table_writer, "GROUP_ROWS", 140)
    out = tmp_path / "o.parquet"
    assert run("predict", "price.stgw", inputs, "--out", out)[0] == 0
    footer = parquet.read_metadata(out)
    groups = [footer.row_group(k).num_rows for k in range(footer.num_row_groups)]
    assert (groups[0], sum(groups)) == (140, 3 * ROWS)


@pytest.mark.filterwarnings("always::stagewise.UnknownCategoryWarning")
def test_unknown_categories_of_all_files_are_one_warning(run, tmp_path):
    rows = pa.table({"c": ["x", "y"] * 50, "price": [1.0, 2.0] * 50})
    parquet.write_table(rows, tmp_path / "train.parquet")
    (tmp_path / "in").mkdir()
    for name in "abc":
        table = pa.table({"c": ["x", "new"] * (ord(name) - 96)})
        parquet.write_table(table, tmp_path / "in" / f"{name}.parquet")
    train = ["train", tmp_path / "train.parquet", "--target", "price", *FAST]
    assert run(*train, "--model", tmp_path / "c.stgw")[0] == 0
    code, _, err = run("predict", tmp_path / "c.stgw", tmp_path / "in", "--out", tmp_path / "out")
    assert code == 0
    assert err.count("Warning:") == 1
    assert "2 more batches have such a warning" in err


# --- restarts ---------------------------------------------------------------------------------


@pytest.fixture
def counted(monkeypatch):
    """Count the tables that are predicted."""
    calls = []
    score = Scorer.score

    def count(self, table, path):
        calls.append(path.name)
        return score(self, table, path)

    monkeypatch.setattr(Scorer, "score", count)
    return calls


def test_complete_outputs_are_not_made_again(run, inputs, tmp_path, counted):
    argv = ["predict", "price.stgw", inputs, "--out", tmp_path / "out"]
    run(*argv)
    counted.clear()
    (tmp_path / "out" / "b.parquet").unlink()
    code, _, err = run(*argv)
    assert code == 0
    assert set(counted) == {"b.parquet"}
    assert "2 output files of the same model, input and options were complete already" in err
    assert f"Predicted {ROWS} rows" in err


def test_overwrite_makes_complete_outputs_again(run, inputs, tmp_path, counted):
    argv = ["predict", "price.stgw", inputs, "--out", tmp_path / "out", "--overwrite", "--json"]
    for _ in range(2):
        counted.clear()
        _, out, _ = run(*argv)
        assert set(counted) == {"a.parquet", "b.parquet", "c.parquet"}
        assert json.loads(out)["files_written"] == 3


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (["price.stgw"], ["kind.stgw"]),
        (["price.stgw"], ["price.stgw", "--keep", "rooms"]),
        (["kind.stgw"], ["kind.stgw", "--proba"]),
    ],
)
def test_another_model_or_option_makes_outputs_again(run, inputs, tmp_path, counted, first, second):
    for name, *options in (first, second):
        counted.clear()
        assert run("predict", name, inputs, "--out", tmp_path / "out", *options)[0] == 0
        assert set(counted) == {"a.parquet", "b.parquet", "c.parquet"}


def test_a_changed_input_makes_its_output_again(run, inputs, tmp_path, counted):
    argv = ["predict", "price.stgw", inputs, "--out", tmp_path / "out"]
    run(*argv)
    counted.clear()
    parquet.write_table(make_table(9), inputs / "a.parquet")
    assert run(*argv)[0] == 0
    assert set(counted) == {"a.parquet"}


def test_a_foreign_or_damaged_output_is_made_again(run, folder, inputs, tmp_path):
    out = tmp_path / "out"
    run("predict", "price.stgw", inputs, "--out", out)
    parquet.write_table(pa.table({"x": [1]}), out / "a.parquet")
    (out / "b.parquet").write_bytes(b"PAR1 damaged")
    assert run("predict", "price.stgw", inputs, "--out", out)[0] == 0
    for name in ["a.parquet", "b.parquet"]:
        found = parquet.read_table(out / name)["prediction"].to_pylist()
        assert found == predicted(inputs / name, folder / "price.stgw")


# --- interruptions and faults -----------------------------------------------------------------


def stop_at(monkeypatch, name, error):
    score = Scorer.score

    def stop(self, table, path):
        if path.name == name:
            raise error
        return score(self, table, path)

    monkeypatch.setattr(Scorer, "score", stop)


def test_an_interruption_leaves_complete_files_only(run, inputs, tmp_path, monkeypatch):
    stop_at(monkeypatch, "b.parquet", KeyboardInterrupt())
    code, _, err = run("predict", "price.stgw", inputs, "--out", tmp_path / "out")
    assert code == 130
    assert "1 of 3 files are complete, and the same command continues" in err
    assert files_in(tmp_path / "out") == ["a.parquet"]


def test_an_interrupted_program_leaves_no_temporary_file(folder, tmp_path):
    rng = np.random.default_rng(0)
    table = pa.table({name: rng.normal(size=400_000) for name in ["area", "age", "rooms"]})
    parquet.write_table(table, tmp_path / "t.parquet")
    model, data, out = folder / "price.stgw", tmp_path / "t.parquet", tmp_path / "out"
    out.mkdir()
    argv = [sys.executable, "-m", "stagewise.cli", "predict", model, data, "--out", out]
    process = subprocess.Popen(argv, stderr=subprocess.PIPE, text=True)
    while process.poll() is None and not list(out.iterdir()):
        time.sleep(0.001)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode in (0, 130)  # 0: it was complete before the signal
    assert "Traceback" not in err
    assert files_in(out) == (["t.parquet"] if process.returncode == 0 else [])


def test_a_full_disk_is_one_error_without_a_temporary_file(run, inputs, tmp_path, monkeypatch):
    full = OSError(28, os.strerror(28))

    def write(*_, **__):
        raise full

    monkeypatch.setattr("pyarrow.parquet.ParquetWriter.write_table", write)
    result = run("predict", "price.stgw", inputs, "--out", tmp_path / "out")
    fails(result, "a.parquet", "cannot be saved", "No space left on device")
    assert files_in(tmp_path / "out") == []


def test_a_file_size_limit_is_one_error_without_a_temporary_file(folder, tmp_path):
    rng = np.random.default_rng(0)
    table = pa.table({name: rng.normal(size=20_000) for name in ["area", "age", "rooms"]})
    parquet.write_table(table, tmp_path / "t.parquet")
    code = (
        "import resource, signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN); "
        "resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000)); "
        "from stagewise.cli.main import main; sys.exit(main(sys.argv[1:]))"
    )
    (tmp_path / "out").mkdir()
    data, out = tmp_path / "t.parquet", tmp_path / "out" / "o.parquet"
    argv = [sys.executable, "-c", code, "predict", folder / "price.stgw", data, "--out", out]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "File too large" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert files_in(tmp_path / "out") == []


def test_an_error_in_a_later_file_names_it_and_keeps_the_earlier_outputs(run, inputs, tmp_path):
    path = inputs / "b.parquet"
    parquet.write_table(make_table(1), path, write_page_checksum=True)
    chunk = parquet.read_metadata(path).row_group(0).column(0)
    content = bytearray(path.read_bytes())
    middle = chunk.data_page_offset + chunk.total_compressed_size // 2
    content[middle : middle + 8] = b"\xff" * 8
    path.write_bytes(content)
    out = tmp_path / "out"
    fails(run("predict", "price.stgw", inputs, "--out", out), "b.parquet', row group 0", "damaged")
    assert files_in(out) == ["a.parquet"]


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["{in}/none.parquet"], ["There is no file"]),
        (["{in}/*.csv"], ["No file matches"]),
        (["{in}/a.parquet", "test.csv"], ["is a Parquet file", "is a CSV file"]),
        (["{in}", "--out", "{in}"], ["would replace an input"]),
        (["{in}/a.parquet", "--out", "{in}/a.parquet"], ["would replace an input"]),
        (["{in}", "--out", "{in}/o.xlsx"], ["suffix determines the format"]),
        (["{in}", "--overwrite"], ["--overwrite needs --out"]),
        (["{in}", "--keep", "room"], ["--keep", "did you mean 'rooms'"]),
    ],
)
def test_a_wrong_argument_is_one_error(run, inputs, argv, words):
    fails(run("predict", "price.stgw", *(word.format(**{"in": inputs}) for word in argv)), *words)


def test_inputs_with_the_same_name_in_two_folders_are_refused(run, inputs, tmp_path):
    parquet.write_table(make_table(5), inputs / "deep" / "a.parquet")
    argv = [inputs / "a.parquet", inputs / "deep" / "a.parquet", "--out", tmp_path / "out"]
    fails(run("predict", "price.stgw", *argv), "have the same output")
