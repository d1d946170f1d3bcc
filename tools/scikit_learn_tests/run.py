"""Run scikit-learn's own tests with our estimators, and compare with the expected failures.

make scikit-learn-tests                                   # fails on any difference
python tools/scikit_learn_tests/run.py --update           # writes the list and the page
python tools/scikit_learn_tests/run.py test_bagging       # some modules only
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import sklearn

FOLDER = Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER.parent))

from scikit_learn_tests.plugin import MODULES
from scikit_learn_tests.reasons import REASONS, reason_of

EXPECTED = FOLDER / "expected.json"
PAGE = FOLDER.parents[1] / "docs" / "scikit-learn-tests.md"

Outcomes = dict[str, str]

HEAD = """\
# scikit-learn's own tests

The tests of scikit-learn {version} for AdaBoost, bagging, forests, gradient boosting and trees
are part of its wheel. `make scikit-learn-tests` runs them with the estimators of this library in
the place of scikit-learn's: `tools/scikit_learn_tests/shims.py` translates the names of
parameters by the table of [names of other libraries](coming-from.md), and sets scikit-learn's
defaults. The target is not a part of `make test`. It fails if a test that is not listed fails,
and if a listed one passes.

Tests of private parts (binning, histograms, splitters, growers, predictors and the export of
scikit-learn's trees) are not run.

| module | pass | fail | total |
|---|---|---|---|
"""


def run_module(module: str) -> Outcomes:
    """Return the message of every test, "" for those that pass."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "outcomes.json"
        root = Path(sklearn.__file__).parent
        command = [sys.executable, "-m", "pytest", "-c", os.devnull, "--rootdir", str(root), "-q"]
        command += ["-p", "scikit_learn_tests.plugin", "-p", "no:cacheprovider", "--tb=short"]
        environment = {
            **os.environ,
            "PYTHONPATH": str(FOLDER.parent),
            "SCIKIT_LEARN_OUTCOMES": str(file),
        }
        subprocess.run(
            [*command, "--pyargs", module],
            cwd=folder,
            env=environment,
            stdout=subprocess.DEVNULL,
            check=False,
        )
        outcomes: Outcomes = json.loads(file.read_text(encoding="utf-8"))
        return outcomes


def label(module: str) -> str:
    """Return a short name of a module; two have the same last part."""
    prefix = "hist_" if "_hist_gradient" in module else ""
    return prefix + module.rpartition(".")[2]


def failures(module: str, outcomes: Outcomes) -> dict[str, str]:
    """Return the reason of every test that fails."""
    return {
        name: reason_of(label(module), name.partition("[")[0], message)
        for name, message in sorted(outcomes.items())
        if message
    }


def compare(module: str, outcomes: Outcomes, expected: dict[str, str]) -> list[str]:
    """Return the differences from the expected failures."""
    failed = {name for name, message in outcomes.items() if message}
    lines = [f"fails: {name}: {outcomes[name]}" for name in sorted(failed - set(expected))]
    lines += [
        f"{'passes' if name in outcomes else 'is gone'}: {name}"
        for name in sorted(set(expected) - failed)
    ]
    return [f"{label(module)} {line}" for line in lines]


def write_page(stored: dict[str, Any]) -> None:
    """Write docs/scikit-learn-tests.md."""
    text = HEAD.format(version=stored["scikit-learn"])
    groups: dict[str, dict[str, Counter[str]]] = defaultdict(lambda: defaultdict(Counter))
    for module in MODULES:
        failed, total = stored["failures"][label(module)], stored["tests"][label(module)]
        text += f"| `{module}` | {total - len(failed)} | {len(failed)} | {total} |\n"
        for name, reason in failed.items():
            groups[reason][label(module)][name.partition("[")[0]] += 1
    text += "\n## Why tests fail\n"
    for reason, (title, sentence) in REASONS.items():
        if reason not in groups:
            continue
        total = sum(sum(found.values()) for found in groups[reason].values())
        text += f"\n### {title[0].upper()}{title[1:]} ({total})\n\n{sentence}\n\n"
        for module, found in groups[reason].items():
            names = ", ".join(f"`{n}`{f' ({c})' if c > 1 else ''}" for n, c in found.items())
            text += f"- `{module}`: {names}\n"
    PAGE.write_text(text, encoding="utf-8")


def main() -> int:
    """Run the modules; return 1 on any difference."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("modules", nargs="*", help="such as test_bagging; default: all")
    parser.add_argument("--update", action="store_true", help="write the list and the page")
    args = parser.parse_args()
    if unknown := {*args.modules} - {*map(label, MODULES)}:
        parser.error(f"no module {sorted(unknown)}; there are {', '.join(map(label, MODULES))}")
    chosen = [m for m in MODULES if not args.modules or label(m) in args.modules]
    stored: dict[str, Any] = json.loads(EXPECTED.read_text(encoding="utf-8"))
    if not args.update and stored["scikit-learn"] != sklearn.__version__:
        version = stored["scikit-learn"]
        print(f"The list is of scikit-learn {version}; this is {sklearn.__version__}.")
        return 1
    differences = []
    for module in chosen:
        outcomes = run_module(module)
        failed = failures(module, outcomes)
        passed = len(outcomes) - len(failed)
        print(f"{module}: {passed} pass, {len(failed)} fail", flush=True)
        if args.update:
            stored["failures"][label(module)] = failed
            stored["tests"][label(module)] = len(outcomes)
        else:
            differences += compare(module, outcomes, stored["failures"][label(module)])
    if args.update:
        stored["scikit-learn"] = sklearn.__version__
        text = json.dumps(stored, indent=1, ensure_ascii=False)
        EXPECTED.write_text(f"{text}\n", encoding="utf-8")
        write_page(stored)
    print("\n".join(differences) or "No difference.")
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
