"""rankframe: evaluate rankings at dataframe speed.

Join judgments and rankings once into a judged frame; after that every metric is one polars
expression, grouped by query.
"""

import builtins
from importlib import import_module

from rankframe.core import forks as _forks  # noqa: F401 (notes forks from here on)

__version__ = "0.1.0"

# Where each public name lives. What it needs is imported when it is first used, so that
# `import rankframe` costs next to nothing. Type checkers and editors read `__init__.pyi`, which is
# written from this table and the registry by `docs/make.py`.
_HOMES = {
    "Comparison": "analysis.comparison",
    "DEFAULT_METRICS": "engine.evaluate",
    "Diff": "analysis.diff",
    "RankframeError": "core.errors",
    "RankframeWarning": "core.caveats",
    "Result": "engine.result",
    "Tuning": "analysis.tuning.outcome",
    "Verdict": "analysis.verdict",
    "agree": "engine.agree",
    "area_under": "analysis.curves.area",
    "compare": "analysis.compare",
    "curve": "analysis.curves.curve",
    "diff": "analysis.diff",
    "exposure": "engine.lazy_frames",
    "evaluate": "engine.evaluate",
    "example": "io.sources.examples",
    "from_lists": "io.lists",
    "from_relevance": "io.lists",
    "from_responses": "io.responses",
    "from_topk": "io.lists",
    "fuse": "analysis.fusion.fuse",
    "gate": "analysis.gate",
    "history": "engine.history",
    "judge": "engine.lazy_frames",
    "retrieved": "engine.lazy_frames",
    "metric": "metrics.names",
    "pair": "engine.lazy_frames",
    "rbo_p": "metrics.agreement",
    "rbo_weight": "metrics.agreement",
    "report": "present.report.report",
    "stack": "analysis.fusion.fuse",
    "downsample_curve": "analysis.curves.area",
    "tune": "analysis.tuning.tune",
}
_PACKAGES = {"plot": "present.charts", "spark": "spark"}


def __dir__() -> list[str]:
    """List the public names only."""
    return sorted(["__version__", *_HOMES, *_PACKAGES, *_metrics()])


def __getattr__(name: str) -> object:
    if name == "__all__":
        # `from rankframe import *` is not to hide a builtin: rf.map.
        value = [
            each for each in __dir__() if each != "__version__" and not hasattr(builtins, each)
        ]
    elif name in _PACKAGES:
        value = import_module(f"rankframe.{_PACKAGES[name]}")
    elif name in _HOMES:
        value = getattr(import_module(f"rankframe.{_HOMES[name]}"), name)
    elif name.startswith("_") or (value := _metrics().get(name)) is None:
        from rankframe.core.messages import did_you_mean  # noqa: PLC0415 (only to complain)

        hint = "" if name.startswith("_") else did_you_mean(name, __dir__())
        raise AttributeError(f"module 'rankframe' has no attribute {name!r}. {hint}".rstrip(" "))
    globals()[name] = value
    return value


def _metrics() -> dict[str, object]:
    """Return the metrics, which are functions, by their names and aliases."""
    registry = import_module("rankframe.metrics").REGISTRY.values()
    return {name: metric.function for metric in registry for name in (metric.name, *metric.aliases)}
