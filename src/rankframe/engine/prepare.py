"""From metrics to an evaluation: which frames they look at, and what must be given for these."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Final

from rankframe.core.columns import SHOWN_FRAME
from rankframe.core.errors import OptionError
from rankframe.core.messages import Option
from rankframe.core.options import Intervals, Policies
from rankframe.engine.accumulator import Averages
from rankframe.engine.document_metrics import ItemsBy
from rankframe.engine.evaluation import Evaluation
from rankframe.engine.judged_metrics import JudgedMetrics, judged_plan
from rankframe.engine.retrieved_metrics import RetrievedMetrics
from rankframe.frames.catalogue import Catalogue, Trained
from rankframe.io.inputs import Columns, open_table, open_train
from rankframe.io.queries import Attributes
from rankframe.io.validate import check_input
from rankframe.metrics.metric import Frame, Metric

# The frames that metrics of a run may look at.
RUN_FRAMES: Final[tuple[Frame, ...]] = ("judged", "grouped", "shown", "documents")


def prepare_evaluation(
    metrics: Sequence[Metric],
    policies: Policies,
    *,
    judgments: bool = True,
    columns: Columns | None = None,
    attributes: Attributes | None = None,
    slices: Attributes | None = None,
    intervals: Intervals | None = None,
    limit: int | None = None,
    items_by: ItemsBy | None = None,
    summed: bool = True,
) -> Evaluation:
    """Return the evaluation of metrics, whatever frames they look at, and open what they need.

    Args:
        metrics: as they were requested, gaps between slices included.
        policies: what counts.
        judgments: whether there are any.
        columns: names in the data.
        attributes: weights and slices of queries.
        slices: slices of metrics over documents, where they are not among the attributes.
        intervals: which intervals averages get.
        limit: how many bytes the work may take.
        items_by: slices of the items.
        summed: whether values per query are summed up.
    """
    evaluation = evaluate_judged(
        metrics, policies, judgments=judgments, attributes=attributes, intervals=intervals,
        summed=summed,
    )  # fmt: skip
    if not looks_at_retrieved(metrics) and items_by is None:
        refuse_idle(policies)
        return evaluation
    train = None if policies.train is None else open_train(policies.train, columns, limit=limit)
    base = None
    if policies.reference is not None:
        base = open_table(
            policies.reference, "run", columns, order=policies.order, ranks=policies.ranks,
            called="reference", limit=limit,
        )  # fmt: skip
        check_input(base)
    trained = None if train is None else Trained.of(train)
    catalogue = Catalogue.of(trained, policies.items, policies.catalogue, columns, limit=limit)
    inputs = given_inputs(policies, judgments=judgments)
    return replace(
        with_retrieved(evaluation, catalogue, inputs, slices=slices, items_by=items_by),
        train=train,
        base=base,
    )


def evaluate_judged(
    metrics: Sequence[Metric],
    policies: Policies,
    *,
    judgments: bool = True,
    attributes: Attributes | None = None,
    intervals: Intervals | None = None,
    summed: bool = True,
) -> Evaluation:
    """Return the evaluation of the metrics that look at judgments."""
    _refuse_unknown(metrics, policies)
    judged = [metric for metric in metrics if metric.of_judgments]
    if judged and not judgments:
        raise OptionError(
            f"{judged[0].label!r} needs judgments: without ", Option("qrels", bare=True),
            ", give metrics of what was shown alone, such as coverage@10.",
        )  # fmt: skip
    averaged = tuple(metric for metric in metrics if metric.frame not in ("documents", "gap"))
    averages = Averages(averaged, intervals or Intervals(), attributes, summed)
    over_judgments = JudgedMetrics(judged_plan(judged), policies) if judged else None
    return Evaluation(tuple(metrics), policies, averages, over_judgments)


def looks_at_retrieved(metrics: Sequence[Metric]) -> bool:
    """Return whether any metric looks at what was retrieved, judged or not."""
    return any(metric.frame in ("shown", "documents") for metric in metrics)


def with_retrieved(
    evaluation: Evaluation,
    catalogue: Catalogue,
    inputs: Collection[str],
    *,
    slices: Attributes | None = None,
    items_by: ItemsBy | None = None,
) -> Evaluation:
    """Return an evaluation that computes its metrics of retrieved documents, too.

    `inputs`: which of qrels, train, items and reference were passed.
    """
    policies = evaluation.policies
    assert isinstance(policies, Policies)
    retrieved = RetrievedMetrics.from_metrics(
        [metric for metric in evaluation.metrics if metric.frame in ("shown", "documents")],
        policies,
        catalogue,
        inputs=inputs,
        attributes=slices or evaluation.averages.attributes,
        items_by=items_by,
    )
    return replace(evaluation, retrieved=retrieved)


def given_inputs(policies: Policies, *, judgments: bool) -> set[str]:
    """Return the names of the optional inputs that were passed."""
    inputs = {
        name for name in ("train", "items", "reference") if getattr(policies, name) is not None
    }
    return inputs | ({"qrels"} if judgments else set())


def _refuse_unknown(metrics: Sequence[Metric], policies: Policies) -> None:
    """Refuse an expression over a column that no frame has: where there are no items, whose
    attributes are columns, it is misspelt.
    """
    if policies.shows:
        return
    for metric in metrics:
        if metric.definition is None and metric.frame == "shown" and metric.looks_at is None:
            names = metric.expr().meta.root_names()
            if not all(map(SHOWN_FRAME.find, names)):
                judged_plan([replace(metric, looks_at="judged")])


def refuse_idle(policies: Policies) -> None:
    """Refuse tables that no metric looks at."""
    for name in ("items", "catalogue", "reference"):
        if getattr(policies, name) is not None:
            raise OptionError(
                Option(name, bare=True),
                " has no effect: no metric looks at what was shown. Add one, such as coverage@10.",
            )
    if policies.train is not None and not policies.exclude_seen:
        raise OptionError(
            Option("train", bare=True), " has no effect: no metric looks at what was shown. Add "
            "one, such as novelty@10, or pass ", Option("exclude_seen", value=True), ".",
        )  # fmt: skip
