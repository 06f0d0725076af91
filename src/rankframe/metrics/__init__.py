"""Define the metrics: functions that return a polars expression, by family, and their registry.

Names of metrics are parsed here. No data is read.
"""

from rankframe.metrics import (  # noqa: F401 (families register their metrics as they are imported)
    agreement,
    catalogue,
    gain,
    hits,
    order,
    retrieved,
    subtopics,
    trec,
)
from rankframe.metrics.metric import REGISTRY, Definition, names_over

__all__ = ["REGISTRY", "Definition", "names_over"]
