"""Training of fusion methods on a Spark cluster: counted on every partition, added up exactly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from rankframe.analysis.fusion.options import FusionPolicies
from rankframe.analysis.fusion.registry import Method
from rankframe.analysis.fusion.training import HIT_SCHEMA, Hits, judge_runs
from rankframe.core.columns import QUERY
from rankframe.core.wording import naming_the_run
from rankframe.io.input_table import part_of
from rankframe.io.inputs import in_units
from rankframe.spark.driver import SETTINGS, map_partitions, raise_problems
from rankframe.spark.inputs import Input
from rankframe.spark.session import settings, spark_errors
from rankframe.spark.worker import VALUES, Answer, read_answers
from rankframe.stats.exact import Exact

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_RUN = "run"  # the number of a run, beside what is counted of it
_COLUMNS = dict.fromkeys((_RUN, *HIT_SCHEMA), "int64")


def hits_on_spark(
    method: Method,
    qrels: Input,
    runs: Mapping[str, Input],
    policies: FusionPolicies,
    partitions: int,
) -> list[Hits]:
    """Count relevant documents of each run, as on one machine: to the last bit."""
    sides = [qrels, *runs.values()]
    work = CountPartition(tuple(runs), policies, method.definition.name)
    with spark_errors(), settings(qrels.frame.sparkSession, SETTINGS):
        answers = map_partitions(sides, work, _COLUMNS, partitions, [None, *runs])
        answers.persist()
        try:
            rows = answers.where(f"kind <> {VALUES}").select("kind", "rest").collect()
            sums, problems = read_answers(rows)
            raise_problems(problems)
            table = _table(answers)
        finally:
            answers.unpersist()
    hits = []
    for number in range(len(runs)):
        of_run = [counts[number] for _, counts in sums]
        precision = sum((precision for precision, _ in of_run), Exact())
        queries = sum(queries for _, queries in of_run)
        counted = table.filter(pl.col(_RUN) == number).select(*HIT_SCHEMA)
        hits.append(Hits(counted, precision, queries))
    return hits


def _table(answers: DataFrame) -> pl.DataFrame:
    """Return what was counted, added up by Spark: whole numbers."""
    *keys, count = (f"v{number}" for number in range(len(_COLUMNS)))
    added = answers.where(f"kind = {VALUES} and {count} > 0").groupBy(*keys).agg({count: "sum"})
    return pl.DataFrame(added.toDF(*_COLUMNS).toArrow()).cast(pl.Int64)


@dataclass(frozen=True)
class CountPartition:
    """Count what the judgments of a partition say of each run."""

    names: tuple[str, ...]
    policies: FusionPolicies
    # the name of the method
    method: str

    def answer(self, frames: Sequence[pl.DataFrame]) -> Answer:
        """Return a table of counts, and the average precision of each run, added up."""
        qrels, *runs = frames
        hits = [self._count(qrels, *named) for named in zip(runs, self.names, strict=True)]
        tables = [
            of_run.table.select(
                pl.lit(None, pl.String).alias(QUERY), pl.lit(number).alias(_RUN), *HIT_SCHEMA
            )
            for number, of_run in enumerate(hits)
        ]
        sums = [(of_run.precision, of_run.queries) for of_run in hits]
        return Answer(pl.concat(tables), [(None, sums)])

    def _count(self, qrels: pl.DataFrame, run: pl.DataFrame, name: str) -> Hits:
        queries = qrels[QUERY].n_unique()
        if not queries or run.is_empty():
            table = pl.DataFrame({"length": [0], "rank": [0], "count": [queries]}, HIT_SCHEMA)
            return Hits(table, Exact(), queries)
        part = part_of(run, "run")
        with naming_the_run(repr(name)):
            if self.policies.unit is not None:
                part = in_units(part, self.policies.unit)
        judged = part_of(qrels, "qrels")
        (judged_run,) = judge_runs(judged, {name: part}, self.policies, self.method)
        return judged_run.count()
