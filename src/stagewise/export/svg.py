"""Draws a tree as SVG text, without other programs.

The root is on the left and the leaves are below each other, so that text is horizontal and a large
tree is long, not wide.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from xml.sax.saxutils import escape

from stagewise.export.formatting import (
    DIGITS,
    format_condition,
    format_node_value,
    format_statistics,
    format_weight,
)
from stagewise.export.node_statistics import ShownStatistics
from stagewise.export.text import leaves_below
from stagewise.export.tree_facts import NodeFacts, TreeFacts
from stagewise.inspection.fitted_model import check_argument
from stagewise.validation.foreign_calls import suggests_attributes
from stagewise.validation.rules import Number

__all__ = ["Picture", "export_svg"]

COLUMN, GAP, WIDTH, HEIGHT, MARGIN, LEGEND = 256, 10, 196, 42, 16, 28
"""Distances between nodes, size of boxes, margins and height of the legend, in pixels."""
LINE = 14
"""The height of a line of text, in pixels."""
LETTERS = 31
"""The number of letters that fit into a box."""
MOST_NODES = 511
"""A larger tree is drawn down to the greatest depth at which it has at most this many nodes."""
CLASSES_NAMED = 12
COLOURS = ("#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#ee7733", "#009988")
LOW, MIDDLE, HIGH = (0x44, 0x77, 0xAA), (0xC4, 0xC8, 0xCC), (0xEE, 0x77, 0x33)

STYLE = """
text { font: 11px system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; fill: #1f2933; }
.first { font-weight: 600; }
.beside { fill: #7d8790; }
.box { fill: #ffffff; stroke-width: 1.5; }
.edge { fill: none; stroke: #a3abb3; stroke-opacity: 0.75; }
@media (prefers-color-scheme: dark) {
  text { fill: #e6eaef; }
  .beside { fill: #9aa4ae; }
  .box { fill: #20262e; }
}
"""


@suggests_attributes
class Picture(str):
    """The text of an SVG file; a notebook displays it as a picture."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"Picture of a tree: SVG text of {len(self):,} characters"

    def _repr_svg_(self) -> str:
        return str(self)


def export_svg(
    estimator: Any,
    tree: int = 0,
    *,
    max_depth: int | None = None,
    digits: int = 4,
    show_gain: bool = False,
    show_impurity: bool = False,
    X: Any = None,
    y: Any = None,
    sample_weight: Any = None,
) -> Picture:
    """Return a drawing of a tree as the text of an SVG file.

    A box shows the split of a node, or the value of a leaf; below it the weight of its training
    rows and its prediction. Rows for which the condition is true go up ("yes"). Classification: a
    box has the colour of the most frequent class and a bar with the shares of all classes.
    Otherwise colour and bar show the value, between the smallest and the largest of the tree. The
    width of an edge is proportional to the number of rows; "?" marks the side of missing values.

    Parameters
    ----------
    estimator : estimator
        A fitted tree, forest or boosted model.
    tree : int, default=0
        The index of the tree; negative values count from the end.
    max_depth : int or None, default=None
        The greatest depth to draw. None: the whole tree; of a tree with more than 511 nodes the
        greatest depth at which it has at most 511.
    digits : int, default=4
        The number of significant digits.
    show_gain : bool, default=False
        Whether inner nodes have the gain of their split, as the search of the tree has computed it:
        ``gain`` of boosted trees, in the units of the loss (``docs/conventions.md``), and
        ``decrease`` of single trees and forests, W i - W_L i_L - W_R i_R with impurity i.
    show_impurity : bool, default=False
        Whether nodes have their impurity, by the criterion of the tree. Classification trees and
        forests store what is needed; regression trees and AdaBoost need X and y. Trees that are
        fitted to gradients, or to medians, have none.
    X, y : array-like or data frame, and array-like; default=None
        The training rows. With them nodes also have the sums ``G`` and ``H`` of the gradients and
        hessians at the scores before the round of the tree, or the ``impurity`` of these rows. The
        bags of a forest are not drawn again.
    sample_weight : array-like or None, default=None
        The weights of the fit, beside X and y.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from stagewise import DecisionTreeClassifier, export_svg
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> export_svg(DecisionTreeClassifier(max_leaf_nodes=3).fit(X, y))[:4]
    '<svg'
    """
    depth = check_argument("max_depth", Number(1, whole=True, or_none=True), max_depth)
    digits = check_argument("digits", DIGITS, digits)
    shown = ShownStatistics("export_svg", show_gain, show_impurity, X, y, sample_weight)
    facts = shown.facts(estimator, tree)
    drawing = _Drawing(facts, _limit(facts) if depth is None else depth, digits)
    return Picture(drawing.svg())


def _limit(facts: TreeFacts) -> int:
    """Return the greatest depth to draw."""
    per_depth: dict[int, int] = {}
    for node in facts.nodes:
        per_depth[node.depth] = per_depth.get(node.depth, 0) + 1
    seen = 0
    for depth in sorted(per_depth):
        seen += per_depth[depth]
        if seen > MOST_NODES:
            return max(1, depth - 1)
    return max(1, *per_depth)


@dataclass
class _Drawing:
    """The drawn nodes and their positions."""

    facts: TreeFacts
    depth: int
    digits: int

    def __post_init__(self) -> None:
        self.nodes = [node for node in self.facts.ordered() if node.depth <= self.depth]
        self.top = MARGIN + (LEGEND if self.facts.value_kind == "shares" else 0)
        self.box = HEIGHT + (LINE if any(node.statistics for node in self.nodes) else 0)
        row = self.box + GAP
        self.y: dict[int, float] = {}
        rows = 0
        for node in self.nodes:
            if self._ends(node):
                self.y[node.number] = self.top + self.box / 2 + row * rows
                rows += 1
        for node in reversed(self.nodes):
            if not self._ends(node):
                self.y[node.number] = (self.y[node.left] + self.y[node.right]) / 2
        ends = [node.value[0] for node in self.nodes]
        self.low, self.high = min(ends), max(ends)
        self.width: float = 2 * MARGIN + COLUMN * max(n.depth for n in self.nodes) + WIDTH
        self.height = self.top + row * (rows - 1) + self.box + MARGIN

    def _ends(self, node: NodeFacts) -> bool:
        return node.split is None or node.depth == self.depth

    def _x(self, node: NodeFacts) -> float:
        return MARGIN + COLUMN * node.depth

    def svg(self) -> str:
        legend = self._legend() if self.facts.value_kind == "shares" else []
        size = f"{self.width:g} {self.height:g}"
        parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size}" role="img"',
            f'width="{self.width:g}" height="{self.height:g}">',
            f"<style>{STYLE}</style>",
            *(self._edge(node) for node in self.nodes if node.parent >= 0),
            *(self._box(node) for node in self.nodes),
            *legend,
            "</svg>",
        ]
        return "\n".join(parts)

    def _edge(self, node: NodeFacts) -> str:
        parent = self.facts.nodes[node.parent]
        assert parent.split is not None
        x0, y0 = self._x(parent) + WIDTH, self.y[parent.number]
        x1, y1 = self._x(node), self.y[node.number]
        bend = (x0 + x1) / 2
        broad = 1 + 9 * self.facts.share(node)
        is_left = parent.left == node.number
        words = "yes" if is_left else "no"
        if parent.split.missing == ("left" if is_left else "right"):
            words += ", ?"
        at = y1 - 6 if is_left else y1 + 13
        return (
            f'<path class="edge" stroke-width="{broad:.3g}" '
            f'd="M{x0:g} {y0:g}C{bend:g} {y0:g} {bend:g} {y1:g} {x1:g} {y1:g}"/>'
            f'<text class="beside" x="{x1 - 4:g}" y="{at:g}" text-anchor="end">{words}</text>'
        )

    def _box(self, node: NodeFacts) -> str:
        facts, digits = self.facts, self.digits
        x, y = self._x(node), self.y[node.number] - self.box / 2
        value, rows = format_node_value(facts, node, digits), format_weight(facts, node)
        first, second = value, rows
        if node.split is not None:
            first = format_condition(node.split, left=True, digits=digits, missing=False)
            second = f"{rows}; {value}"
            if self._ends(node):
                first, second = f"{value} …", f"{rows}; {leaves_below(facts, node)} leaves"
        colour, third = self._colour(node), format_statistics(node, digits)
        title = f"node {node.number}: {'; '.join(filter(None, [first, second, third]))}"
        more = f'<text x="{x + 8:g}" y="{y + 43:g}">{escape(_fitting(third))}</text>'
        return (
            f"<g><title>{escape(title)}</title>"
            f'<rect class="box" x="{x:g}" y="{y:g}" width="{WIDTH}" height="{self.box}" rx="5" '
            f'stroke="{colour}"/>'
            f'<text class="first" x="{x + 8:g}" y="{y + 15:g}">{escape(_fitting(first))}</text>'
            f'<text x="{x + 8:g}" y="{y + 29:g}">{escape(_fitting(second))}</text>'
            f"{more if third else ''}"
            f"{self._bar(node, x + 8, y + self.box - 8, WIDTH - 16)}</g>"
        )

    def _bar(self, node: NodeFacts, x: float, y: float, width: float) -> str:
        """Draw the shares of the classes, or a bar for the value."""
        if self.facts.value_kind != "shares":
            span = self.high - self.low
            part = (node.value[0] - self.low) / span if span > 0 else 0.5
            return self._piece(x, y, max(2.0, width * part), self._colour(node))
        pieces, at = [], x
        for k, share in enumerate(node.value):
            if share > 0:
                pieces.append(self._piece(at, y, width * share, self._class_colour(k)))
                at += width * share
        return "".join(pieces)

    def _piece(self, x: float, y: float, width: float, colour: str) -> str:
        return f'<rect x="{x:.6g}" y="{y:g}" width="{width:.4g}" height="4" fill="{colour}"/>'

    def _legend(self) -> list[str]:
        parts, x = [], float(MARGIN)
        for k, name in enumerate(self.facts.names[:CLASSES_NAMED]):
            more = len(self.facts.names) - CLASSES_NAMED
            last = more > 0 and k == CLASSES_NAMED - 1
            words = f"{_fitting(name)}{f' and {more} more classes' if last else ''}"
            parts.append(
                f'<rect x="{x:g}" y="{MARGIN - 4}" width="10" height="10" rx="2" '
                f'fill="{self._class_colour(k)}"/>'
                f'<text class="beside" x="{x + 15:g}" y="{MARGIN + 5}">{escape(words)}</text>'
            )
            x += 15 + 6.5 * len(words) + 16
        self.width = max(self.width, x)
        return parts

    def _colour(self, node: NodeFacts) -> str:
        if self.facts.value_kind == "shares":
            return self._class_colour(max(range(len(node.value)), key=node.value.__getitem__))
        half = self.high / 2 - self.low / 2  # halves, because the difference could overflow
        part = (node.value[0] / 2 - self.low / 2) / half * 2 - 1 if half > 0 else 0.0
        end, part = (HIGH if part > 0 else LOW), abs(part)
        mixed = (round(m + part * (e - m)) for m, e in zip(MIDDLE, end, strict=True))
        return "#" + "".join(f"{c:02x}" for c in mixed)

    def _class_colour(self, k: int) -> str:
        if k < len(COLOURS):
            return COLOURS[k]
        return f"hsl({137.5 * k % 360:.0f}, 55%, 55%)"  # the golden angle gives well separated hues


def _fitting(words: str) -> str:
    return words if len(words) <= LETTERS else f"{words[: LETTERS - 1]}…"
