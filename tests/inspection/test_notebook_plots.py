"""Plots appear in notebooks, and pyplot finds them; in scripts no window opens."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap
from functools import cache

import matplotlib as mpl
import matplotlib.pyplot as plt
import nbformat
import numpy as np
import pytest
from matplotlib.figure import Figure
from nbclient import NotebookClient

from stagewise import GradientBoostingRegressor
from stagewise.inspection import describe, importance

SETUP = """
import numpy as np
import pandas as pd
from stagewise import GradientBoostingRegressor, LinearRegression
from stagewise.inspection import describe, importance, residuals

X = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 3)), columns=["a", "b", "c"])
y = X["a"] - X["b"]
model = GradientBoostingRegressor(n_estimators=3, early_stopping=False, random_state=0).fit(X, y)
"""

PLOTS = [
    "importance(model).plot()",
    "residuals(model, X, y).plot();",
    "ax = importance(model).plot()\nax.set_title('importances')",
    "describe(X, y).plot()",
    "describe(X, y).plot('correlation')",
    "LinearRegression().fit(X, y).plot_residuals(X, y)",
    "LinearRegression().fit(X, y).confidence_set(['a', 'b']).plot()",
]


FIT = "GradientBoostingRegressor(n_estimators=400, {}).fit(np.tile(X, (9, 1)), np.tile(y, 9));"
PROGRESS = [
    FIT.format("verbose=1, early_stopping=True, n_iter_no_change=3, learning_rate=1.0"),
    FIT.format("verbose=2, callbacks=lambda progress: progress.round == 2"),
]


@pytest.fixture(scope="module")
def outputs():
    """Return the outputs of the cells of a notebook, after a cell that fits the model."""
    cells = [
        SETUP,
        *PLOTS,
        "import matplotlib\nmatplotlib.get_backend()",
        "import matplotlib.pyplot as plt\nimportance(model).plot(plt.subplots()[1])",
        *PROGRESS,
    ]
    notebook = nbformat.v4.new_notebook(cells=list(map(nbformat.v4.new_code_cell, cells)))
    environment = {name: value for name, value in os.environ.items() if name != "MPLBACKEND"}
    NotebookClient(notebook, timeout=120, kernel_name="python3").execute(env=environment)
    return [cell["outputs"] for cell in notebook.cells[1:]]


def pictures(cell):
    return [output for output in cell if "image/png" in output.get("data", {})]


@pytest.mark.parametrize("number", range(len(PLOTS)), ids=lambda number: PLOTS[number])
def test_a_notebook_shows_each_plot_once(outputs, number):
    assert len(pictures(outputs[number])) == 1


def test_a_plot_does_not_change_the_backend_of_a_notebook(outputs):
    assert "inline" in outputs[len(PLOTS)][0]["data"]["text/plain"]


def test_a_plot_on_given_axes_makes_no_second_figure(outputs):
    assert len(pictures(outputs[len(PLOTS) + 1])) == 1


def test_the_progress_of_a_notebook_is_one_line_that_ends_with_the_reason(outputs):
    (shown,) = outputs[-2]
    assert shown["output_type"] == "display_data"
    assert re.fullmatch(
        r"round \d+/400  train .* s  stopped: no better validation loss for 3 rounds",
        shown["data"]["text/plain"],
    )
    assert "<progress" in shown["data"]["text/html"]


def test_a_notebook_has_a_line_for_every_round_if_it_is_wanted(outputs):
    text = "".join(output["text"] for output in outputs[-1])
    assert [line.split()[1] for line in text.splitlines()[:2]] == ["1/400", "2/400"]


@cache
def fitted():
    X = np.random.default_rng(0).normal(size=(60, 3))
    model = GradientBoostingRegressor(n_estimators=3, early_stopping=False, random_state=0)
    return model.fit(X, X[:, 0])


def test_pyplot_finds_and_saves_the_figure_of_a_plot(tmp_path):
    first, second = importance(fitted()).plot(), importance(fitted()).plot()
    assert (plt.get_fignums(), plt.gca()) == ([1, 2], second)
    assert plt.figure(1) is first.figure
    plt.savefig(tmp_path / "shown.png")
    first.figure.savefig(tmp_path / "own.png")
    assert (tmp_path / "shown.png").read_bytes() == (tmp_path / "own.png").read_bytes()


def test_a_plot_on_given_axes_leaves_pyplot_alone():
    importance(fitted()).plot(Figure().add_subplot())
    assert plt.get_fignums() == []


def test_a_plot_changes_no_settings_of_matplotlib():
    before = dict(mpl.rcParams), mpl.is_interactive()
    importance(fitted()).plot()
    describe(np.eye(9)).plot()
    assert before == (dict(mpl.rcParams), mpl.is_interactive())


def run(script, **environment):
    """Return what a script prints in a process of its own, without a display."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", SETUP + textwrap.dedent(script)],
        capture_output=True,
        text=True,
        check=False,
        env={"PATH": "", **environment},
    )
    assert not done.returncode, done.stderr
    return done.stdout.split()


def test_a_script_shows_a_figure_only_if_it_calls_show(tmp_path):
    (tmp_path / "window.py").write_text(
        """
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backend_bases import FigureManagerBase

shown = []

class Manager(FigureManagerBase):
    def show(self):
        shown.append(self.num)

    @classmethod
    def start_main_loop(cls):
        pass

class FigureCanvas(FigureCanvasAgg):
    required_interactive_framework = None
    manager_class = Manager
"""
    )
    printed = run(
        """
        importance(model).plot()
        import matplotlib.pyplot as plt
        import window

        print(len(window.shown))
        plt.show()
        print(len(window.shown))
        """,
        MPLBACKEND="module://window",
        PYTHONPATH=str(tmp_path),
    )
    assert printed == ["0", "1"]


def test_without_a_display_the_figure_is_drawn_by_agg(tmp_path):
    printed = run(
        """
        importance(model).plot().figure.canvas.draw()
        import matplotlib

        print(matplotlib.get_backend())
        """,
        MPLCONFIGDIR=str(tmp_path),
    )
    assert printed == ["agg"]
