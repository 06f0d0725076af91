"""Charts in one call: each function returns an altair chart. Needs the extra `report`.

Each has a title, says what it is of and over how many queries, and takes `title=`, `width=`,
`height=` and `theme=` ("light" or "dark"). `.save("x.png")`, `.save("x.svg")`, `.save("x.pdf")` and
`.save("x.html")` work without a network. Nothing is computed here but what a drawing needs.
"""

from rankframe.present.charts.change_charts import differences, scatter
from rankframe.present.charts.curve_charts import (
    cumulative_gain,
    metric_at_k,
    precision_recall,
    roc,
)
from rankframe.present.charts.exposure_charts import exposure, popularity
from rankframe.present.charts.fusion_charts import fusion_weights
from rankframe.present.charts.list_charts import (
    discounts,
    grades,
    precision_at,
    reciprocal_rank,
    strip,
)
from rankframe.present.charts.query_charts import distribution, per_query
from rankframe.present.charts.rank_charts import bump, calibration, heatmap
from rankframe.present.charts.slice_charts import forest, slice_map, slices
from rankframe.present.charts.system_charts import agreement, history, significance
from rankframe.present.charts.tradeoff_chart import tradeoff

__all__ = [
    "agreement",
    "bump",
    "calibration",
    "cumulative_gain",
    "differences",
    "discounts",
    "distribution",
    "exposure",
    "forest",
    "fusion_weights",
    "grades",
    "heatmap",
    "history",
    "metric_at_k",
    "per_query",
    "popularity",
    "precision_at",
    "precision_recall",
    "reciprocal_rank",
    "roc",
    "scatter",
    "significance",
    "slice_map",
    "slices",
    "strip",
    "tradeoff",
]
