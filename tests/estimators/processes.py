"""Run test code in a process of its own.

Code that can hang or kill a process runs in a child with a time limit; the child reports its result
as one line of JSON. Each case is a function without arguments.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

__all__ = ["run_in_process"]

TESTS = Path(__file__).resolve().parents[1]


def run_in_process(
    function: str, *, module: str = "estimators.process_cases", limit: float = 90.0, **env: str
) -> Any:
    """Run a function of a module in a new interpreter and return its result."""
    code = f"import json; from {module} import {function} as s; print(json.dumps(s()))"
    paths = [str(TESTS), os.environ.get("PYTHONPATH", "")]
    run = subprocess.run(
        # -S if this process has it: the same installation must be found.
        [sys.executable, *(["-S"] if sys.flags.no_site else []), "-W", "ignore", "-c", code],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths)), **env},
        capture_output=True,
        text=True,
        timeout=limit,
        check=False,
    )
    assert run.returncode == 0, f"{function} ended with {run.returncode}: {run.stderr[-2000:]}"
    return json.loads(run.stdout.splitlines()[-1])
