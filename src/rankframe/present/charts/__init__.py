"""Draw charts: each function returns an altair chart. Requires the extra `report`.

Each chart has a title and a subtitle with the systems and the number of queries. Each function
takes `title=`, `width=`, `height=` and `theme=` ("light" or "dark"). `.save("x.png")`,
`.save("x.svg")`, `.save("x.pdf")` and `.save("x.html")` work without a network. The functions
compute only positions and sizes for the drawing, no values that decisions depend on.

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
