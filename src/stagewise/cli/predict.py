"""``stagewise predict``: predict every row of tables of any size.

Tables are read, predicted and written in batches, by one thread each, so that memory holds a few
batches. Parquet outputs record what they were made from; a complete one is not made again.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from stagewise.cli.errors import InputError
from stagewise.cli.files import PARQUET, check_writable, open_tables
from stagewise.cli.levels import read_curve_times, read_levels
from stagewise.cli.models import add_input_arguments, open_model, text_category_columns
from stagewise.cli.names import add_column_names
from stagewise.cli.scoring.outputs import Output, Provenance, is_folder, outputs_of
from stagewise.cli.scoring.scorer import Scorer
from stagewise.cli.screen import Screen, amount
from stagewise.cli.table_writer import open_table_writer
from stagewise.datasets import Dataset
from stagewise.datasets.read_ahead import read_ahead
from stagewise.validation.messages import merge_warnings

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["add_arguments", "run"]

SECONDS_BETWEEN_MESSAGES = 5.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("model", type=Path, help="a model file written by train")
    parser.add_argument(
        "data",
        nargs="+",
        help="CSV or Parquet files, folders, or patterns such as 'in/*.parquet'",
    )
    parser.add_argument(
        "--out",
        metavar="PATH",
        help="a .csv or .parquet file for all predictions, or a folder for one Parquet file per "
        "input file (default: CSV on standard output)",
    )
    parser.add_argument(
        "--proba", action="store_true", help="also write the probability of every class"
    )
    parser.add_argument(
        "--interval",
        type=float,
        metavar="COVERAGE",
        help="also write the bounds of an interval with this coverage, such as 0.9, or which "
        "classes are in the prediction set; the model needs train --conformal",
    )
    parser.add_argument(
        "--quantile",
        metavar="LEVELS",
        help="also write quantiles of the predicted distribution, such as 0.05,0.95; the model "
        "needs a loss of a distribution, such as train --loss normal",
    )
    parser.add_argument(
        "--times",
        metavar="TIMES",
        help="also write the probability of no event until each of these times, such as "
        "30,90,365, or for competing risks the incidence of each cause; for survival models",
    )
    add_column_names(parser, "--keep", "columns to copy to the output")
    parser.add_argument(
        "--overwrite",
        action="store_true",
        help="write Parquet outputs again that are complete and up to date",
    )
    add_input_arguments(parser)


def run(args: argparse.Namespace, screen: Screen) -> None:
    """Predict, and write the predictions."""
    if args.overwrite and args.out is None:
        raise InputError("--overwrite needs --out; leave it out, or name a file or a folder.")
    if args.out is not None and not is_folder(args.out):
        check_writable(Path(args.out), (".csv", *PARQUET))
    estimator = open_model(args.model, args.threads, args.data)
    dataset = open_tables(args.data, text_category_columns(estimator))
    kept, ignored = tuple(args.keep), tuple(args.ignore)
    levels = read_levels(args.quantile)
    levels = [levels] if isinstance(levels, float) else levels or []
    options = args.proba, args.interval, tuple(levels), read_curve_times(args.times)
    scorer = Scorer(estimator, kept, ignored, *options)
    scorer.check(dataset)
    progress = _Progress(screen, dataset)
    with merge_warnings():
        if args.out is None:
            _print(scorer, dataset, screen, progress)
            return
        outputs = outputs_of(dataset, args.out)
        provenance = Provenance.of(args.model, scorer)
        skipped = _write(outputs, scorer, provenance, progress, overwrite=args.overwrite)
    _summarise(args, screen, dataset, scorer, outputs, skipped)


def _write(
    outputs: list[Output],
    scorer: Scorer,
    provenance: Provenance,
    progress: _Progress,
    *,
    overwrite: bool,
) -> list[Output]:
    """Write the outputs that are not complete; return the others."""
    skipped = []
    for done, output in enumerate(outputs):
        notes = provenance.notes(output.dataset)
        if not overwrite and output.is_complete(notes):
            skipped.append(output)
            progress.add(output.dataset.n_rows)
            continue
        output.path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with (
                open_table_writer(output.path, notes) as writer,
                closing(read_ahead(_tables(scorer, output.dataset))) as tables,
            ):
                for table in tables:
                    writer.write(table)
                    progress.add(table.num_rows)
        except KeyboardInterrupt:
            if len(outputs) == 1:
                raise
            raise KeyboardInterrupt(
                f"Interrupted; {done} of {len(outputs)} files are complete, and the same command "
                "continues with the others."
            ) from None
    return skipped


def _tables(scorer: Scorer, dataset: Dataset) -> Iterator[pa.Table]:
    """Yield the outputs of the batches; of a file without rows, a table without rows."""
    if dataset.n_rows == 0:
        yield scorer.score(dataset.source.schema.empty_table(), dataset.files[0].path)
        return
    with closing(dataset.batches(columns=scorer.columns(dataset))) as batches:
        for batch in batches:
            assert batch.part is not None
            with batch.locate_errors():
                table = scorer.score(batch.table, batch.part.file.path)
            yield table


def _print(scorer: Scorer, dataset: Dataset, screen: Screen, progress: _Progress) -> None:
    """Print the predictions: as CSV, or as lists of a JSON object."""
    summary = {"rows": dataset.n_rows, "columns": scorer.output_columns()}
    with closing(read_ahead(_tables(scorer, dataset))) as tables:
        if screen.as_json:
            lists: dict[str, list[object]] = {name: [] for name in scorer.output_columns()}
            for table in tables:
                for name, values in table.to_pydict().items():
                    lists[name] += values
            screen.result(summary | lists)
            return
        with open_table_writer(None) as writer:
            for table in tables:
                writer.write(table)
                progress.add(table.num_rows)
    screen.message(f"Predicted {_described(dataset, dataset.n_rows)}.")


def _summarise(
    args: argparse.Namespace,
    screen: Screen,
    dataset: Dataset,
    scorer: Scorer,
    outputs: list[Output],
    skipped: list[Output],
) -> None:
    """Print what was written, and what was complete already."""
    rows = dataset.n_rows - sum(output.dataset.n_rows for output in skipped)
    if len(skipped) < len(outputs):
        screen.message(f"Predicted {_described(dataset, rows)}.")
    if skipped:
        screen.message(
            f"{amount(len(skipped), 'output file')} of the same model, input and options "
            f"{'was' if len(skipped) == 1 else 'were'} complete already; --overwrite writes "
            f"{'it' if len(skipped) == 1 else 'them'} again."
        )
    screen.message(f"Predictions: {args.out}")
    screen.result(
        {
            "rows": dataset.n_rows,
            "columns": scorer.output_columns(),
            "out": str(args.out),
            "files_written": len(outputs) - len(skipped),
            "files_complete_before": len(skipped),
        }
    )


def _described(dataset: Dataset, n_rows: int) -> str:
    several = len(dataset.files) > 1
    where = amount(len(dataset.files), "file") if several else str(dataset.files[0].path)
    return f"{amount(n_rows, 'row')} of {where}"


class _Progress:
    """Prints the number of rows that are done, every few seconds."""

    def __init__(self, screen: Screen, dataset: Dataset) -> None:
        self._screen, self._total = screen, dataset.n_rows
        self._done, self._shown = 0, time.monotonic()

    def add(self, n_rows: int) -> None:
        self._done += n_rows
        now = time.monotonic()
        if now - self._shown >= SECONDS_BETWEEN_MESSAGES and self._done < self._total:
            self._shown = now
            share = self._done / self._total
            self._screen.message(f"{self._done:,} of {self._total:,} rows ({share:.0%})")
