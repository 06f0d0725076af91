"""The judged frame for users: lazy, and no more of it than is used."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from rankframe.base import options
from rankframe.base.columns import DOC, JUDGED_FRAME, QUERY, SCORE, at_level
from rankframe.base.errors import OptionError
from rankframe.base.options import Policies, is_number
from rankframe.base.storage import StorageOptions, reaching
from rankframe.evaluation.both import refuse_idle
from rankframe.evaluation.lookup import Lookup
from rankframe.frames.found import matched
from rankframe.frames.judged import Judgments
from rankframe.frames.lazily import lazy_frame
from rankframe.inputs.scan import Columns, Source, refuse_absent_columns, scan
from rankframe.inputs.units import scan_run


@reaching
def judge(
    qrels: Source,
    run: Source,
    *,
    columns: Columns | None = None,
    storage_options: StorageOptions | None = None,
    rel: float | None = None,
    relevance: float | None = None,
    order: options.Order = "columns",
    ranks: options.Ranks = "renumbered",
    ties: options.Ties = "doc_desc",
    duplicates: options.Duplicates = "error",
    k_max: int | None = None,
    unit: options.Unit = None,
    gaps: options.Gaps = "closed",
    train: options.Table = None,
    exclude_seen: bool = False,
    judged_only: bool = False,
    levels: Sequence[float] = (),
) -> pl.LazyFrame:
    """The judged frame: one row per judgment, by query and rank, for expressions of your own.

    Lazy: inputs are read when it is collected, and only columns that the query uses are computed.
    `rel` is the grade from which a document counts as relevant (default: any above 0). Each of
    `levels` adds the columns that metrics with a level of their own need (`found_rel2`, …).

    >>> qrels = {"q1": {"a": 2, "b": 0, "c": 1}}
    >>> run = {"q1": {"a": 0.9, "x": 0.8, "c": 0.7}}
    >>> rf.judge(qrels, run).select("doc_id", "relevance", "rank", "found").collect()
    shape: (3, 4)
    ┌────────┬───────────┬──────┬───────┐
    │ doc_id ┆ relevance ┆ rank ┆ found │
    │ ---    ┆ ---       ┆ ---  ┆ ---   │
    │ str    ┆ f64       ┆ i64  ┆ i64   │
    ╞════════╪═══════════╪══════╪═══════╡
    │ a      ┆ 2.0       ┆ 1    ┆ 1     │
    │ c      ┆ 1.0       ┆ 3    ┆ 2     │
    │ b      ┆ 0.0       ┆ null ┆ null  │
    └────────┴───────────┴──────┴───────┘
    >>> rf.judge(qrels, run).group_by("query_id").agg(rf.recall(k=1).alias("recall@1")).collect()
    shape: (1, 2)
    ┌──────────┬──────────┐
    │ query_id ┆ recall@1 │
    │ ---      ┆ ---      │
    │ str      ┆ f64      │
    ╞══════════╪══════════╡
    │ q1       ┆ 0.5      │
    └──────────┴──────────┘
    """
    policies = Policies.given(locals(), frame_only=True)
    refuse_idle(policies)
    if bad := [level for level in levels if not is_number(level)]:
        raise OptionError(f"levels are numbers, not {bad[0]!r}.")
    schema = JUDGED_FRAME.schema
    for level in levels:
        schema |= {at_level(name, level): schema[name] for name in JUDGED_FRAME.parametric}
    scanned_qrels = scan(qrels, "qrels", columns, relevance=relevance)
    scanned_run = scan_run(run, policies, columns)
    refuse_absent_columns(columns, scanned_qrels, scanned_run)

    def make(needed: set[str]) -> pl.DataFrame:
        lookup = Lookup.of(scanned_qrels, scanned_run, policies, needed)
        unscored = SCORE not in scanned_run.mapping
        absent = {name for name in needed if unscored and JUDGED_FRAME.of_whole_input(name)}
        found = lookup.found()
        whole = matched(found, 0, len(found.judgments.starts))
        frame = Judgments(whole, rel=rel, settle=DOC in needed).frame({QUERY, *needed} - absent)
        return frame.sort(QUERY, maintain_order=True).with_columns(
            pl.lit(None, schema[name]).alias(name) for name in absent
        )

    return lazy_frame(schema, make)
