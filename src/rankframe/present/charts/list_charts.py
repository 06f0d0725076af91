"""Charts of one list, as textbooks draw it: what is relevant, what each place is worth."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Unpack

import polars as pl

from rankframe.analysis.curves.curve import curve
from rankframe.core.checks import is_count
from rankframe.core.errors import OptionError
from rankframe.core.messages import number_of, shown
from rankframe.core.wording import distinct_texts
from rankframe.io.lists import from_relevance
from rankframe.present.charts.canvas import (
    Canvas,
    Chart,
    Look,
    alt,
    categories,
    chart_of,
    layered,
    numbered,
    text_in_cells,
    tip,
)
from rankframe.present.charts.chart_inputs import Grades, grade_text, lists_of, with_direction
from rankframe.present.charts.palette import COLOURS, OTHER, RELEVANT, UNJUDGED, shades, text_on
from rankframe.present.charts.registry import chart

__all__ = ["discounts", "grades", "precision_at", "reciprocal_rank", "strip"]

_MOST_RANKS = 60  # of one list, beside each other
_CELL = 24  # dots
_LABELLED = 14.0  # dots across that a number of two or three digits takes
_LONGEST = 30  # letters of a name beside a list
_KINDS = {"relevant": RELEVANT, "not relevant": OTHER, "unjudged": UNJUDGED}


@chart(
    listed=True,
    inputs=lambda source: (source.lists(), source.policies.get("rel")),
    example="--list 1,0,1,0,1,0,0,1,0,1",
)
def strip(
    relevance: Grades | Mapping[str, Grades], rel: float | None = None, **look: Unpack[Look]
) -> Chart:
    """Draw what is relevant, rank by rank: grades in rank order, or several such lists by name.
    None is a document that was not judged.

    rel: the grade from which a document counts as relevant (default: any above 0).

    >>> rf.plot.strip([1, 0, 1]).to_dict()["title"]["subtitle"]
    ['2 of 3 documents are relevant, at the ranks 1, 3']
    """
    on = Canvas.of(look)
    lists, cut = _cut(lists_of(relevance))
    labels = distinct_texts(lists, _LONGEST)
    rows = [
        {"list": labels[name], "rank": rank, "kind": _kind(grade, rel), "grade": grade_text(grade),
         "ink": text_on(_KINDS[_kind(grade, rel)])}
        for name, grades in lists.items()
        for rank, grade in enumerate(grades, start=1)
    ]  # fmt: skip
    longest = max(map(len, lists.values()))
    width = on.wide(min(_CELL * longest, 640))
    base = chart_of(rows).encode(
        x=_ranks(longest, width),
        y=alt.Y("list:N", title=None, sort=list(labels.values()),
                axis=None if len(lists) == 1 else alt.Axis(ticks=False, domain=False)),
        tooltip=["rank:O", "kind:N", "grade:N"],
    )  # fmt: skip
    cells = base.mark_rect(stroke=on.ground.background, strokeWidth=2, cornerRadius=3).encode(
        color=_kinds({row["kind"] for row in rows}),
    )
    layers = [cells]
    if width / longest >= _LABELLED:
        judged = base.transform_filter("datum.grade != 'unjudged'")
        layers.append(text_in_cells(judged, "grade:N", fontSize=10))
    drawn = on.sized(numbered(*layers), width, (_CELL + 6) * len(lists))
    subtitle = [_found(grades, name, rel) for name, grades in lists.items()][:4]
    return on.finished(drawn, "What is relevant, rank by rank", [*subtitle, *cut])


@chart(
    listed=True,
    inputs=lambda source: (source.lists(),),
    example="--list 3,2,3,0,1,2,0,1,0,3",
)
def grades(values: Grades | Mapping[str, Grades], **look: Unpack[Look]) -> Chart:
    """Draw the grade of each document of a list, as bars in rank order; a document of grade 0 is a
    dot, one that was not judged a gap.

    >>> rf.plot.grades([3, 0, 2]).to_dict()["title"]["subtitle"]
    ['3 documents; grades from 0 to 3, higher is better']
    """
    on = Canvas.of(look)
    lists, cut = _cut(lists_of(values))
    labels = distinct_texts(lists, _LONGEST)
    rows = [
        {"list": labels[name], "rank": rank, "grade": grade, "text": grade_text(grade)}
        for name, ranking in lists.items()
        for rank, grade in enumerate(ranking, start=1)
        if grade is not None
    ]
    if not rows:
        raise OptionError("no document of the list was judged: there are no grades to draw.")
    levels = sorted({row["grade"] for row in rows})
    texts = [grade_text(grade) for grade in levels]
    longest = max(map(len, lists.values()))
    width = on.wide(max(min(_CELL * longest, 640), 200))
    base = chart_of(rows).encode(
        x=_ranks(longest, width),
        y=alt.Y("grade:Q", title="grade", axis=alt.Axis(tickMinStep=1)),
        color=alt.Color(
            "text:N", title="grade", scale=alt.Scale(domain=texts, range=shades(len(texts))),
            legend=alt.Legend(orient="bottom"),
        ),
        tooltip=["rank:O", "grade:Q"],
    )  # fmt: skip
    marks = [
        base.mark_bar(stroke=on.ink, strokeWidth=0.5, strokeOpacity=0.6),
        base.transform_filter("datum.grade == 0").mark_point(
            filled=True, size=70, opacity=1, stroke=on.ink, strokeWidth=0.5
        ),
    ]
    if width / longest >= _LABELLED:
        marks.append(base.mark_text(dy=-11, fontSize=10, color=on.ink).encode(
            text="text:N", color=alt.value(on.ink)))  # fmt: skip
    panel = layered(*marks)
    if len(lists) > 1:
        panel = on.panels(panel, "list", list(labels.values()), 170 * len(lists), 30, width)
    else:
        panel = panel.properties(width=width, height=max(on.high(170), 30))
    subtitle = f"{_documents(lists)}; grades from {texts[0]} to {texts[-1]}, higher is better"
    return on.finished(panel, "Grades down the list", [subtitle, *cut])


@chart(
    runs=1,
    listed=True,
    inputs=lambda source: (
        source.lists(),
        source.family if source.metrics else "precision",
        source.policies.get("rel"),
    ),
    example="--list 1,0,1,0,1,0,0,1,0,1",
)
def precision_at(
    relevance: Grades | Mapping[str, Grades],
    metric: str = "precision",
    rel: float | None = None,
    **look: Unpack[Look],
) -> Chart:
    """Draw a metric at each rank of a list, with the relevant documents highlighted and labelled.

    metric: any that takes a cutoff, without it: "precision", "recall", "ndcg", "f1".

    >>> drawn = rf.plot.precision_at([1, 0, 1, 0]).to_dict()
    >>> [round(row["value"], 2) for row in drawn["data"]["values"]]
    [1.0, 0.5, 0.67, 0.5]
    """
    on = Canvas.of(look)
    lists, cut = _cut(lists_of(relevance))
    if len(lists) > 1:
        raise OptionError(f"one list is drawn, not {len(lists)}: {', '.join(lists)}.")
    ((name, ranking),) = lists.items()
    qrels, run = from_relevance({"list": ranking})
    points = curve(
        qrels, run, "metric_at_k", metric=metric, ks=range(1, len(ranking) + 1), rel=rel,
        no_overlap="zero",
    )  # fmt: skip
    rows = [
        {"rank": rank, "value": value, "kind": _kind(grade, rel), "grade": grade_text(grade),
         "label": "" if value is None else f"{value:.2f}"}
        for rank, value, grade in zip(points["k"], points["value"], ranking, strict=True)
    ]  # fmt: skip
    width = on.wide(max(min(34 * len(ranking), 640), 240))
    top = max((row["value"] or 0.0 for row in rows), default=0.0)
    high = 1.0 if top <= 1 else top
    base = chart_of(rows).encode(
        x=_ranks(len(ranking), width),
        y=alt.Y(
            "value:Q", title=f"{metric} at this rank", scale=alt.Scale(domain=[0, high * 1.08]),
            axis=alt.Axis(values=[high * step / 5 for step in range(6)], format=".2~f"),
        ),
    )  # fmt: skip
    bars = base.mark_bar(cornerRadiusTopLeft=2, cornerRadiusTopRight=2).encode(
        color=_kinds({row["kind"] for row in rows}),
        tooltip=["rank:O", tip("value:Q"), "kind:N", "grade:N"],
    )
    labels = (
        base.transform_filter("datum.kind == 'relevant'")
        .mark_text(dy=-7, fontSize=10, fontWeight="bold", color=on.ink, baseline="bottom")
        .encode(text="label:N")
    )
    wide_enough = width / len(ranking) >= 22
    drawn = on.sized(layered(*([bars, labels] if wide_enough else [bars])), width, 230)
    subtitle = [
        _found(ranking, name, rel),
        f"{with_direction(metric)}; labels at relevant documents",
    ]
    return on.finished(drawn, f"{metric} at each rank", [*subtitle, *cut])


@chart(
    takes="nothing",
    listed=True,
    inputs=lambda source: (
        source.lists() if source.runs or source.grades is not None else None,
        source.k,
        source.policies.get("rel"),
    ),
    example="--list 0,0,1,0,1 -k 10",
)
def reciprocal_rank(
    relevance: Grades | Mapping[str, Grades] | None = None,
    k: int = 20,
    rel: float | None = None,
    **look: Unpack[Look],
) -> Chart:
    """Draw the reciprocal rank at each rank: 1, 1/2, 1/3, …; with a list, mark the rank of its
    first relevant document.

    >>> rf.plot.reciprocal_rank([0, 0, 1]).to_dict()["title"]["subtitle"][0]
    'the first relevant document is at rank 3: 1/3 = 0.333'
    """
    on = Canvas.of(look)
    lists = {} if relevance is None else lists_of(relevance)
    firsts = {
        name: next(
            (rank for rank, grade in enumerate(ranking, 1) if _kind(grade, rel) == "relevant"), None
        )
        for name, ranking in lists.items()
    }
    last = max([_ranks_to(k), *(rank for rank in firsts.values() if rank is not None)])
    rows = [{"rank": rank, "value": 1 / rank} for rank in range(1, min(last, 1_000) + 1)]
    base = chart_of(rows).encode(
        x=alt.X("rank:Q", title="rank of the first relevant document",
                scale=alt.Scale(domain=[1, max(len(rows), 2)], nice=False),
                axis=alt.Axis(tickMinStep=1, format="d")),
        y=alt.Y("value:Q", title="reciprocal rank (higher is better)",
                scale=alt.Scale(domain=[0, 1])),
        tooltip=["rank:Q", tip("value:Q")],
    )  # fmt: skip
    layers = [
        base.mark_line(strokeWidth=2, color=COLOURS[0]),
        base.mark_point(filled=True, size=30, color=COLOURS[0], opacity=1),
    ]
    subtitle = []
    marked: dict[int, list[str]] = {}
    for name, rank in firsts.items():
        owner = f"{name}: " if name else ""
        if rank is None:
            subtitle.append(f"{owner}no document of the list is relevant: the value is 0")
            continue
        subtitle.append(
            f"{owner}the first relevant document is at rank {rank:,}: 1/{rank:,} = {1 / rank:.3f}"
        )
        marked.setdefault(rank, []).append(name)
    if marked:
        points = [
            {"rank": rank, "value": 1 / rank, "label": f"1/{rank} = {1 / rank:.3f}"}
            for rank in marked
        ]
        first = chart_of(points).encode(x="rank:Q", y="value:Q")
        layers += [
            first.mark_point(filled=True, size=150, color=COLOURS[1], opacity=1),
            first.mark_text(align="left", dx=10, dy=-8, fontWeight="bold", color=on.ink).encode(
                text="label:N"
            ),
        ]
    subtitle = subtitle[:4] or [f"ranks 1 to {len(rows):,}"]
    return on.finished(on.sized(layered(*layers)), "Reciprocal rank by position", subtitle)


@chart(
    takes="nothing",
    inputs=lambda source: (source.k,),
    example="",
)
def discounts(k: int = 20, **look: Unpack[Look]) -> Chart:
    """Draw what each rank weighs: the discounts of the metrics as bars, below each other."""
    on = Canvas.of(look)
    weights: dict[str, Callable[[pl.Expr], pl.Expr]] = {
        "ndcg: 1 / log2(i + 1)": lambda i: 1 / (i + 1).log(2),
        "reciprocal rank: 1 / i": lambda i: 1 / i,
        "rbp (p = 0.8): p^(i − 1)": lambda i: 0.8 ** (i - 1).cast(pl.Float64),
        "r_score (half-life 5): 2^(−(i − 1) / 4)": lambda i: 2.0 ** (-(i - 1).cast(pl.Float64) / 4),
        "err, if each document satisfies half: 2^(1 − i) / i": lambda i: 2.0 ** (1 - i) / i,
        "precision: 1": lambda i: i * 0.0 + 1,
    }
    ranks = pl.DataFrame({"rank": range(1, _ranks_to(k) + 1)})
    rows = [
        {"system": name, **row}
        for name, weigh in weights.items()
        for row in ranks.select("rank", value=weigh(pl.col("rank").cast(pl.Float64))).to_dicts()
    ]
    width = on.wide()
    panel = (
        chart_of(rows)
        .mark_bar(color=COLOURS[0])
        .encode(
            x=_ranks(k, width),
            y=alt.Y("value:Q", title=None, scale=alt.Scale(domain=[0, 1]),
                    axis=alt.Axis(values=[0, 0.5, 1])),
            tooltip=["system:N", "rank:O", tip("value:Q")],
        )
    )  # fmt: skip
    drawn = on.panels(panel, "system", list(weights), 64 * len(weights), 20)
    subtitle = [f"weights of the ranks i = 1 to {k:,}, relative to the first rank"]
    return on.finished(drawn, "What each rank weighs", subtitle)


def _ranks_to(k: int) -> int:
    if not is_count(k) or k > 1_000:
        raise OptionError(f"k must be a whole number from 1 to 1,000, not {shown(k)}.")
    return int(k)


def _cut(lists: Mapping[str, list[Any]]) -> tuple[dict[str, list[Any]], list[str]]:
    """Cut long lists, with a note that says so."""
    longest = max(map(len, lists.values()))
    if longest <= _MOST_RANKS:
        return dict(lists), []
    subtitle = f"the first {_MOST_RANKS} of {longest:,} ranks"
    return {name: grades[:_MOST_RANKS] for name, grades in lists.items()}, [subtitle]


def _kind(grade: float | None, rel: float | None) -> str:
    if grade is None:
        return "unjudged"
    return "relevant" if (grade > 0 if rel is None else grade >= rel) else "not relevant"


def _kinds(there: set[str]) -> Any:
    """Encode what is relevant, with a legend of the kinds that there are."""
    return categories("kind:N", {kind: style for kind, style in _KINDS.items() if kind in there})


def _ranks(count: int, width: float) -> Any:
    """Encode ranks on an axis, with as many numbers as there is room for."""
    step = next(step for step in (1, 2, 5, 10, 20, 50, 100) if width / count * step >= _LABELLED)
    values = [1, *range(step, count + 1, step)] if step > 1 else list(range(1, count + 1))
    axis = alt.Axis(labelAngle=0, values=values, ticks=False, labelPadding=7)
    return alt.X(
        "rank:O", title="rank", axis=axis, scale=alt.Scale(domain=list(range(1, count + 1)))
    )


def _documents(lists: Mapping[str, list[Any]]) -> str:
    counts = [len(grades) for grades in lists.values()]
    return number_of(counts[0], "document") if len(counts) == 1 else f"{len(counts)} lists"


def _found(grades: list[Any], name: str, rel: float | None) -> str:
    """Say how many documents are relevant, and at which ranks."""
    places = [rank for rank, grade in enumerate(grades, 1) if _kind(grade, rel) == "relevant"]
    where = ", ".join(map(str, places[:10])) + (", …" if len(places) > 10 else "")
    owner = f"{name}: " if name else ""
    subtitle = f"{owner}{len(places):,} of {number_of(len(grades), 'document')} "
    subtitle += "is relevant" if len(places) == 1 else "are relevant"
    if not places:
        return subtitle
    return f"{subtitle}, at the rank{'s' if len(places) > 1 else ''} {where}"
