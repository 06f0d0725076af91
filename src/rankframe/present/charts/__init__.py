"""Charts in one call: each function returns an altair chart. Needs the extra `report`.

Each has a title, says what it is of and over how many queries, and takes `title=`, `width=`,
`height=` and `theme=` ("light" or "dark"). `.save("x.png")`, `.save("x.svg")`, `.save("x.pdf")` and
`.save("x.html")` work without a network. Nothing is computed here but what a drawing needs.

The order of the imports is the order in which the documentation lists the charts.
"""

# isort: off
from rankframe.present.charts.curve_charts import *  # noqa: F403
from rankframe.present.charts.list_charts import *  # noqa: F403
from rankframe.present.charts.query_charts import *  # noqa: F403
from rankframe.present.charts.slice_charts import *  # noqa: F403
from rankframe.present.charts.rank_charts import *  # noqa: F403
from rankframe.present.charts.system_charts import *  # noqa: F403
from rankframe.present.charts.exposure_charts import *  # noqa: F403
from rankframe.present.charts.tradeoff_charts import *  # noqa: F403
from rankframe.present.charts.registry import CHARTS

__all__ = list(CHARTS)  # pyright: ignore[reportUnsupportedDunderAll]
