"""Draw a single list as textbooks do: grades, a metric at each rank, weights of ranks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Unpack

import polars as pl

from rankframe.analysis.curves.curve import curve
from rankframe.core.errors import OptionError
from rankframe.core.messages import number_of, shown
from rankframe.core.options import is_count
from rankframe.core.wording import distinct_texts
from rankframe.io.lists import from_relevance
from rankframe.present.charts import marks
from rankframe.present.charts.canvas import Canvas, Chart, Look
from rankframe.present.charts.chart_inputs import Grades, grade_text, lists_of, with_direction
from rankframe.present.charts.marks import across, alt, up
from rankframe.present.charts.palette import COLOURS, OTHER, RELEVANT, UNJUDGED, shades, text_on
from rankframe.present.charts.registry import chart

__all__ = ["discounts", "grades", "precision_at", "reciprocal_rank", "strip"]

_MOST_RANKS = 60  # ranks that are drawn of one list
_CELL = 24  # dots of a cell, across and down
_LABELLED = 14.0  # width of a number of two or three digits, in dots
_LONGEST = 30  # letters of a name beside a list
_KINDS = {"relevant": RELEVANT, "not relevant": OTHER, "unjudged": UNJUDGED}


@chart(
    listed=True,
    inputs=lambda source: (source.lists(), source.policies.get("rel")),
    demo="--list 1,0,1,0,1,0,0,1,0,1",
)
def strip(
    relevance: Grades | Mapping[str, Grades], rel: float | None = None, **look: Unpack[Look]
) -> Chart:
    """Draw which documents of a list are relevant, rank by rank.

    Takes grades in rank order, or several such lists by name. None is a document that was not
    judged.

    rel: the lowest relevant grade (default: any grade above 0).

    >>> rf.plot.strip([1, 0, 1]).to_dict()["title"]["subtitle"]
    ['2 of 3 documents are relevant, at the ranks 1, 3']
    """
    on = Canvas.from_look(look)
    lists, cut = _cut(relevance)
    rows = _ranked(lists, rel)
    longest = max(map(len, lists.values()))
    width = on.wide(min(_CELL * longest, 640))
    axis: dict[str, Any] = {"axis": None} if len(lists) == 1 else {"ticks": False, "domain": False}
    base = marks.chart_of(rows).encode(
        x=_ranks(longest, width),
        y=up("list:N", sort=list(lists), **axis),
        tooltip=["rank:O", "kind:N", "grade:N"],
    )
    cells = base.mark_rect(stroke=on.ground.background, strokeWidth=2, cornerRadius=3)
    layers = [cells.encode(color=_kinds(rows))]
    if width / longest >= _LABELLED:
        judged = base.transform_filter("datum.grade != 'unjudged'")
        layers.append(marks.text_in_cells(judged, "grade:N", fontSize=10))
    drawn = on.sized(marks.numbered(*layers), width, (_CELL + 6) * len(lists))
    subtitle = [_count_relevant(grades, name, rel) for name, grades in lists.items()][:4]
    return on.finished(drawn, "Relevant documents, rank by rank", [*subtitle, *cut])


@chart(
    listed=True,
    inputs=lambda source: (source.lists(),),
    demo="--list 3,2,3,0,1,2,0,1,0,3",
)
def grades(values: Grades | Mapping[str, Grades], **look: Unpack[Look]) -> Chart:
    """Draw the grade of each document of a list as a bar, in rank order.

    A document of grade 0 is a dot; an unjudged document is a gap.

    >>> rf.plot.grades([3, 0, 2]).to_dict()["title"]["subtitle"]
    ['3 documents; grades from 0 to 3, higher is better']
    """
    on = Canvas.from_look(look)
    lists, cut = _cut(values)
    rows = [row for row in _ranked(lists) if row["value"] is not None]
    if not rows:
        raise OptionError("no document of the list was judged: there are no grades to draw.")
    texts = [grade_text(grade) for grade in sorted({row["value"] for row in rows})]
    longest = max(map(len, lists.values()))
    width = on.wide(max(min(_CELL * longest, 640), 200))
    base = marks.chart_of(rows).encode(
        x=_ranks(longest, width),
        y=up("value:Q", "grade", tickMinStep=1),
        color=marks.categories(
            "grade:N", dict(zip(texts, shades(len(texts)), strict=True)), "grade"
        ),
        tooltip=["rank:O", marks.alt.Tooltip("value:Q", title="grade")],
    )
    zeros = base.transform_filter("datum.value == 0")
    layers = [
        base.mark_bar(stroke=on.ink, strokeWidth=0.5, strokeOpacity=0.6),
        marks.dots(zeros, 70, stroke=on.ink, strokeWidth=0.5),
    ]
    if width / longest >= _LABELLED:
        numbers = base.mark_text(dy=-11, fontSize=10, color=on.ink)
        layers.append(numbers.encode(text="grade:N", color=alt.value(on.ink)))
    drawn = on.panels(
        marks.layered(*layers), "list", list(lists), 170 * len(lists), 30, width, alone=170
    )
    of_what = f"{len(lists)} lists" if len(lists) > 1 else number_of(longest, "document")
    subtitle = f"{of_what}; grades from {texts[0]} to {texts[-1]}, higher is better"
    return on.finished(drawn, "Grades down the list", [subtitle, *cut])


@chart(
    runs=1,
    listed=True,
    inputs=lambda source: (
        source.lists(),
        source.family if source.metrics else "precision",
        source.policies.get("rel"),
    ),
    demo="--list 1,0,1,0,1,0,0,1,0,1",
)
def precision_at(
    relevance: Grades | Mapping[str, Grades],
    metric: str = "precision",
    rel: float | None = None,
    **look: Unpack[Look],
) -> Chart:
    """Draw a metric at each rank of a list, with the relevant documents highlighted and labelled.

    metric: a metric that takes a cutoff, without the cutoff: "precision", "recall", "ndcg", "f1".

    >>> drawn = rf.plot.precision_at([1, 0, 1, 0]).to_dict()
    >>> [round(row["value"], 2) for row in drawn["data"]["values"]]
    [1.0, 0.5, 0.67, 0.5]
    """
    on = Canvas.from_look(look)
    lists, cut = _cut(relevance)
    if len(lists) > 1:
        raise OptionError(f"one list is drawn, not {len(lists)}: {', '.join(lists)}.")
    ((name, ranking),) = lists.items()
    qrels, run = from_relevance({"list": ranking})
    ks = range(1, len(ranking) + 1)
    points = curve(qrels, run, "metric_at_k", metric=metric, ks=ks, rel=rel, no_overlap="zero")
    rows = [
        row | {"value": value, "label": "" if value is None else f"{value:.2f}"}
        for row, value in zip(_ranked(lists, rel), points["value"], strict=True)
    ]
    width = on.wide(max(min(34 * len(ranking), 640), 240))
    high = max(1.0, *(row["value"] or 0.0 for row in rows))
    base = marks.chart_of(rows).encode(
        x=_ranks(len(ranking), width),
        y=up("value:Q", f"{metric} at this rank", scale={"domain": [0, high * 1.08]},
             values=[high * step / 5 for step in range(6)], format=".2~f"),
    )  # fmt: skip
    layers = [
        base.mark_bar(cornerRadiusTopLeft=2, cornerRadiusTopRight=2).encode(
            color=_kinds(rows), tooltip=["rank:O", marks.tip("value:Q"), "kind:N", "grade:N"]
        )
    ]
    if width / len(ranking) >= 22:
        relevant = base.transform_filter("datum.kind == 'relevant'")
        bold = {"fontSize": 10, "fontWeight": "bold", "baseline": "bottom"}
        layers.append(relevant.mark_text(dy=-7, color=on.ink, **bold).encode(text="label:N"))
    subtitle = [
        _count_relevant(ranking, name, rel),
        f"{with_direction(metric)}; labels at relevant documents",
    ]
    drawn = on.sized(marks.layered(*layers), width, 230)
    return on.finished(drawn, f"{metric} at each rank", [*subtitle, *cut])


@chart(
    takes="nothing",
    listed=True,
    inputs=lambda source: (
        source.lists() if source.runs or source.grades is not None else None,
        source.k,
        source.policies.get("rel"),
    ),
    demo="--list 0,0,1,0,1 -k 10",
)
def reciprocal_rank(
    relevance: Grades | Mapping[str, Grades] | None = None,
    k: int = 20,
    rel: float | None = None,
    **look: Unpack[Look],
) -> Chart:
    """Draw the reciprocal rank (1, 1/2, 1/3, …) at each rank.

    With a list, the rank of its first relevant document is marked.

    >>> rf.plot.reciprocal_rank([0, 0, 1]).to_dict()["title"]["subtitle"][0]
    'the first relevant document is at rank 3: 1/3 = 0.333'
    """
    on = Canvas.from_look(look)
    lists = {} if relevance is None else lists_of(relevance)
    firsts = {name: next(iter(_relevant(ranking, rel)), None) for name, ranking in lists.items()}
    last = max([_last_rank(k), *filter(None, firsts.values())])
    rows = [{"rank": rank, "value": 1 / rank} for rank in range(1, min(last, 1_000) + 1)]
    base = marks.chart_of(rows).encode(
        x=across("rank:Q", "rank of the first relevant document", tickMinStep=1, format="d",
                 scale={"domain": [1, max(len(rows), 2)], "nice": False}),
        y=up("value:Q", "reciprocal rank (higher is better)", scale={"domain": [0, 1]}),
        tooltip=["rank:Q", marks.tip("value:Q")],
    )  # fmt: skip
    layers = [
        base.mark_line(strokeWidth=2, color=COLOURS[0]),
        marks.dots(base, 30, color=COLOURS[0]),
    ]
    subtitle, points = [], {}
    for name, rank in firsts.items():
        text = "no document of the list is relevant: the value is 0"
        if rank is not None:
            points[rank] = {"rank": rank, "value": 1 / rank, "label": f"1/{rank} = {1 / rank:.3f}"}
            text = f"the first relevant document is at rank {rank:,}: 1/{rank:,} = {1 / rank:.3f}"
        subtitle.append(_owned(name, text))
    if points:
        first = marks.chart_of(points.values()).encode(x="rank:Q", y="value:Q")
        label = first.mark_text(align="left", dx=10, dy=-8, fontWeight="bold", color=on.ink)
        layers += [marks.dots(first, 150, color=COLOURS[1]), label.encode(text="label:N")]
    subtitle = subtitle[:4] or [f"ranks 1 to {len(rows):,}"]
    return on.finished(on.sized(marks.layered(*layers)), "Reciprocal rank by position", subtitle)


@chart(takes="nothing", inputs=lambda source: (source.k,), demo="")
def discounts(k: int = 20, **look: Unpack[Look]) -> Chart:
    """Draw the weight that metrics give to each rank, a panel per metric."""
    on = Canvas.from_look(look)
    weights: dict[str, Callable[[pl.Expr], pl.Expr]] = {
        "ndcg: 1 / log2(i + 1)": lambda i: 1 / (i + 1).log(2),
        "reciprocal rank: 1 / i": lambda i: 1 / i,
        "rbp (p = 0.8): p^(i − 1)": lambda i: 0.8 ** (i - 1).cast(pl.Float64),
        "r_score (half-life 5): 2^(−(i − 1) / 4)": lambda i: 2.0 ** (-(i - 1).cast(pl.Float64) / 4),
        "err, if each document satisfies half: 2^(1 − i) / i": lambda i: 2.0 ** (1 - i) / i,
        "precision: 1": lambda i: i * 0.0 + 1,
    }
    ranks = pl.DataFrame({"rank": range(1, _last_rank(k) + 1)})
    rank = pl.col("rank").cast(pl.Float64)
    frames = {name: ranks.with_columns(value=weigh(rank)) for name, weigh in weights.items()}
    panel = marks.chart_of(marks.named(frames, ["rank", "value"])).mark_bar(color=COLOURS[0])
    panel = panel.encode(
        x=_ranks(k, on.wide()),
        y=up("value:Q", scale={"domain": [0, 1]}, values=[0, 0.5, 1]),
        tooltip=["system:N", "rank:O", marks.tip("value:Q")],
    )
    drawn = on.panels(panel, "system", list(weights), 64 * len(weights), 20)
    subtitle = [f"weights of the ranks i = 1 to {k:,}, relative to the first rank"]
    return on.finished(drawn, "The weight of each rank", subtitle)


def _last_rank(k: int) -> int:
    if not is_count(k) or k > 1_000:
        raise OptionError(f"k must be a whole number from 1 to 1,000, not {shown(k)}.")
    return int(k)


def _cut(relevance: Grades | Mapping[str, Grades]) -> tuple[dict[str, list[Any]], list[str]]:
    """Return lists of grades by label, cut to a maximum length, and notes on the cuts."""
    lists = lists_of(relevance)
    labels = distinct_texts(lists, _LONGEST)
    longest = max(map(len, lists.values()))
    note = [f"the first {_MOST_RANKS} of {longest:,} ranks"] if longest > _MOST_RANKS else []
    return {labels[name]: grades[:_MOST_RANKS] for name, grades in lists.items()}, note


def _ranked(lists: Mapping[str, list[Any]], rel: float | None = None) -> list[dict[str, Any]]:
    """Return a row per document of each list."""
    rows = []
    for label, grades in lists.items():
        relevant = set(_relevant(grades, rel))
        for rank, grade in enumerate(grades, start=1):
            kind = "relevant" if rank in relevant else "not relevant"
            kind = "unjudged" if grade is None else kind
            rows.append({
                "list": label, "rank": rank, "value": grade, "grade": grade_text(grade),
                "kind": kind, "ink": text_on(_KINDS[kind]),
            })  # fmt: skip
    return rows


def _relevant(grades: list[Any], rel: float | None) -> list[int]:
    """Return the ranks of the relevant documents in a list of grades."""
    return [
        rank
        for rank, grade in enumerate(grades, start=1)
        if grade is not None and (grade > 0 if rel is None else grade >= rel)
    ]


def _kinds(rows: list[dict[str, Any]]) -> Any:
    """Encode relevance by colour; the legend lists only the kinds that occur."""
    used = {row["kind"] for row in rows}
    return marks.categories("kind:N", {kind: ink for kind, ink in _KINDS.items() if kind in used})


def _ranks(count: int, width: float) -> Any:
    """Encode ranks on an axis, with as many numbers as there is room for."""
    step = next(step for step in (1, 2, 5, 10, 20, 50, 100) if width / count * step >= _LABELLED)
    ranks = list(range(1, count + 1))
    values = [1, *range(step, count + 1, step)] if step > 1 else ranks
    return across("rank:O", "rank", scale={"domain": ranks}, values=values,
                  labelAngle=0, ticks=False, labelPadding=7)  # fmt: skip


def _owned(name: str, text: str) -> str:
    """Put the name of a list before a text, if the list has a name."""
    return f"{name}: {text}" if name else text


def _count_relevant(grades: list[Any], name: str, rel: float | None) -> str:
    """Return a text on how many documents are relevant, and at which ranks."""
    ranks = _relevant(grades, rel)
    verb = "is" if len(ranks) == 1 else "are"
    text = f"{len(ranks):,} of {number_of(len(grades), 'document')} {verb} relevant"
    if ranks:
        first = ", ".join(map(str, ranks[:10])) + (", …" if len(ranks) > 10 else "")
        text += f", at the rank{'s' if len(ranks) > 1 else ''} {first}"
    return _owned(name, text)
