"""Progress on standard error: a bar, or lines with the time so far."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from stagewise.boosting.monitor import Progress

__all__ = ["PassDisplay", "ProgressDisplay", "ProgressLines"]


class ProgressDisplay:
    """Shows the progress of a fit on standard error.

    Parameters
    ----------
    verbose : int
        0: nothing. 1: a bar on a terminal (if rich is installed), otherwise about one line per
        second. 2: a line for every round.
    stream : file or None
        None: standard error.
    """

    def __init__(self, verbose: int, stream: TextIO | None = None) -> None:
        self._verbose = int(verbose)
        self._stream = stream
        self._bar: Any = None
        self._last_line = 0.0
        self._last: Progress | None = None
        self._printed = False

    def show(self, progress: Progress) -> None:
        """Show one round."""
        stream = self._stream if self._stream is not None else sys.stderr
        if self._verbose <= 0 or stream is None:  # programs without a console have no stderr
            return
        self._last, self._printed = progress, False
        if self._verbose == 1 and stream.isatty() and self._show_bar(progress, stream):
            return
        now = time.monotonic()
        if self._verbose > 1 or now - self._last_line >= 1.0 or progress.round == progress.n_rounds:
            self._last_line, self._printed = now, True
            print(self._line(progress), file=stream, flush=True)

    def close(self, reason: str = "") -> None:
        """End the display; it stays, with the last round and the reason for an early end."""
        last, self._last = self._last, None
        if last is None:
            return
        end = self._line(last) + (f"  stopped: {reason}" if reason else "")
        if self._bar is not None:
            self._bar.update(self._task, description=end)
            self._bar.stop()
            self._bar = None
        elif (reason or not self._printed) and (stream := self._stream or sys.stderr) is not None:
            print(end, file=stream, flush=True)

    def _line(self, p: Progress) -> str:
        text = f"round {p.round}/{p.n_rounds}"
        for name, values in p.metrics.items():
            text += f"  {name} {values['loss']:.6g}"
            text += "".join(f" {k} {v:.6g}" for k, v in values.items() if k != "loss")
        if p.valid_loss is not None:
            text += f"  best {p.best_round}"
        return f"{text}  {p.seconds:.1f} s"

    def _show_bar(self, progress: Progress, stream: TextIO) -> bool:
        if self._bar is None:
            try:
                from rich.console import Console
                from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
                from rich.progress import Progress as RichProgress
            except ImportError:
                return False
            self._bar = RichProgress(
                TextColumn("[bold]fitting"),
                BarColumn(),
                TextColumn("{task.description}"),
                TimeRemainingColumn(),
                console=Console(file=stream),
            )
            self._bar.start()
            self._task = self._bar.add_task("", total=progress.n_rounds)
        self._bar.update(self._task, completed=progress.round, description=self._line(progress))
        return True


class PassDisplay:
    """Shows the passes over rows that are not in memory, on standard error.

    Parameters
    ----------
    verbose : int
        0: nothing. Otherwise one line on a terminal, or about one line per second.
    rows : str
        Which rows are read, such as "rows" or "validation rows".
    """

    SECONDS = 1.0
    """The least time between two lines."""

    def __init__(self, verbose: int, rows: str = "rows") -> None:
        self._on, self._rows = verbose > 0, rows
        self._begin = time.monotonic()
        self._last_line, self._last_pass = -self.SECONDS, 0

    def show(self, number: int, n: int, n_all: int | None) -> None:
        """Show that a pass has read n of all rows (None: their number is unknown)."""
        stream, now = sys.stderr, time.monotonic()
        if not self._on or stream is None:
            return
        ended = n == n_all
        if now - self._last_line < self.SECONDS and not ended and number == self._last_pass:
            return
        self._last_line, self._last_pass = now, number
        of_all = "" if n_all is None else f" of {n_all:,}"
        line = f"pass {number}: {n:,}{of_all} {self._rows}  {now - self._begin:.1f} s"
        if stream.isatty():  # the line is written again until the pass ends
            print(f"\r{line}\x1b[K", end="\n" if ended else "", file=stream, flush=True)
        else:
            print(line, file=stream, flush=True)


class ProgressLines:
    """Prints lines about the progress of a computation, with the time so far, on standard error.

    Parameters
    ----------
    verbose : int
        0: nothing is printed.
    prefix : str
        The beginning of every line.
    seconds : float
        The least time between two lines.
    """

    def __init__(self, verbose: int, prefix: str = "", seconds: float = 0.0) -> None:
        self._on, self._prefix, self._seconds = verbose > 0, prefix, seconds
        self._begin = self._last_line = time.monotonic()

    def show(self, text: str, *, last: bool = False) -> None:
        """Print a line; if it is not `last`, only if enough time has passed since the previous."""
        now = time.monotonic()
        too_soon = now - self._last_line < self._seconds and not last
        if not self._on or too_soon or sys.stderr is None:
            return
        self._last_line = now
        line = f"{self._prefix}{text}  {now - self._begin:.1f} s"
        print(line, file=sys.stderr, flush=True)  # noqa: T201  verbose output
