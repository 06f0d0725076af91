"""Ways to get the same five numbers from the same two Parquet files, each as its users write it.

Each function takes the paths of qrels and run and returns the means by metric.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import polars as pl

METRICS = ("ndcg@10", "map", "mrr", "precision@10", "recall@10")
Values = dict[str, float]


def rankframe(qrels: Path, run: Path) -> Values:
    import rankframe as rf

    return {k: v or 0.0 for k, v in rf.evaluate(qrels, run, METRICS).means.items()}


def in_memory(qrels: Path, run: Path) -> Values:
    """As a machine with memory enough does it."""
    import rankframe as rf

    return {
        k: v or 0.0 for k, v in rf.evaluate(qrels, run, METRICS, max_memory="1TB").means.items()
    }


def within_3_gib(qrels: Path, run: Path) -> Values:
    """In pieces, with every query's values written to a folder."""
    import rankframe as rf

    with TemporaryDirectory() as folder:
        result = rf.evaluate(qrels, run, METRICS, max_memory="3GiB", output=Path(folder) / "out")
        return {k: v or 0.0 for k, v in result.means.items()}


def limit(qrels: Path, run: Path) -> Values:
    """What nobody can beat: read both files, join them on the two string keys, and stop."""
    keys = ["query_id", "doc_id"]
    joined = pl.scan_parquet(run).join(pl.scan_parquet(qrels), on=keys)
    # The streaming engine is the faster one for this.
    joined.select(pl.len(), pl.col("score").sum()).collect(engine="streaming")
    return {}


def duckdb(qrels: Path, run: Path) -> Values:
    import duckdb

    connection = duckdb.connect()
    connection.execute("SET preserve_insertion_order = false")
    row = connection.execute(
        f"""
        WITH ranked AS (
            SELECT query_id, doc_id,
                   row_number() OVER (
                       PARTITION BY query_id ORDER BY score DESC, doc_id DESC) AS rank
            FROM read_parquet('{run}')
        ), judged AS (
            SELECT q.query_id, q.relevance AS grade, r.rank,
                   row_number() OVER (PARTITION BY q.query_id ORDER BY q.relevance DESC) AS ideal
            FROM read_parquet('{qrels}') q LEFT JOIN ranked r USING (query_id, doc_id)
        ), counted AS (
            SELECT *, count(*) FILTER (grade > 0 AND rank IS NOT NULL)
                      OVER (PARTITION BY query_id ORDER BY rank NULLS LAST) AS found
            FROM judged
        ), per_query AS (
            SELECT coalesce(sum(grade / log2(rank + 1)) FILTER (rank <= 10), 0)
                     / nullif(sum(grade / log2(ideal + 1)) FILTER (ideal <= 10), 0) AS ndcg,
                   coalesce(sum(found / rank) FILTER (grade > 0 AND rank IS NOT NULL), 0)
                     / nullif(count(*) FILTER (grade > 0), 0) AS ap,
                   coalesce(max(1 / rank) FILTER (grade > 0), 0) AS rr,
                   count(*) FILTER (grade > 0 AND rank <= 10) / 10 AS p,
                   count(*) FILTER (grade > 0 AND rank <= 10)
                     / nullif(count(*) FILTER (grade > 0), 0) AS r
            FROM counted GROUP BY query_id
        )
        SELECT avg(coalesce(ndcg, 0)), avg(coalesce(ap, 0)), avg(rr), avg(p), avg(coalesce(r, 0))
        FROM per_query
        """
    ).fetchone()
    assert row is not None
    return dict(zip(METRICS, row, strict=True))


