"""Draw exposure: how evenly documents are retrieved, and how popular retrieved documents are."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TypeAlias, Unpack

import numpy as np
import polars as pl

from rankframe.core.columns import DOC
from rankframe.core.errors import OptionError
from rankframe.core.messages import Option, number_of
from rankframe.core.wording import distinct_texts
from rankframe.metrics.catalogue import gini
from rankframe.present.charts import marks
from rankframe.present.charts.canvas import Canvas, Chart, Look
from rankframe.present.charts.chart_inputs import between, by_name, in_words
from rankframe.present.charts.marks import across, alt, tip, up
from rankframe.present.charts.palette import SAME
from rankframe.present.charts.registry import chart

__all__ = ["exposure", "popularity"]

# The exposure frame of one system, or of several systems by name.
Documents: TypeAlias = (
    pl.LazyFrame | pl.DataFrame | Mapping[str, pl.LazyFrame] | Mapping[str, pl.DataFrame]
)
_LABEL = 24  # characters of a name
_MOST_BINS = 12  # ranges of popularity
_TOP = re.compile(r"retrieved_top([1-9]\d*)")


@chart(
    takes="retrieved",
    inputs=lambda source: (source.documents(),),
    demo="popular.parquet item_based.parquet als.parquet -k 10 --items items.parquet",
)
def exposure(documents: Documents, **look: Unpack[Look]) -> Chart:
    """Draw how evenly documents are retrieved, as a Lorenz curve.

    Takes `{name: rf.exposure(run, items=items, k=10)}`. Documents are sorted by how often they are
    retrieved, the rarest first. The curve shows the share of all places in the lists that the first
    x% of the catalogue have. On the diagonal, all are retrieved equally often; the further the
    curve is below the diagonal, the fewer documents dominate the lists.

    The documents are those of the catalogue or, without a catalogue, all retrieved documents. The
    subtitle has the Gini coefficient, the metric `gini`.

    >>> counted = rf.exposure({"u1": ["a", "b"], "u2": ["a", "c"]}, items=["a", "b", "c", "d"])
    >>> drawn = rf.plot.exposure({"mine": counted}).to_dict()
    >>> [(row["documents"], row["places"]) for row in drawn["layer"][1]["data"]["values"]]
    [(0.0, 0.0), (0.25, 0.0), (0.75, 0.5), (1.0, 1.0)]
    """
    on = Canvas.from_look(look)
    frames = _frames(documents)
    everything = all(frame["in_catalogue"].any() for frame in frames.values())
    inside = pl.col("in_catalogue") if everything else pl.col("retrieved") > 0
    curves, counts, outside = {}, [], 0.0
    for name, label in distinct_texts(list(frames), _LABEL).items():
        frame, kept = frames[name], frames[name].filter(inside)
        places, total = int(kept["retrieved"].sum()), int(frame["retrieved"].sum())
        if not places:
            raise OptionError(f"{name!r} retrieves no document of the catalogue: nothing to draw.")
        coefficient = frame.select(gini(over="catalogue" if everything else "retrieved")).item()
        own = "" if coefficient is None else f" (Gini {coefficient:.3f})"
        curves[f"{label}{own}"] = _lorenz(kept)
        counts.append(kept.height)
        outside = max(outside, 1 - places / total)
    of_what = "documents of the catalogue" if everything else "retrieved documents"
    axes = (f"share of {of_what}, least retrieved first", "share of all places")
    equal = on.diagonal("documents", "places").encode(x="documents:Q", y="places:Q")
    drawn = marks.layered(equal, on.lines(curves, "documents", "places", axes, shares=True))
    subtitle = [
        f"{_lists(frames)}; {between(counts, 'document')}",
        "dashed: all are retrieved equally often, Gini 0; one takes all places: Gini 1",
    ]
    if outside:
        subtitle.append(f"without places of documents outside the catalogue: up to {outside:.1%}")
    return on.finished(drawn, "How evenly documents are retrieved", subtitle)


def _lorenz(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the corners of a Lorenz curve, which is straight between equally exposed documents."""
    corners = frame.group_by("retrieved").agg(pl.len().cast(pl.Int64)).sort("retrieved")
    ends = corners.select(
        documents=pl.col("len").cum_sum() / pl.col("len").sum(),
        places=(pl.col("len") * pl.col("retrieved")).cum_sum()
        / (pl.col("len") * pl.col("retrieved")).sum(),
    )
    return pl.concat([pl.DataFrame({"documents": [0.0], "places": [0.0]}), ends])


