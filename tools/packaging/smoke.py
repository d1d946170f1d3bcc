"""Try an installed package: what a user does in the first minute.

    python tools/packaging/smoke.py library            # needs no extra
    python tools/packaging/smoke.py library commands   # needs the extra cli

Run it with the Python of an environment that has the package, not the repository.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import stagewise
from stagewise.lab.html import lab_html


def check_library(folder: Path) -> None:
    """Fit, save, load and report, with the dependencies of the library only."""
    installed = Path(stagewise.__file__).resolve()
    check(installed.is_relative_to(Path(sys.prefix).resolve()), f"imported from {installed}")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 4))
    y = np.where(X[:, 0] * X[:, 1] + 0.1 * rng.normal(size=500) > 0, "yes", "no")
    model = stagewise.GradientBoostingClassifier(n_estimators=50).fit(X[:400], y[:400])
    check(model.score(X[400:], y[400:]) > 0.8, "accuracy on held-out rows at most 0.8")
    model.save(folder / "model.stgw")
    again = stagewise.load(folder / "model.stgw")
    check(again.fingerprint() == model.fingerprint(), "the loaded model differs")
    page = model.report(X[400:], y[400:], folder / "report.html")
    check("<script" in page.read_text(encoding="utf-8"), "the report page has no script")
    check("<script" in lab_html(), "the lab page has no script")


def check_commands(folder: Path) -> None:
    """Run the demo and every command of the command line."""
    demo = folder / "demo"
    run(sys.executable, "-m", "stagewise.cli.demo", "--out", str(demo))
    program = shutil.which("stagewise", path=str(Path(sys.executable).parent))
    check(program is not None, "the environment has no program stagewise")
    train, test = str(demo / "train.csv"), str(demo / "test.csv")
    model = str(folder / "commands.stgw")
    for arguments in (
        ["--version"],
        ["train", train, "--target", "diagnosis", "--model", model],
        ["show", model],
        ["evaluate", model, test],
        ["predict", model, test, "--out", str(folder / "predictions.csv")],
        ["describe", test, "--target", "diagnosis"],
        ["report", model, test, "--out", str(folder / "test.html")],
        ["lab", "--out", str(folder / "lab.html")],
    ):
        run(str(program), *arguments)
    for name in ("predictions.csv", "test.html", "lab.html"):
        check((folder / name).stat().st_size > 0, f"{name} is empty")


def run(*command: str) -> None:
    """Run a command; print its output only if it fails."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    check(done.returncode == 0, f"{' '.join(command)}\n{done.stdout}{done.stderr}")


def check(passed: bool, fault: str) -> None:
    """Exit with the fault unless the check has passed."""
    if not passed:
        sys.exit(f"smoke.py: {fault}")


CHECKS = {"library": check_library, "commands": check_commands}


def main(names: list[str]) -> None:
    unknown = sorted(set(names) - set(CHECKS))
    check(bool(names) and not unknown, f"expected names of {list(CHECKS)}, got {names}")
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            CHECKS[name](Path(folder))
        print(f"{name}: passed ({stagewise.__version__}, Python {sys.version.split()[0]})")


if __name__ == "__main__":
    main(sys.argv[1:])
