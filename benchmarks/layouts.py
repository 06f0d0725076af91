"""Define the inputs of the benchmarks: their shapes, row orders, ids and file layouts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

Order = Literal["grouped", "unordered", "sorted", "scattered"]
Ids = Literal["plain", "padded", "integers", "uuids", "urls", "categorical"]


@dataclass(frozen=True)
class Layout:
    """Describe a run and its judgments, for `data.make` to generate.

    order: of the run's rows. grouped: queries in arbitrary order, each in order of score;
        unordered: likewise, but not in order of score; sorted: queries in byte order; scattered:
        all rows at random.
    judged_order: the same of the judgments; grouped ones have another order of queries.
    skew: the share of all rows that one query has.
    row_group: rows of a Parquet row group, where not what the writer does by itself.
    tied: whether scores tie: about 5% of the rows of a list do.
    """

    name: str
    queries: int
    depth: int
    judgments: int
    order: Order = "grouped"
    judged_order: Order = "grouped"
    ids: Ids = "plain"
    catalogue: int = 5_000_000
    skew: float = 0.0
    row_group: int | None = None
    writer: Literal["polars", "pyarrow"] = "polars"
    tied: bool = True

    def scaled(self, rows: int) -> Layout:
        """Return the layout with fewer queries, as if the largest layout had `rows` rows."""
        return replace(self, queries=max(20, round(self.queries * rows / LARGEST)))

    def ordered(self, order: Order) -> Layout:
        """Return the layout with run and judgments in a row order."""
        return replace(self, name=f"{self.name} {order}", order=order, judged_order=order)


LARGEST = 10_000_000
SHAPES = {
    "rec": Layout("rec", 1_000_000, 10, 3),
    "mid": Layout("mid", 100_000, 100, 20),
    "search": Layout("search", 7_000, 1_000, 300),
}
_MIDDLE = Layout("", 50_000, 100, 20)
LAYOUTS = {
    layout.name: layout
    for layout in (
        *(shape.ordered("grouped") for shape in SHAPES.values()),
        *(shape.ordered("sorted") for shape in SHAPES.values()),
        replace(_MIDDLE, name="integer ids", ids="integers"),
        replace(_MIDDLE, name="UUIDs", ids="uuids"),
        replace(_MIDDLE, name="long URLs", ids="urls"),
        replace(_MIDDLE, name="zero-padded ids", ids="padded"),
        replace(_MIDDLE, name="not in score order", order="unordered"),
        replace(_MIDDLE, name="small row groups", row_group=2_000),
        replace(_MIDDLE, name="Categorical columns", ids="categorical"),
        replace(_MIDDLE, name="dictionary-encoded", catalogue=20_000, writer="pyarrow"),
        replace(_MIDDLE, name="one huge query", skew=0.05),
        replace(_MIDDLE, name="judgments scattered", judged_order="scattered"),
        *(shape.ordered("scattered") for shape in SHAPES.values()),
    )
}
# Libraries that are fed by loops, or know no rule for ties, are compared on this one alone.
SMALL = Layout("small", 5_000, 100, 20, tied=False)
# For imports and just-in-time compilation.
WARM_UP = Layout("warm-up", 50, 10, 3, tied=False)


def is_scattered(name: str) -> bool:
    """Return whether a layout's run is shuffled; page averages are separate for such runs."""
    return LAYOUTS[name].order == "scattered"