@chart(
    takes="retrieved",
    inputs=lambda source: (source.documents(),),
    demo="popular.parquet item_based.parquet als.parquet -k 10 --train train.parquet "
    "--items items.parquet",
)
def popularity(documents: Documents, **look: Unpack[Look]) -> Chart:
    """Draw how popular the retrieved documents are.

    Takes `{name: rf.exposure(run, train=train, k=10)}`. For each range of popularity, bars show the
    share of ranks in the lists, of documents in the catalogue, and of interactions in train.
    Popularity is the number of queries (users) that have a document in train; ranges double.

    >>> train = {"u1": ["a", "b"], "u2": ["a"], "u3": ["a"]}
    >>> counted = rf.exposure({"u1": ["a"], "u2": ["b"]}, train=train, items=["a", "b", "c"])
    >>> drawn = rf.plot.popularity({"mine": counted}).to_dict()
    >>> rows = drawn["data"]["values"]
    >>> [(row["users"], row["share"]) for row in rows[:3]]
    [('0', 0.0), ('1', 0.5), ('2–3', 0.5)]
    """
    on = Canvas.from_look(look)
    frames = _frames(documents)
    for name, frame in frames.items():
        if frame["popularity"].null_count():
            unknown = f"it is not known how popular the documents of {name!r} are: give "
            raise OptionError(unknown, Option("train"), ".")
        if not frame["retrieved"].sum():
            raise OptionError(f"{name!r} retrieves nothing: there is nothing to draw.")
    highest = max(int(frame["popularity"].max() or 0) for frame in frames.values())  # pyright: ignore[reportArgumentType]
    starts, labels = _ranges(highest)
    names = distinct_texts(list(frames), _LABEL)
    first = next(iter(frames.values()))
    references = {("the catalogue", "in_catalogue"): on.ink, ("train", "interactions"): SAME}
    bars = [(names[name], frame, "retrieved") for name, frame in frames.items()]
    bars += [
        (f"{name}'s own" if name in names.values() else name, first, column)
        for name, column in references
    ]
    rows = [
        {"system": system, "users": label, "share": share}
        for system, frame, column in bars
        for label, share in zip(labels, _shares(frame, column, starts), strict=True)
    ]
    order = [system for system, _, _ in bars]
    colours = [*marks.colours_of(len(names)), *references.values()]
    scale = alt.Scale(domain=order, range=colours)
    dashes = alt.Scale(domain=order, range=[*([[1, 0]] * len(names)), [6, 3], [2, 2]])
    legend = marks.legend(order)
    base = marks.chart_of(rows).encode(
        x=across("users:O", "popularity: queries that have the document in train",
                 sort=labels, labelAngle=-40 if len(labels) > 6 else 0),
        y=up("share:Q", "share", format=".0%"),
        color=alt.Color("system:N", scale=scale, legend=legend),
        tooltip=["system:N", alt.Tooltip("users:N", title="popularity"), tip("share:Q", ".2%")],
    )  # fmt: skip
    lines = base.mark_line(strokeWidth=2)
    circles = base.mark_circle(size=36, opacity=1)  # without a legend of their own
    drawn = marks.layered(
        lines.encode(strokeDash=alt.StrokeDash("system:N", scale=dashes, legend=legend)),
        circles.encode(color=alt.Color("system:N", scale=scale, legend=None)),
    )
    catalogue = number_of(int(first["in_catalogue"].sum()), "document")
    subtitle = [
        f"{in_words(list(names.values()))}: share of places; {_lists(frames)}",
        f"dashed: share of the catalogue ({catalogue}), and of interactions in train",
    ]
    return on.finished(on.sized(drawn), "Popularity of retrieved documents", subtitle)


def _ranges(highest: int) -> tuple[list[int], list[str]]:
    """Return the lower ends of the ranges of popularity, from 0 on, and their labels."""
    factor = 2
    while factor ** (_MOST_BINS - 1) <= highest:
        factor *= 2
    starts, lower = [0], 1
    while lower <= max(highest, 1):
        starts.append(lower)
        lower *= factor
    ends = [start - 1 for start in starts[1:]] + [max(highest, 1)]
    return starts, [
        f"{start:,}" if start == end else f"{start:,}–{end:,}"
        for start, end in zip(starts, ends, strict=True)
    ]


def _shares(frame: pl.DataFrame, column: str, starts: Sequence[int]) -> list[float]:
    """Return, for each range of popularity, its share of the sum of a column of counts."""
    place = pl.Series(starts).search_sorted(frame["popularity"], side="right") - 1
    weights = frame[column].cast(pl.Float64)
    sums = np.bincount(place, weights, minlength=len(starts))
    return (sums / (sums.sum() or 1.0)).tolist()


def _frames(documents: Documents) -> dict[str, pl.DataFrame]:
    """Return collected exposure frames, by name of the system."""
    needed = "rf.exposure(run, …), or several by name"
    columns = (DOC, "in_catalogue", "popularity", "interactions", "retrieved", "lists")
    found = {}
    for name, table in by_name(documents, pl.LazyFrame | pl.DataFrame, needed).items():
        found[name] = table.lazy().collect()
        if missing := [column for column in columns if column not in found[name].columns]:
            raise OptionError(
                f"{name!r} has no column {missing[0]!r}: it is no frame of rf.exposure."
            )
    return found


def _lists(frames: Mapping[str, pl.DataFrame]) -> str:
    """Return a text on the number of lists and their depth."""
    depths = {
        next((m[1] for c in frame.columns if (m := _TOP.fullmatch(c))), None)
        for frame in frames.values()
    }
    depth = depths.pop() if len(depths) == 1 else None
    top = "" if depth is None else f"the top {depth} of "
    counts = [int(frame["lists"].max() or 0) for frame in frames.values()]  # pyright: ignore[reportArgumentType]
    return f"{top}{between(counts, 'list')}"
