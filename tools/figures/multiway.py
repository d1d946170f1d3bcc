"""The figure of docs/methods/multiway_splits.md."""

from __future__ import annotations

from id3 import TABLES, measure
from style import BLUE, GREEN, ORANGE, plt, save

__all__ = ["multiway_splits"]

SIZES = (2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, None)
COLOURS = {"binary": BLUE, "multiway, gain": ORANGE, "multiway, gain ratio": GREEN}
LINES = {"binary": ".-", "multiway, gain": "-", "multiway, gain ratio": "--"}
TICKS = [1, 3, 10, 30, 100, 300]
TITLES = {
    "groups": "groups: 40 categories, 2 groups",
    "identifier": "identifier: 150 codes without effect",
    "every value": "every value: 4 categories, 4 rules",
}


def multiway_splits() -> None:
    """Draw training entropy and test error against the number of leaves."""
    fig, axes = plt.subplots(2, 3, figsize=(10, 5), sharex=True, sharey="row")
    for column, name in zip(axes.T, TABLES, strict=True):
        for kind, path in measure(name, sizes=SIZES).items():
            leaves, within, errors = zip(*path, strict=True)
            for ax, y in ((column[0], within), (column[1], [100 * e for e in errors])):
                # Between two multiway trees there is no other: their lines are steps.
                steps = "default" if kind == "binary" else "steps-post"
                ax.plot(
                    leaves, y, LINES[kind], drawstyle=steps, color=COLOURS[kind], ms=4, label=kind
                )
            print(f"  {name}, {kind}: least test error {min(errors):.3f}")
        column[0].set_title(TITLES[name])
        column[1].set(xlabel="leaves", xscale="log", xticks=TICKS, xticklabels=TICKS)
        column[1].minorticks_off()
    axes[0, 0].set_ylabel("training entropy (nats)")
    axes[1, 0].set_ylabel("test error (%)")
    axes[0, 2].legend()
    save(fig, "multiway_splits")
