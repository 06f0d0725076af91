"""The inputs beside a run and judgments on Spark: interactions, items, another run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import polars as pl

from rankframe.core.columns import DOC, QUERY
from rankframe.core.errors import EmptyInputError, OptionError
from rankframe.core.messages import Option
from rankframe.core.options import Intervals, Policies
from rankframe.engine.document_metrics import ItemsBy
from rankframe.engine.evaluation import Evaluation, passed_inputs
from rankframe.frames.catalogue import Catalogue, Trained
from rankframe.frames.side_inputs import BASE, JUDGED, TRAINED
from rankframe.io.inputs import COUNT, Columns, Source, find_train, refuse_counts
from rankframe.io.opening import open_table
from rankframe.io.queries import Attributes
from rankframe.metrics.metric import Metric
from rankframe.spark.inputs import Input, open_input
from rankframe.spark.lists import quoted
from rankframe.spark.session import first_row, is_spark_frame, spark_errors

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class SideInputs:
    """Hold the inputs beside a run and judgments."""

    policies: Policies
    train: Input | None
    base: Input | None

    @classmethod
    def open(cls, policies: Policies, session: SparkSession, columns: Columns | None) -> SideInputs:
        """Open the inputs that the policies name."""
        train = base = None
        if policies.train is not None:
            train = open_input(policies.train, session, lambda f: find_train(f, columns), "train")
            train = _counted(train)
        if policies.reference is not None:
            base = open_input(
                policies.reference,
                session,
                lambda f: open_table(f, "run", columns, called="reference"),
                "reference",
            )
        return cls(policies, train, base)

    def without_seen(self, run: Input) -> Input:
        """Return a run without documents that its queries interacted with in training."""
        if self.train is None:
            option = Option("exclude_seen", value=True)
            raise OptionError(option, " needs ", Option("train", bare=True), ".")
        interactions = self.train.tagged().selectExpr(f"{QUERY} as _seen_by", f"{DOC} as _seen")
        query, doc = (quoted(run.scanned.mapping[name]) for name in (QUERY, DOC))
        from pyspark.sql import functions  # noqa: PLC0415 (an optional part)

        same = functions.expr(
            f"cast({query} as string) = _seen_by and cast({doc} as string) = _seen"
        )
        left = run.frame.join(interactions, same, "left_anti")
        excluded = run.count() - left.count()
        return Input(left, replace(run.scanned, excluded=lambda: excluded))

    def evaluation(
        self,
        metrics: Sequence[Metric],
        *,
        judgments: bool,
        columns: Columns | None,
        attributes: Attributes | None,
        intervals: Intervals,
        items_by: ItemsBy | None = None,
    ) -> Evaluation:
        """Return the evaluation that every partition is sent."""
        inputs = passed_inputs(self.policies, judgments=judgments)
        # What was read here is not sent again.
        policies = replace(self.policies, train=None, items=None, catalogue=None, reference=None)
        evaluation = Evaluation.from_metrics(
            metrics, policies, inputs, attributes=attributes, intervals=intervals
        )
        if items_by is None and not evaluation.looks_at_retrieved:
            return evaluation
        items, catalogue = map(_local, (self.policies.items, self.policies.catalogue))
        candidates = Catalogue.of(self._trained(), items, catalogue, columns)
        return evaluation.with_retrieved(candidates, inputs, items_by=items_by)

    def sent(self, evaluation: Evaluation, qrels: Input | None, run: Input) -> list[Input]:
        """Return the inputs that executors are sent: the run, and what metrics look at."""
        needed = set() if evaluation.judged is None else {JUDGED}
        if evaluation.retrieved is not None:
            needed |= evaluation.retrieved.needed
        kinds = ((JUDGED, qrels), (None, run), (TRAINED, self.train), (BASE, self.base))
        return [
            side for kind, side in kinds if side is not None and (kind is None or kind in needed)
        ]

    def _trained(self) -> Trained | None:
        """Count the interactions with each document on the cluster."""
        if self.train is None:
            return None
        rows = self.train.tagged()
        bad = "n0 is null or isnan(n0) or n0 < 1 or n0 <> floor(n0)"
        checks = [f"count_if({bad})", f"min(if({bad}, n0, null))", f"count(distinct {QUERY})"]
        count, wrong, example, queries = first_row(rows.selectExpr("count(1)", *checks))
        if not count:
            raise EmptyInputError("train", self.train.scanned.name)
        refuse_counts(wrong, example)
        pairs = rows.groupBy(QUERY, DOC).agg({"n0": "sum"}).toDF(QUERY, DOC, COUNT)
        found = pairs.groupBy(DOC).agg({COUNT: "sum", QUERY: "count"})
        documents = collected(found.select(DOC, f"count({QUERY})", f"sum({COUNT})"))
        schema = {DOC: pl.String, "popularity": pl.Int64, COUNT: pl.Float64}
        documents.columns = list(schema)
        return Trained(documents.cast(schema), queries)  # pyright: ignore[reportArgumentType]


def collected(frame: Any) -> pl.DataFrame:
    """A Spark DataFrame, brought here."""
    with spark_errors():
        return pl.DataFrame(frame.toArrow())


def _local(source: Source | None) -> Source | None:
    return collected(source) if is_spark_frame(source) else source


def _counted(train: Input) -> Input:
    """With how often each pair is there, where the table does not say."""
    often = train.scanned.mapping[COUNT]
    if often in train.frame.columns:
        return train
    return Input(train.frame.selectExpr("*", f"1D as {quoted(often)}"), train.scanned)
