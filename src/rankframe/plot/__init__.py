"""Charts in one call: each function returns an altair chart. Needs the extra `report`.

`.save("x.png")`, `.save("x.svg")` and `.save("x.html")` work without a network. Nothing is computed
here but what a drawing needs.
"""

from rankframe.plot.curve_charts import (
    cumulative_gain,
    discounts,
    metric_at_k,
    precision_recall,
    roc,
)
from rankframe.plot.fusion_charts import fusion_weights
from rankframe.plot.query_charts import differences, distribution, heatmap, slices

__all__ = [
    "cumulative_gain",
    "differences",
    "discounts",
    "distribution",
    "fusion_weights",
    "heatmap",
    "metric_at_k",
    "precision_recall",
    "roc",
    "slices",
]
