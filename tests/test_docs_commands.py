"""Commands that the documentation shows have the options that they use."""

from __future__ import annotations

import argparse
import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
COMMAND = re.compile(r"^(?:\$ )?stagewise ([a-z]+) (.*)$", flags=re.MULTILINE)
OPTION = re.compile(r"(?<=\s)--[a-z][a-z-]*")
SHARED = {"--json", "--quiet", "--debug", "--help"}


def options_of(command: str) -> set[str]:
    parser = argparse.ArgumentParser()
    importlib.import_module(f"stagewise.cli.{command}").add_arguments(parser)
    return SHARED | set(parser._option_string_actions)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_option_of_a_command_exists(page):
    text = page.read_text(encoding="utf-8").replace("\\\n", " ")
    for command, rest in COMMAND.findall(text):
        unknown = set(OPTION.findall(" " + rest)) - options_of(command)
        assert not unknown, f"stagewise {command}: {sorted(unknown)}"
