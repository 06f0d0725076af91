"""The judged frame for users: lazy, and no more of it than is used."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Unpack

import polars as pl

from rankframe.core.columns import DOC, GROUP, GROUPED_FRAME, JUDGED_FRAME, QUERY, SCORE
from rankframe.core.errors import MissingColumnError, OptionError
from rankframe.core.options import JudgeOptions, Policies, Storage, is_number, takes_options
from rankframe.engine.lookup import Lookup
from rankframe.engine.prepare import refuse_idle
from rankframe.frames.judged import Judgments
from rankframe.frames.lazy_frame import lazy_frame
from rankframe.frames.matches import matched
from rankframe.frames.subtopics import Groups, needs_ids
from rankframe.io.inputs import Columns, Source, open_judgments, open_run, refuse_absent_columns


@takes_options(JudgeOptions, Policies, Storage)
def judge(
    qrels: Source,
    run: Source,
    *,
    columns: Columns | None = None,
    levels: Sequence[float] = (),
    subtopics: bool = False,
    alphas: Sequence[float] = (),
    cutoffs: Sequence[int] = (),
    **options: Unpack[JudgeOptions],
) -> pl.LazyFrame:
    """Return the judged frame, for your own expressions: one row per judgment, by query and rank.

    The frame is lazy: inputs are read when it is collected, and only the columns that the query
    uses are computed.

    Args:
        qrels: the judgments, as in `evaluate`.
        run: the ranking, as in `evaluate`.
        columns: names in your data, as in `evaluate`.
        levels: grades, each of which adds the columns of metrics with a level of their own
            (`found_rel2`, …).
        subtopics: return the frame of judgments about subtopics, intents or facts: one row per
            document and subtopic, for metrics such as `rf.all_of`.
        alphas: with `subtopics`, each adds the columns of ideal lists with another α than 0.5
            (`ideal_rank_alpha0.7`, …).
        cutoffs: with `subtopics`, each adds the columns of `rf.ndcg_ia` at this k
            (`ideal_dcg_top10`).

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
    >>> facts = {"query_id": ["q1"] * 3, "doc_id": ["a", "c", "c"], "fact": ["x", "x", "y"]}
    >>> rows = rf.judge(facts, run, relevance=1, subtopics=True)
    >>> rows.select("doc_id", "group", "rank", "above").collect().rows()
    [('a', 'x', 1, 0), ('c', 'x', 3, 1), ('c', 'y', 3, 0)]
    """
    policies = Policies.from_options(options)
    refuse_idle(policies)
    if bad := [level for level in levels if not is_number(level)]:
        raise OptionError(f"levels are numbers, not {bad[0]!r}.")
    frame_columns = GROUPED_FRAME if subtopics else JUDGED_FRAME
    schema = frame_columns.schema_at(rel=levels, alpha=alphas, k=cutoffs)
    scanned_qrels = open_judgments(qrels, columns, relevance=policies.relevance)
    scanned_run = open_run(run, policies, columns)
    refuse_absent_columns(columns, scanned_qrels, scanned_run)
    if subtopics and GROUP not in scanned_qrels.mapping:
        found = list(scanned_qrels.raw.collect_schema())
        raise MissingColumnError(scanned_qrels.role, GROUP, found)

    def grouped(needed: set[str]) -> pl.DataFrame:
        found = Lookup.of(scanned_qrels, scanned_run, policies, needed).found()
        whole = matched(found, 0, len(found.judgments.starts))
        frame = Groups(whole, rel=policies.rel, settle=needs_ids(needed)).frame({QUERY, *needed})
        return frame.sort(QUERY, maintain_order=True)

    def make(needed: set[str]) -> pl.DataFrame:
        lookup = Lookup.of(scanned_qrels, scanned_run, policies, needed)
        unscored = SCORE not in scanned_run.mapping
        absent = {name for name in needed if unscored and JUDGED_FRAME.of_whole_input(name)}
        found = lookup.found()
        whole = matched(found, 0, len(found.judgments.starts))
        frame = Judgments(whole, rel=policies.rel, settle=DOC in needed).frame(
            {QUERY, *needed} - absent
        )
        return frame.sort(QUERY, maintain_order=True).with_columns(
            pl.lit(None, schema[name]).alias(name) for name in absent
        )

    return lazy_frame(schema, grouped if subtopics else make)
