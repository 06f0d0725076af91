"""Draw documents: their ranks, their moves between rankings, and their grades by score."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias, Unpack

import numpy as np
import polars as pl

from rankframe.core.columns import QUERY
from rankframe.core.errors import OptionError
from rankframe.core.messages import number_of, shown
from rankframe.core.options import is_count
from rankframe.core.wording import distinct_texts
from rankframe.present.charts import marks
from rankframe.present.charts.canvas import HEIGHT, Canvas, Chart, Look
from rankframe.present.charts.chart_inputs import (
    between,
    by_name,
    grade_text,
    in_words,
    sample_of,
    sampled,
)
from rankframe.present.charts.marks import across, tip, up
from rankframe.present.charts.palette import BETTER, SAME, UNJUDGED, WORSE, shades, text_on
from rankframe.present.charts.registry import chart

__all__ = ["bump", "calibration", "heatmap"]

Judged: TypeAlias = pl.LazyFrame | pl.DataFrame
_LABEL = 20  # characters of an id beside its row
_CELL = 14  # height of a cell, in dots
_NUMBERED = 13.0  # width of a grade as a number, in dots
_MOST_LINES = 50  # documents in a chart of rankings
_NORMAL = 1.959964  # a 95% interval of a normal distribution is ± this many standard errors


@chart(runs=1, inputs=lambda source: (*source.judged().values(), source.k))
def heatmap(judged: Judged, k: int = 20, limit: int = 40, **look: Unpack[Look]) -> Chart:
    """Draw the ranks of the judged documents of each query, coloured by grade.

    Takes `rf.judge(qrels, run)`. A row per query, a column per rank; the grade is also a number
    where it fits. If there are more than `limit` queries, the chart draws a sample of them, which
    is the same in every call.
    """
    on = Canvas.from_look(look)
    lists = judged.lazy().group_by(QUERY).agg(pl.col("retrieved").first()).sort(QUERY).collect()
    if lists.is_empty():
        raise OptionError("there is no judged query to draw.")
    sample = lists.filter(pl.col(QUERY).is_in(sample_of(lists[QUERY], limit).implode()))
    graded = (
        judged.lazy()
        .filter(pl.col("rank") <= k, pl.col(QUERY).is_in(sample[QUERY].implode()))
        .select(QUERY, pl.col("rank").cast(pl.Int64), "relevance")
        .collect()
    )
    cells = (
        sample.with_columns(rank=pl.int_ranges(1, pl.min_horizontal("retrieved", k) + 1))
        .explode("rank", empty_as_null=False, keep_nulls=False)
        .join(graded, on=[QUERY, "rank"], how="left", maintain_order="left")
    )
    levels = cells["relevance"].drop_nulls().unique().sort().to_list()
    colours = dict(zip(map(grade_text, levels), shades(len(levels)), strict=True))
    labels = distinct_texts(sample[QUERY], _LABEL)
    rows = [
        {QUERY: query, "rank": rank, "grade": grade_text(grade), "label": labels[query],
         "text": "" if grade is None else grade_text(grade),
         "ink": text_on(colours.get(grade_text(grade), UNJUDGED))}
        for query, rank, grade in cells.select(QUERY, "rank", "relevance").rows()  # allowed: a few
    ]  # fmt: skip
    gaps = {"paddingInner": 0.07}  # gaps, not lines: they show the background of any theme
    base = marks.chart_of(rows).encode(
        x=across("rank:O", "rank", labelAngle=0, scale=gaps),
        y=up("label:N", "query", sort=list(labels.values()), titlePadding=12, scale=gaps),
        tooltip=[f"{QUERY}:N", "rank:O", "grade:N"],
    )
    fills = marks.categories("grade:N", {"unjudged": UNJUDGED, **colours}, "grade")
    layers = [base.mark_rect().encode(color=fills)]
    height = _CELL * sample.height
    fits = on.wide() / k >= _NUMBERED and on.high(height) / sample.height >= _CELL - 2
    if fits and max(map(len, colours), default=0) <= 2:
        layers.append(marks.text_in_cells(base, fontSize=9))
    drawn = on.sized(marks.numbered(*layers), height=height)
    subtitle = [f"{sampled(sample.height, lists.height)}; ranks 1 to {k:,}, the best on the left"]
    return on.finished(drawn, "Where judged documents stand", subtitle)


@chart(
    takes="rankings",
    inputs=lambda source: (source.rankings(), source.k),
    demo="bm25.parquet dense.parquet hybrid.parquet --query q0080 -k 10",
)
def bump(rankings: Mapping[str, Sequence[Any]], k: int = 10, **look: Unpack[Look]) -> Chart:
    """Draw how documents move from ranking to ranking, a line per document.

    Takes lists of documents in order, by name. Lines are coloured by the move from the first
    ranking to the last.

    k: the last rank to draw.

    >>> drawn = rf.plot.bump({"old": ["a", "b"], "new": ["b", "a"]})
    >>> drawn.to_dict()["title"]["subtitle"][0]
    'old, new; 2 documents in the top 10 of any'
    """
    on = Canvas.from_look(look)
    if not is_count(k):
        raise OptionError(f"k must be a whole number of at least 1, not {shown(k)}.")
    lists = {str(name): [str(doc_id) for doc_id in docs[:k]] for name, docs in rankings.items()}
    if len(lists) < 2:
        raise OptionError(f"rank lines need two rankings or more, not {len(lists)}.")
    for name, docs in lists.items():
        if twice := [doc for doc, count in Counter(docs).items() if count > 1]:
            raise OptionError(f"{name!r} has {shown(twice[0])} more than once.")
    documents = list(dict.fromkeys(doc for docs in lists.values() for doc in docs))
    if not documents:
        raise OptionError("the rankings have no documents to draw.")
    kept = documents[:_MOST_LINES]
    names, systems = distinct_texts(kept, _LABEL), distinct_texts(lists, _LABEL)
    first, *_, last = lists.values()
    moves = {doc: _move(doc, first, last) for doc in kept}
    rows = [
        {"doc": names[doc], "system": systems[name], "rank": docs.index(doc) + 1,
         "moved": moves[doc]}
        for doc in kept
        for name, docs in lists.items()
        if doc in docs
    ]  # fmt: skip
    colours = {"up": BETTER, "down": WORSE, "the same": SAME, "in or out": on.ink}
    there = {kind: ink for kind, ink in colours.items() if kind in moves.values()}
    order, deepest = list(systems.values()), max(map(len, lists.values()))
    angle = 0 if len(order) <= 6 else -40
    base = marks.chart_of(rows).encode(
        x=across("system:N", sort=order, labelAngle=angle, orient="top", grid=True),
        y=up("rank:Q", "rank", scale={"domain": [deepest + 0.5, 0.5], "nice": False},
             values=list(range(1, deepest + 1)), grid=False, format="d"),
        color=marks.categories("moved:N", there, "from first to last"),
        detail="doc:N",
        tooltip=["doc:N", "system:N", "rank:Q"],
    )  # fmt: skip
    layers = [base.mark_line(strokeWidth=2.5, opacity=0.9), marks.dots(base, 80)]
    for end, align, dx in ((order[0], "right", -10), (order[-1], "left", 10)):
        labelled = marks.chart_of(row for row in rows if row["system"] == end)
        text = labelled.mark_text(align=align, dx=dx, color=on.ink, fontSize=10)
        layers.append(text.encode(x=across("system:N", sort=order), y="rank:Q", text="doc:N"))
    width = max(130 * (len(order) - 1), 220) + 2 * 60
    drawn = on.sized(marks.layered(*layers), width, max(24 * deepest, 120))
    extent = number_of(len(documents), "document")
    if len(documents) > len(kept):
        extent = f"the first {len(kept)} of {extent}"
    subtitle = [f"{in_words(list(lists))}; {extent} in the top {k:,} of any", "rank 1 is the best"]
    return on.finished(drawn, "Ranks from ranking to ranking", subtitle)


def _move(doc: str, first: Sequence[str], last: Sequence[str]) -> str:
    """Return the move of a document from the first ranking to the last: up, down, …"""
    if doc not in first or doc not in last:
        return "in or out"
    before, after = first.index(doc), last.index(doc)
    return "the same" if before == after else "up" if after < before else "down"


@chart(inputs=lambda source: (source.pairs(), 10, source.policies.get("rel")))
def calibration(
    pairs: Judged | Mapping[str, Judged],
    bins: int = 10,
    rel: float | None = None,
    **look: Unpack[Look],
) -> Chart:
    """Draw the mean grade of documents by their score; it should rise with the score.

    Takes `rf.pair(qrels, run)`, or several by name. Judged documents are put in bins of equal size
    by score; each point is the mean grade and the mean score of a bin.

    bins: the number of bins; equal scores share one.
    rel: draw the share of documents of at least this grade, instead of the mean grade.

    >>> pairs = rf.pair({"q": {"a": 1, "b": 0}}, {"q": {"a": 0.9, "b": 0.2}})
    >>> drawn = rf.plot.calibration(pairs, bins=2).to_dict()
    >>> [(row["score"], row["grade"]) for row in drawn["data"]["values"]]
    [(0.2, 0.0), (0.9, 1.0)]
    """
    on = Canvas.from_look(look)
    if not is_count(bins) or bins > 200:
        raise OptionError(f"bins must be a whole number from 1 to 200, not {shown(bins)}.")
    needed = "rf.pair(qrels, run), or several by name"
    frames = by_name(pairs, pl.LazyFrame | pl.DataFrame, needed)
    binned = {name: _binned(name, frame, bins, rel) for name, frame in frames.items()}
    names = list(binned)
    what = "mean grade" if rel is None else f"share of grade {rel:g} or more"
    base = marks.chart_of(row for rows in binned.values() for row in rows).encode(
        x=across("score:Q", "mean score of the bin", scale={"zero": False}),
        y=up("grade:Q", what),
        color=marks.colour(names, labelled=False),
    )
    whiskers = base.mark_rule(strokeWidth=1.5, opacity=0.7)
    panel = marks.layered(
        whiskers.encode(y=up("low:Q", what), y2="high:Q"),
        base.mark_line(strokeWidth=2),
        marks.dots(base).encode(
            tooltip=["system:N", "score:Q", "grade:Q", tip("documents:Q", ",")]
        ),
    )
    drawn = on.panels(panel, "system", names, 150 * len(names), 0, alone=HEIGHT)
    if len(names) > 1:  # scores of different systems are not on one scale
        drawn = drawn.resolve_scale(x="independent")
    counts = [sum(row["documents"] for row in rows) for rows in binned.values()]
    subtitle = [
        f"{in_words(names)}; {between(counts, 'judged document')} with scores, {bins} bins",
        "vertical lines: 95% intervals; grades that rise from left to right: calibrated scores",
    ]
    return on.finished(drawn, "Grades by score", subtitle)


def _binned(name: str, frame: Judged, bins: int, rel: float | None) -> list[dict[str, Any]]:
    """Return a row for each bin of documents, with their mean score and mean grade."""
    found = (
        frame.lazy()
        .select(grade="score_a", score="score_b")
        .filter(pl.col("grade").is_not_null(), pl.col("score").is_finite())
        .collect()
        .sort("score", "grade")
    )
    if found.is_empty():
        raise OptionError(f"no judged document of {name!r} has a score: there is nothing to draw.")
    score = found["score"].to_numpy()
    grade = found["grade"].to_numpy().astype(np.float64)
    if rel is not None:
        grade = (grade >= rel).astype(np.float64)
    # Binned by the least rank of each score, so that equal scores share a bin.
    place = found["score"].rank("min").to_numpy().astype(np.int64) - 1
    number = place * bins // len(score)
    starts = np.flatnonzero(np.diff(number, prepend=-1))
    sizes = np.diff(starts, append=len(score))
    means = [np.add.reduceat(values, starts) / sizes for values in (score, grade)]
    spread = np.add.reduceat((grade - np.repeat(means[1], sizes)) ** 2, starts)
    error = np.sqrt(spread / np.maximum(sizes - 1, 1) / sizes)
    return [
        {"system": name, "score": float(s), "grade": float(g), "documents": int(n),
         "low": float(g - _NORMAL * e), "high": float(g + _NORMAL * e)}
        for s, g, n, e in zip(*means, sizes, error, strict=True)
    ]  # fmt: skip