def naive_polars(qrels: Path, run: Path) -> Values:
    """A first attempt in polars: windows over the query, one left join, one group-by."""
    rank, ideal, grade = pl.col("rank"), pl.col("ideal"), pl.col("relevance")
    hit = (grade > 0) & rank.is_not_null()
    ranked = pl.scan_parquet(run).with_columns(
        rank=pl.struct("score", "doc_id").rank("ordinal", descending=True).over("query_id")
    )
    judged = pl.scan_parquet(qrels).with_columns(
        ideal=grade.rank("ordinal", descending=True).over("query_id")
    )
    table = judged.join(ranked, on=["query_id", "doc_id"], how="left").with_columns(
        rank.cast(pl.Int64), ideal.cast(pl.Int64)
    )
    table = table.sort("query_id", "rank", nulls_last=True).with_columns(
        found=hit.cum_sum().over("query_id")
    )
    relevant = (grade > 0).sum()
    values = table.group_by("query_id").agg(
        ndcg=(grade / (rank + 1).log(2)).filter(rank <= 10).sum()
        / (grade / (ideal + 1).log(2)).filter(ideal <= 10).sum(),
        ap=(pl.col("found") / rank).filter(hit).sum() / relevant,
        rr=(1 / rank).filter(hit).max().fill_null(0),
        p=(hit & (rank <= 10)).sum() / 10,
        r=(hit & (rank <= 10)).sum() / relevant,
    )
    row = values.select(pl.exclude("query_id").fill_nan(0).mean()).collect().row(0)
    return dict(zip(METRICS, row, strict=True))


def pytrec_eval(qrels: Path, run: Path) -> Values:
    import pytrec_eval

    names = ("ndcg_cut_10", "map", "recip_rank", "P_10", "recall_10")
    judged: Any = _dicts(qrels, "relevance")
    evaluator = pytrec_eval.RelevanceEvaluator(
        judged, {"ndcg_cut.10", "map", "recip_rank", "P.10", "recall.10"}
    )
    per_query = evaluator.evaluate(_dicts(run, "score"))
    return {
        ours: sum(values[theirs] for values in per_query.values()) / len(judged)
        for ours, theirs in zip(METRICS, names, strict=True)
    }


def ranx(qrels: Path, run: Path) -> Values:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from ranx import Qrels, Run, evaluate

        ids = {"query_id": object, "doc_id": object}  # ranx knows no other strings
        truth = pl.read_parquet(qrels).filter(pl.col("relevance") > 0).to_pandas().astype(ids)
        ranked = pl.read_parquet(run).to_pandas().astype(ids)
        values: Any = evaluate(
            Qrels.from_df(truth, q_id_col="query_id", doc_id_col="doc_id", score_col="relevance"),
            Run.from_df(ranked, q_id_col="query_id", doc_id_col="doc_id", score_col="score"),
            list(METRICS),
            make_comparable=True,
        )
    judged = pl.read_parquet(qrels, columns=["query_id"])["query_id"].n_unique()
    # ranx averages over the queries that have something relevant.
    share = float(len(set(truth["query_id"])) / judged)
    return {name: float(value) * share for name, value in values.items()}


def ir_measures(qrels: Path, run: Path) -> Values:
    import ir_measures

    wanted = [ir_measures.parse_measure(m) for m in ("nDCG@10", "AP", "RR", "P@10", "R@10")]
    values = ir_measures.calc_aggregate(
        wanted, pl.read_parquet(qrels).to_pandas(), pl.read_parquet(run).to_pandas()
    )
    return {ours: values[m] for ours, m in zip(METRICS, wanted, strict=True)}


def _dicts(path: Path, value: str) -> dict[str, dict[str, float]]:
    frame = pl.read_parquet(path)
    nested: dict[str, dict[str, float]] = {}
    for query, doc, number in zip(frame["query_id"], frame["doc_id"], frame[value], strict=True):
        nested.setdefault(query, {})[doc] = number
    return nested


CONTENDERS: dict[str, Callable[[Path, Path], Values]] = {
    "limit": limit,
    "rankframe": rankframe,
    "duckdb": duckdb,
    "naive polars": naive_polars,
    "pytrec_eval": pytrec_eval,
    "ir_measures": ir_measures,
    "ranx": ranx,
}
# Not among the contenders of every input.
BOUNDED: dict[str, Callable[[Path, Path], Values]] = {
    "in memory": in_memory,
    "within 3 GiB": within_3_gib,
}
# Contenders that take minutes run on a part of the queries; their times are scaled up and marked.
SLOW = {"pytrec_eval": 1, "ir_measures": 10, "ranx": 20}
