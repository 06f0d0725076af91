"""Define the metrics: functions that return a polars expression, by family, and their registry.

Names of metrics are parsed here. No data is read.
"""

from rankframe.metrics import (
    agreement,
    catalogue,
    correlation,
    counts,
    gain,
    hits,
    order,
    scaled,
    trec,
)
from rankframe.metrics import retrieved as shown
from rankframe.metrics import retrieved_relevant as shown_relevant
from rankframe.metrics import subtopics as groups
from rankframe.metrics.registry import REGISTRY, Definition, names_over

# Families register their metrics as they are imported.
__all__ = [
    "REGISTRY",
    "Definition",
    "agreement",
    "catalogue",
    "correlation",
    "counts",
    "gain",
    "groups",
    "hits",
    "names_over",
    "order",
    "scaled",
    "shown",
    "shown_relevant",
    "trec",
]
