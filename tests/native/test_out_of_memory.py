"""If memory or threads are short, MemoryError is raised, or fewer threads do the work.

A sample of the full run of `make oom`.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]
COMPILER = shutil.which(os.environ.get("CXX", "")) or shutil.which("g++") or shutil.which("c++")

pytestmark = [
    pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="needs the GNU C library"),
    pytest.mark.skipif(COMPILER is None, reason="needs a C++ compiler"),
    pytest.mark.skipif("LD_PRELOAD" in os.environ, reason="another library counts the memory"),
]


@pytest.fixture(scope="module")
def failing(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the library that makes requests fail."""
    library = tmp_path_factory.mktemp("memory") / "failing.so"
    source = TESTS / "memory" / "failing.cpp"
    flags = ["-std=c++20", "-O1", "-shared", "-fPIC", "-o", str(library), str(source), "-ldl"]
    subprocess.run([str(COMPILER), *flags], check=True)
    return library


@pytest.mark.parametrize("mode", [["--every", "11"], ["--every", "40", "--persistent"]])
def test_every_failed_request_is_a_memory_error_or_has_no_effect(
    failing: Path, mode: list[str]
) -> None:
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "memory.inject", "--short", *mode],
        env={**os.environ, "LD_PRELOAD": str(failing), "PYTHONPATH": str(TESTS)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr[-2000:]
