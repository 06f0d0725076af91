"""All queries as one piece → the result: summary, slices, ledger; or why there is none."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NoReturn

import polars as pl

from rankframe.core.columns import GROUP, QUERY
from rankframe.core.errors import MissingQueriesError
from rankframe.core.options import Policies
from rankframe.engine.combined import Both, BothCounts
from rankframe.engine.document_metrics import Aggregate, OverDocuments
from rankframe.engine.item_slices import item_slices
from rankframe.engine.job import Job
from rankframe.engine.ledger import (
    Counts,
    make_ledger,
    shown_items,
    shown_ledger,
    with_items,
)
from rankframe.engine.result import Result
from rankframe.engine.summary import (
    SCHEMA,
    SLICE_SCHEMA,
    SMALL,
    summarise,
    summarise_gaps,
    summarise_slices,
)
from rankframe.engine.tally import WHOLE, SliceKey, Tally
from rankframe.engine.work import Piece
from rankframe.io.input_table import InputTable
from rankframe.io.queries import refuse_strangers, unweighted_error
from rankframe.metrics.metric import Metric

Sides = tuple[InputTable | None, InputTable]


def summed_up(
    piece: Piece, job: Job | Both, sides: Sides, no_overlap: Callable[..., NoReturn]
) -> Result:
    """All queries as one piece → the result, or why there is none.

    `no_overlap` says what the ids of both sides look like: of documents, or of queries.
    """
    counts = piece.counts
    judged = counts.judged if isinstance(counts, BothCounts) else counts
    assert isinstance(counts, BothCounts | Counts)  # an evaluation has no others
    if isinstance(judged, Counts):
        _refuse_judged(judged, job.policies, no_overlap)
    refuse_strangers(counts.absent, counts.evaluated, piece.values[QUERY])
    if counts.unweighted:
        raise unweighted_error(counts.unweighted, counts.evaluated, counts.weightless)
    metrics, slices = job.plan.metrics, _named(piece.tallies, job)
    summary = summarise(metrics, piece.tallies[WHOLE], job.intervals)
    sliced = summarise_slices(metrics, slices, job.intervals)
    if isinstance(job, Both) and job.showing.documents:
        summary = _in_order([summary, _of_documents(piece, job, WHOLE)], job.metrics, [])
        frames = [sliced]
        numbered = sorted(key for key in piece.tallies if key != WHOLE)
        for key, (by, name) in zip(numbered, slices, strict=True):
            found = _of_documents(piece, job, key)
            frames.append(
                found.select(
                    pl.lit(by).alias("by"), pl.lit(name).alias("slice"), pl.all(),
                    (pl.col("queries") < SMALL).alias("small"),
                ).cast(SLICE_SCHEMA)  # pyright: ignore[reportArgumentType]
            )  # fmt: skip
        sliced = _in_order(frames, job.metrics, list(slices))
    ledger = ledger_of(piece, job, sides)
    if gaps := [metric for metric in job.asked if metric.frame == "gap"]:
        rows, items = summarise_gaps(gaps, metrics, slices, job.intervals)
        summary = _in_order([summary, rows], job.asked, [])
        ledger = with_items(ledger, items)
    return Result(
        summary=summary,
        per_query=piece.values,
        ledger=ledger,
        slices=sliced,
        inputs=inputs_of(sides),
        over_documents=over_documents(piece, job),
        items=_of_items(piece, job),
    )


def _of_items(piece: Piece, job: Job | Both) -> pl.DataFrame | None:
    """Slices of the items, where they were asked for."""
    if not isinstance(job, Both) or job.showing.items_by is None:
        return None
    assert isinstance(piece.counts, BothCounts)  # that is what both count
    shows = piece.counts.shown.shows
    return item_slices(job.showing.items_by, shows, job.showing.catalogue)


def over_documents(piece: Piece, job: Job | Both) -> OverDocuments | None:
    """What metrics over documents are made of, where there are any."""
    if not isinstance(job, Both) or not isinstance(piece.counts, BothCounts):
        return None
    shows = piece.counts.shown.shows
    return None if shows is None else OverDocuments(shows, job.showing.catalogue)


def _refuse_judged(counts: Counts, policies: Policies, no_overlap: Callable[..., NoReturn]) -> None:
    if not counts.overlap and policies.no_overlap == "error":
        no_overlap(shared_queries=counts.missing < counts.qrels_queries)
    if counts.lacking is not None and policies.missing == "error":
        raise MissingQueriesError(counts.missing, counts.qrels_queries, counts.lacking)


def _of_documents(piece: Piece, job: Both, of: SliceKey) -> pl.DataFrame:
    """Rows of a summary for metrics over documents."""
    assert isinstance(piece.counts, BothCounts)
    metrics, shows = job.showing.documents, piece.counts.shown.shows
    confidence, rows = job.intervals.confidence, []
    groups = job.intervals.ci is not None and of == WHOLE
    found = [Aggregate(None, 0)] * len(metrics)
    if shows is not None:
        found = OverDocuments(shows, job.showing.catalogue).of(metrics, of, groups=groups)
    for metric, one in zip(metrics, found, strict=True):
        bounds = one.bounds(confidence) or (None, None)
        rows.append((metric.label, one.value, *bounds, None, one.lists))
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")


def _in_order(
    frames: Sequence[pl.DataFrame], metrics: Sequence[Metric], slices: Sequence[tuple[str, str]]
) -> pl.DataFrame:
    """Rows of several summaries, slices in their order, and metrics as they were asked for."""
    places = {metric.label: at for at, metric in enumerate(metrics)}
    whole = pl.concat(frames)
    keys = [pl.col("metric").replace_strict(places, return_dtype=pl.Int64)]
    if slices:
        of = {f"{by}\0{name}": at for at, (by, name) in enumerate(slices)}
        named = pl.concat_str("by", "slice", separator="\0")
        keys.insert(0, named.replace_strict(of, return_dtype=pl.Int64))
    return whole.sort(keys)


def ledger_of(piece: Piece, job: Job | Both, sides: Sides) -> pl.DataFrame:
    """What was counted, and the policies in force."""
    counts, policies, run = piece.counts, job.policies, sides[1]
    groups = None if sides[0] is None else sides[0].mapping.get(GROUP)
    described = {**policies.described(), **job.intervals.described()}
    if isinstance(counts, BothCounts) and isinstance(job, Both):
        showing, judged = job.showing, None
        items = shown_items(counts.shown, showing.catalogue, len(showing.documents))
        if (asked := showing.items_by) is not None:
            items.append(("items_k", asked.k, "slices of items look at so much of each list"))
        if counts.judged is not None:
            judged = make_ledger(counts.judged, described, run, groups=groups, rel=policies.rel)
        return shown_ledger(judged, items, described, run, evaluated=counts.evaluated)
    assert isinstance(counts, Counts)  # an evaluation has no others
    return make_ledger(counts, described, run, groups=groups, rel=policies.rel)


def inputs_of(sides: Sides) -> dict[str, str]:
    """What was evaluated, by name."""
    named = zip(("qrels", "run"), sides, strict=True)
    return {name: side.name for name, side in named if side is not None}


def _named(tallies: Mapping[SliceKey, Tally], job: Job | Both) -> dict[tuple[str, str], Tally]:
    """The slices by what they are called, in order."""
    attributes = job.attributes
    if attributes is None:
        return {}
    numbered = sorted(key for key in tallies if key != WHOLE)
    return {attributes.name(*key): tallies[key] for key in numbered}
