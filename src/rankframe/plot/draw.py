"""From files to a chart in a file: what `rankframe plot` does."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rankframe import plot
from rankframe.base.errors import OptionError, OutputError
from rankframe.base.output import write_file
from rankframe.curves.curve import Kind, curve
from rankframe.decisions.diff import diff
from rankframe.evaluation.evaluate import evaluate
from rankframe.frames.judge import judge
from rankframe.inputs.queries import By
from rankframe.inputs.scan import Columns, Source

_ENDINGS = (".png", ".svg", ".html")
_SCALE = 2  # of a picture of dots, for sharp screens


@dataclass(frozen=True)
class Picture:
    """What to draw, of what."""

    kind: str
    qrels: Source | None = None
    runs: Mapping[str, Source] = field(default_factory=dict)
    metric: str = "ndcg@10"
    k: int = 20
    distance: bool = False
    queries: Source | None = None
    by: list[By] | list[tuple[str, ...]] | None = None
    columns: Columns | None = None
    rel: float | None = None

    def chart(self) -> Any:
        """The chart itself."""
        if self.kind == "discounts":
            return plot.discounts(self.k)
        if self.qrels is None or not self.runs:
            raise OptionError(f"{self.kind} is drawn of judgments and runs: give QRELS and RUN.")
        kinds: dict[str, Callable[[], Any]] = {
            "roc": self._roc,
            "precision_recall": lambda: plot.precision_recall(self._curves("precision_recall")),
            "metric_at_k": self._metric_at_k,
            "cumulative_gain": self._cumulative_gain,
            "differences": self._differences,
            "distribution": self._distribution,
            "slices": self._slices,
            "heatmap": self._heatmap,
        }
        if self.kind not in kinds:
            raise OptionError.choice("kind", self.kind, [*kinds, "discounts"])
        return kinds[self.kind]()

    def _roc(self) -> Any:
        scores = "distance" if self.distance else "similarity"
        return plot.roc(self._curves("roc", scores=scores))

    def _metric_at_k(self) -> Any:
        name = self.metric.split("@", maxsplit=1)[0]
        options = {"metric": name, "ks": range(1, self.k + 1), "ci": "bootstrap"}
        return plot.metric_at_k(self._curves("metric_at_k", **options), name)

    def _cumulative_gain(self) -> Any:
        self._refuse_more_than_one()
        curves = self._curves("cumulative_gain", ks=range(1, self.k + 1))
        return plot.cumulative_gain(next(iter(curves.values())))

    def _differences(self) -> Any:
        if len(self.runs) != 2:
            raise OptionError(f"differences are drawn of two runs, not {len(self.runs)}.")
        a, b = self.runs.values()
        return plot.differences(
            diff(self.qrels, a, b, self.metric, columns=self.columns, rel=self.rel)
        )

    def _distribution(self) -> Any:
        results = self._evaluated()
        return plot.distribution({n: r.per_query for n, r in results.items()}, self.metric)

    def _slices(self) -> Any:
        if not self.by or self.queries is None:
            raise OptionError("slices need queries= (a table of queries) and by= (an attribute).")
        results = self._evaluated(by=self.by, queries=self.queries)
        return plot.slices({n: r.slices for n, r in results.items()}, self.metric)

    def _heatmap(self) -> Any:
        self._refuse_more_than_one()
        (run,) = self.runs.values()
        judged = judge(self.qrels, run, columns=self.columns, rel=self.rel)
        return plot.heatmap(judged, k=self.k)

    def _curves(self, kind: Kind, **options: Any) -> dict[str, Any]:
        shared = {"columns": self.columns, "rel": self.rel}
        return {
            name: curve(self.qrels, run, kind, **options, **shared)
            for name, run in self.runs.items()
        }

    def _evaluated(self, **options: Any) -> dict[str, Any]:
        return {
            name: evaluate(
                self.qrels, run, self.metric, columns=self.columns, rel=self.rel, **options
            )
            for name, run in self.runs.items()
        }

    def _refuse_more_than_one(self) -> None:
        if len(self.runs) > 1:
            raise OptionError(f"{self.kind} is drawn of one run, not {len(self.runs)}.")


def draw(picture: Picture, target: Path) -> None:
    """Draw it into a file, whole or not at all."""
    if target.suffix.lower() not in _ENDINGS:
        raise OutputError(f"cannot draw into {target}: it should end in {', '.join(_ENDINGS)}.")
    if not target.absolute().parent.is_dir() or target.is_dir():
        raise OutputError(f"cannot draw into {target}: there is no such place for a file.")
    chart = picture.chart()
    ending = target.suffix.lower()[1:]
    options = {"scale_factor": _SCALE} if ending == "png" else {}
    if ending == "html":
        options["inline"] = True
    write_file(target, lambda path: chart.save(str(path), format=ending, **options))
