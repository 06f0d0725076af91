"""`Diff`: what changed between two runs, and how it is shown."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from rankframe.base.messages import number_of
from rankframe.decisions.lacking import Lack
from rankframe.evaluation.exported import Exported
from rankframe.evaluation.ledger import EVERY_RELEVANT

_LONGEST = 40  # characters of an id on the screen


@dataclass(frozen=True, repr=False, eq=False)
class Diff(Exported):
    """What changed between run a (before) and run b (after), for one metric.

    summary: one row: metric, mean_a, mean_b (as `evaluate` averages each run), difference
        (mean_b − mean_a), and of how many queries b is better (wins), neither (ties) or a (losses),
        how many have no value in one run or in both (undefined), and all of them (queries).
    per_query: query_id, a, b, delta (b − a) and better ("b", "a", "same", or null where undefined),
        in byte order of query_id.
    movers: the queries of per_query that changed most, the largest change first.
    documents: for the movers, every document in the top k of either run: query_id, doc_id,
        relevance (null: unjudged), rank_a, rank_b (null: not retrieved) and change: "entered" or
        "left" the top k, or "up", "down" or "same" within it. By rank_b, those that left last.
    k: how deep documents were looked at.
    lacks: how many judged queries each run lacks, and what became of them.
    every_relevant: all judged documents count as relevant, of several grades, and nobody said so.

    `to_arrow()` and `to_pandas()` give the summary, or another of these frames by its name.
    """

    FRAMES = ("summary", "per_query", "movers", "documents")

    summary: pl.DataFrame
    per_query: pl.DataFrame
    movers: pl.DataFrame
    documents: pl.DataFrame
    k: int
    lacks: Sequence[Lack] = ()
    every_relevant: bool = False

    @property
    def _told(self) -> list[str]:
        """What a reader of the numbers should know."""
        return [*map(str, self.lacks), *([EVERY_RELEVANT] if self.every_relevant else [])]

    def __repr__(self) -> str:
        width = max((len(row[0]) for row in self._shown), default=0)
        moved = [
            f"  {query:<{width}}  {a} → {b}  {delta}  {better} better"
            for query, a, b, delta, better in self._shown
        ]
        told = [f"  {one}" for one in self._told]
        head = [f"rankframe diff, {self._headline}", f"  {self._counted}"]
        return "\n".join([*head, *told, *moved])

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{name}</th>" for name in self.movers.columns)
        rows = ("".join(f"<td>{html.escape(cell)}</td>" for cell in row) for row in self._shown)
        body = "".join(f"<tr>{row}</tr>" for row in rows)
        said = "<br>".join(map(html.escape, [self._counted, *self._told]))
        return (
            f"<p>{html.escape(self._headline)}<br><small>{said}</small></p>"
            f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        )

    @property
    def _shown(self) -> list[tuple[str, ...]]:
        return [
            (_short(query), f"{a:.4f}", f"{b:.4f}", f"{delta:+.4f}", better)
            for query, a, b, delta, better in self.movers.head(5).rows()  # allowed: five rows
        ]

    @property
    def _headline(self) -> str:
        metric, a, b, difference = self.summary.row(0)[:4]
        before, after = ("undefined" if value is None else f"{value:.4f}" for value in (a, b))
        change = "" if difference is None else f" ({difference:+.4f})"
        return f"{metric}: {before} → {after}{change}"

    @property
    def _counted(self) -> str:
        wins, ties, losses, undefined, queries = self.summary.row(0)[4:]
        said = (
            f"{number_of(queries, 'query')}: {wins:,} better in b, {ties:,} the same, "
            f"{losses:,} worse"
        )
        if undefined:
            said += f", {undefined:,} undefined (each mean is over the queries that its run has)"
        return said


def _short(text: str) -> str:
    """An id for the screen: on one line, and not too long."""
    shown = text if text.isprintable() else repr(text)
    return shown if len(shown) <= _LONGEST else shown[: _LONGEST - 1] + "…"
