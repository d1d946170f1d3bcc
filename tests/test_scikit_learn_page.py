"""The page about scikit-learn's own tests has the list of expected failures."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "tools" / "scikit_learn_tests"

CODE = """
import json, sys
sys.path.insert(0, sys.argv[1])
from scikit_learn_tests import run
run.PAGE = run.Path(sys.argv[2])
run.write_page(json.loads(run.EXPECTED.read_text(encoding="utf-8")))
"""


def test_the_page_is_written_from_the_list(tmp_path):
    written = tmp_path / "page.md"
    command = [sys.executable, "-c", CODE, str(FOLDER.parent), str(written)]
    subprocess.run(command, check=True)
    page = ROOT / "docs" / "scikit-learn-tests.md"
    assert written.read_text(encoding="utf-8") == page.read_text(encoding="utf-8")


def test_every_failure_has_a_reason():
    stored = json.loads((FOLDER / "expected.json").read_text(encoding="utf-8"))
    for module, failures in stored["failures"].items():
        assert all(failures.values()), module
        assert len(failures) <= stored["tests"][module]
