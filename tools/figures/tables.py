"""Figures of the description of a table."""

from __future__ import annotations

from sklearn.datasets import load_diabetes
from style import save

from stagewise.inspection import describe

__all__ = ["describe_table"]

COLUMNS = ["target", "bmi", "s5", "bp", "s3", "age", "s1", "sex"]


def describe_table() -> None:
    """Draw columns, scatter plots and correlations of the diabetes data, in their units."""
    frame = load_diabetes(as_frame=True, scaled=False).frame
    frame["sex"] = frame["sex"].map({1.0: "1", 2.0: "2"})
    found = describe(frame, "target")
    save(found.plot(columns=COLUMNS)[0].figure, "describe_columns")
    scatter = found.plot("scatter", columns=["bmi", "s5", "s3", "s6"])
    save(scatter[0].figure, "describe_scatter")
    save(found.plot("correlation")[0].figure, "describe_correlation")
    for row in found.outliers():
        print(
            f"  {row['column']}: {row['n_outliers']} outliers above {row['high']:.4g} or below "
            f"{row['low']:.4g}; r {row['pearson']:.3f}, {row['pearson_without']:.3f} without"
        )
