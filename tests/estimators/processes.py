"""Scenes that need a process of their own, and the way to play one.

The one idea: what can hang or kill a process is done in a child with a time limit, and the child
says what came of it in one line of JSON. Each scene is a function without arguments.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

__all__ = ["play"]

TESTS = Path(__file__).resolve().parents[1]


def play(scene: str, *, module: str = "estimators.scenes", limit: float = 90.0, **env: str) -> Any:
    """Run a scene in a new interpreter and return what it returned."""
    code = f"import json; from {module} import {scene} as s; print(json.dumps(s()))"
    paths = [str(TESTS), os.environ.get("PYTHONPATH", "")]
    run = subprocess.run(
        # -S where we have it ourselves: the same installation must be found.
        [sys.executable, *(["-S"] if sys.flags.no_site else []), "-W", "ignore", "-c", code],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths)), **env},
        capture_output=True,
        text=True,
        timeout=limit,
        check=False,
    )
    assert run.returncode == 0, f"{scene} ended with {run.returncode}: {run.stderr[-2000:]}"
    return json.loads(run.stdout.splitlines()[-1])
