"""The ``stagewise`` command: its arguments, its errors and its exit codes.

Commands raise exceptions; only this file turns them into one line on standard error and an exit
code. ``--debug`` also prints the traceback. A command is imported when it is used, so ``--version``
and ``--help`` import nothing else.

Exit codes
----------
0
    Success.
1
    A file, its data or a parameter is wrong; the message on standard error has a remedy.
2
    Wrong usage; see ``--help``.
130
    Interrupted with Ctrl-C; no file was changed, or predict has named the complete ones.
"""

from __future__ import annotations

import argparse
import importlib
import os
import shlex
import sys
import traceback
import warnings
from collections.abc import Sequence
from typing import NoReturn

from stagewise.cli.errors import InputError
from stagewise.cli.hints import command_hint, option_hint, with_repeated_set
from stagewise.cli.screen import Screen

__all__ = ["main"]

REQUIRED, UNKNOWN = "the following arguments are required", "unrecognized arguments:"
NO_COMMAND = "argument COMMAND: invalid choice:"
OK, BAD_INPUT, USAGE, INTERRUPTED = 0, 1, 2, 130

# The file of the same name has the functions `add_arguments` and `run`.
_COMMANDS = {
    "train": "train a model on a table and save it",
    "predict": "predict every row of a table with a saved model",
    "evaluate": "score a saved model on a table with known targets",
    "show": "show the contents of a saved model",
    "describe": "describe a table and list possible problems before training",
    "report": "write an HTML report about a saved model",
    "lab": "write a page on which boosting can be tried",
}

_EPILOG = """\
examples:
  stagewise train houses.csv --target price
  stagewise train houses.csv --target price --method forest
  stagewise train 'rows/*.parquet' --target price --memory-limit 4GB
  stagewise predict houses.stgw new.csv --out predictions.csv
  stagewise predict houses.stgw 'in/*.parquet' --out predictions/
  stagewise evaluate houses.stgw test.parquet
  stagewise show houses.stgw
  stagewise describe houses.csv --target price
  stagewise report houses.stgw test.parquet
  stagewise lab --out lab.html

exit codes: 0 success, 1 wrong file or parameter, 2 wrong usage, 130 interrupted.
Results go to standard output, all other messages to standard error.
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code.

    Parameters
    ----------
    argv : sequence of str, optional
        The arguments without the program name; by default those of the process.
    """
    argv = with_repeated_set(sys.argv[1:] if argv is None else argv)
    try:
        args = _parser(argv).parse_args(argv)
    except SystemExit as stop:  # argparse has printed the error
        return stop.code if isinstance(stop.code, int) else USAGE
    screen = Screen(as_json=args.json, quiet=args.quiet)
    with warnings.catch_warnings():
        warnings.showwarning = lambda message, *_, **__: screen.warn(str(message))
        return _run(args, screen)


def _run(args: argparse.Namespace, screen: Screen) -> int:
    try:
        args.run(args, screen)
        sys.stdout.flush()
    except KeyboardInterrupt as stop:
        return _fail(args, str(stop) or "Interrupted; no file was changed.", INTERRUPTED)
    except BrokenPipeError:
        # The reader of the pipe has closed it; leave nothing for Python to flush at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except InputError as error:
        return _fail(args, str(error), BAD_INPUT)
    except (ValueError, TypeError) as error:
        # The library's own message about the data, a parameter or a model file.
        return _fail(args, str(error), BAD_INPUT)
    except MemoryError:
        return _fail(args, "Not enough memory; use fewer rows or columns.", BAD_INPUT)
    except OSError as error:
        where = f"{error.filename!r}: " if error.filename else ""
        reason = str(error.strerror or error).rstrip(".")
        return _fail(args, f"{where}{reason}.", BAD_INPUT)
    except Exception as error:
        bug = f"{type(error).__name__}: {error} (this is a bug; --debug shows where)"
        return _fail(args, bug, BAD_INPUT)
    return OK


def _fail(args: argparse.Namespace, sentence: str, code: int) -> int:
    if args.debug:
        traceback.print_exc()
    sys.stderr.write(f"stagewise {args.command}: {sentence}\n")
    return code


class _Parser(argparse.ArgumentParser):
    """A parser whose errors have the option that was meant, and the file that an option took."""

    argv: Sequence[str] = ()
    command: _Parser | None = None
    """The parser of the command that is run, which has the usage for its errors."""

    def error(self, message: str) -> NoReturn:
        from stagewise.cli.names import with_files_first

        right = with_files_first(self.argv) if message.startswith(REQUIRED) else None
        if right is not None:
            message += (
                ". An option such as --ignore takes all names that follow it, and the last one is "
                f"a file; write it first: {shlex.join(['stagewise', *right])}"
            )
        if message.startswith(UNKNOWN):
            own = self if self.command is None else self.command
            word = message.removeprefix(UNKNOWN).split()[0]
            after = self.argv[self.argv.index(word) + 1 :] if word in self.argv else ()
            value = next(iter(after), "VALUE")
            message += option_hint(word, list(own._option_string_actions), value)  # noqa: SLF001
            super(_Parser, own).error(message)
        if message.startswith(NO_COMMAND):
            message += command_hint(message.removeprefix(NO_COMMAND).split("'")[1], _COMMANDS)
        super().error(message)


def _parser(argv: Sequence[str]) -> argparse.ArgumentParser:
    """Return the parser; only commands that `argv` contains get their arguments."""
    from stagewise import __version__

    parser = _Parser(
        prog="stagewise",
        description="Boosting, forests and linear models from the command line: train a model on "
        "a table, predict with it, evaluate it and inspect it.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"stagewise {__version__}")
    shared = _Parser(add_help=False)
    group = shared.add_argument_group("output")
    group.add_argument("--json", action="store_true", help="print the result as JSON")
    group.add_argument("--quiet", action="store_true", help="print no progress messages")
    group.add_argument("--debug", action="store_true", help="print the traceback of an error")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, summary in _COMMANDS.items():
        one = commands.add_parser(
            name, parents=[shared], help=summary, description=f"{summary[0].upper()}{summary[1:]}."
        )
        if name in argv:
            parser.argv = one.argv = argv
            command = importlib.import_module(f"stagewise.cli.{name}")
            command.add_arguments(one)
            parser.command = one
            one.set_defaults(run=command.run)
    return parser


if __name__ == "__main__":
    sys.exit(main())
