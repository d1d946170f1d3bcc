"""What the user sees while something takes long: nothing, a bar, or a line now and then."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from stagewise.boosting.monitor import Progress

__all__ = ["Lines", "ProgressDisplay"]


class ProgressDisplay:
    """Shows the progress of a fit on standard error.

    Parameters
    ----------
    verbose : int
        0: nothing. 1: a bar on a terminal (with rich, if it is installed), else about a line a
        second. 2: a line for every round.
    """

    def __init__(self, verbose: int, stream: TextIO | None = None) -> None:
        self._verbose = int(verbose)
        self._stream = stream
        self._bar: Any = None
        self._last_line = 0.0

    def show(self, progress: Progress) -> None:
        """Show one round."""
        stream = self._stream if self._stream is not None else sys.stderr
        if self._verbose <= 0 or stream is None:  # a program without a console has none
            return
        if self._verbose == 1 and stream.isatty() and self._show_bar(progress, stream):
            return
        now = time.monotonic()
        if self._verbose > 1 or now - self._last_line >= 1.0 or progress.round == progress.n_rounds:
            self._last_line = now
            print(self._line(progress), file=stream, flush=True)

    def close(self) -> None:
        """Leave the terminal as it was."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def _line(self, p: Progress) -> str:
        text = f"round {p.round}/{p.n_rounds}"
        if p.train_loss is not None:
            text += f"  train {p.train_loss:.6g}"
        if p.valid_loss is not None:
            text += f"  valid {p.valid_loss:.6g}  best {p.best_round}"
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
                transient=True,
            )
            self._bar.start()
            self._task = self._bar.add_task("", total=progress.n_rounds)
        self._bar.update(self._task, completed=progress.round, description=self._line(progress))
        if progress.round == progress.n_rounds:
            self.close()
        return True


class Lines:
    """Says on standard error what is done, and how long it has taken so far.

    Parameters
    ----------
    verbose : int
        0: nothing is said.
    prefix : str
        What every line begins with.
    seconds : float
        How many pass from line to line, at least.
    """

    def __init__(self, verbose: int, prefix: str = "", seconds: float = 0.0) -> None:
        self._on, self._prefix, self._seconds = verbose > 0, prefix, seconds
        self._begin = self._said = time.monotonic()

    def say(self, words: str, *, last: bool = False) -> None:
        """Say it, unless a line was said just now; the last one is said in any case."""
        now = time.monotonic()
        if not self._on or (now - self._said < self._seconds and not last) or sys.stderr is None:
            return
        self._said = now
        line = f"{self._prefix}{words}  {now - self._begin:.1f} s"
        print(line, file=sys.stderr, flush=True)  # noqa: T201  asked for
