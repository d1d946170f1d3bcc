"""Progress: a bar in a terminal or a notebook, or lines with the time so far on standard error."""

from __future__ import annotations

import sys
import time
from html import escape
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from stagewise.boosting.monitor import Progress

__all__ = ["NotebookCell", "PassDisplay", "ProgressDisplay", "ProgressLines"]


WIDE_TERMINAL = 120
"""The number of columns for a bar with words and the time that is left."""


class ProgressDisplay:
    """Shows the progress of a fit.

    Parameters
    ----------
    verbose : int
        0: nothing. 1: a bar on a terminal (if rich is installed) and in a notebook, otherwise lines
        after the rounds 1, 2, 5, 10, 20, 50 and so on, and after half a minute without one. 2: a
        line for every round.
    stream : file or None
        None: standard error, or the output of a notebook.
    loss : str
        The loss in words, for the end of the first line.
    """

    SECONDS = 30.0
    """The longest time between two lines, if a round ends."""

    def __init__(self, verbose: int, stream: TextIO | None = None, loss: str = "") -> None:
        self._verbose = int(verbose)
        self._stream = stream
        self._loss = f"  (loss: {loss})" if loss else ""
        self._bar: Any = None
        self._cell: NotebookCell | None = None
        self._last_line = 0.0
        self._last: Progress | None = None
        self._printed = False

    @property
    def shows(self) -> bool:
        """Whether anything is shown."""
        return self._verbose > 0

    def show(self, progress: Progress) -> None:
        """Show one round."""
        stream = self._stream if self._stream is not None else sys.stderr
        if self._verbose <= 0 or stream is None:  # programs without a console have no stderr
            return
        self._last, self._printed = progress, False
        if self._verbose == 1:
            if self._last_line == 0.0:
                self._last_line = time.monotonic()
                self._cell = NotebookCell.open() if self._stream is None else None
            if self._cell is not None:
                self._cell.show(progress.round / progress.n_rounds, self._line(progress))
                return
            if stream.isatty() and self._show_bar(progress, stream):
                return
        now = time.monotonic()
        due = now - self._last_line >= self.SECONDS or progress.round == progress.n_rounds
        if self._verbose > 1 or due or _is_one_two_five(progress.round):
            self._last_line, self._printed = now, True
            words, self._loss = self._loss, ""
            print(self._line(progress) + words, file=stream, flush=True)

    def close(self, reason: str = "") -> None:
        """End the display; it stays, with the last round and the reason for an early end."""
        last, self._last = self._last, None
        if last is None:
            return
        end = self._line(last) + (f"  stopped: {reason}" if reason else "")
        if self._bar is not None:
            whole = {"total": last.round, "completed": last.round}  # also after an early end
            self._bar.update(self._task, **whole, description=self._line(last), verb="fitted")
            self._bar.stop()
            if reason:  # a line of its own, since the bar may be as wide as the terminal
                print(f"stopped: {reason}", file=self._stream or sys.stderr, flush=True)
            self._bar = None
        elif self._cell is not None:
            self._cell.show(1.0, end, last=True)
            self._cell = None
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
            console = Console(file=stream)
            wide = console.width >= WIDE_TERMINAL
            self._bar = RichProgress(
                *([TextColumn("[bold]{task.fields[verb]}")] if wide else []),
                BarColumn(40 if wide else 10),
                TextColumn("{task.description}"),
                *([TimeRemainingColumn()] if wide else []),
                console=console,
            )
            self._bar.start()
            self._task = self._bar.add_task("", total=progress.n_rounds, verb="fitting")
        self._bar.update(self._task, completed=progress.round, description=self._line(progress))
        return True


def _is_one_two_five(number: int) -> bool:
    """Return whether a number is 1, 2 or 5 times a power of ten."""
    digits = str(number)
    return digits[0] in "125" and not digits[1:].strip("0")


class NotebookCell:
    """A line with a bar in the output of a notebook cell, which is replaced as a fit goes on.

    Parameters
    ----------
    handle : IPython.display.DisplayHandle
        What shows the line.
    """

    SECONDS = 0.1
    """The least time between two updates."""

    def __init__(self, handle: Any) -> None:
        self._handle, self._begun, self._last = handle, False, 0.0

    @classmethod
    def open(cls) -> NotebookCell | None:
        """Return a line in the output of the cell that is being run; None: there is no cell."""
        shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
        if not hasattr(shell, "kernel"):  # a terminal
            return None
        from IPython.display import DisplayHandle

        handle: Any = DisplayHandle  # without types
        return cls(handle())

    def show(self, share: float, line: str, *, last: bool = False) -> None:
        """Show a line, unless the previous one was shown just now."""
        now = time.monotonic()
        if self._begun and now - self._last < self.SECONDS and not last:
            return
        data = {
            "text/plain": line,
            "text/html": f"<div class='stagewise-progress'><progress value='{share:.4f}' max='1'>"
            f"</progress> <code>{escape(line)}</code></div>",
        }
        (self._handle.update if self._begun else self._handle.display)(data, raw=True)
        self._begun, self._last = True, now


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
