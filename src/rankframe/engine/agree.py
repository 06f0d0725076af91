"""Compare two rankings query by query, without judgments: the public function."""

from __future__ import annotations

import os
from typing import Unpack

from rankframe.core.options import (
    AgreeOptions,
    Intervals,
    PairPolicies,
    Report,
    Storage,
    takes_options,
)
from rankframe.engine.finish import evaluate_inputs
from rankframe.engine.pair_evaluation import PairEvaluation
from rankframe.engine.result import Result
from rankframe.io.inputs import Columns, Source, open_ranking, refuse_absent_columns
from rankframe.io.memory import limit_of
from rankframe.io.output_paths import refuse_inputs
from rankframe.metrics.names import Metrics

DEFAULT_METRICS = ("rbo", "overlap@10", "kendall_tau", "spearman")


@takes_options(AgreeOptions, PairPolicies, Intervals, Storage)
def agree(
    a: Source,
    b: Source,
    metrics: Metrics = DEFAULT_METRICS,
    *,
    columns: Columns | None = None,
    max_memory: str | int | None = None,
    output: str | os.PathLike[str] | None = None,
    overwrite: bool = False,
    progress: Report | None = None,
    **options: Unpack[AgreeOptions],
) -> Result:
    """Compare two rankings of the same queries, without judgments.

    `a` and `b` can be anything that `evaluate` reads as a run; judgments, whose grades then are
    scores; or a plain list of documents in rank order, or a list of such lists, one per query. For
    measures with a reference (ndpm, fcp, tau_ap), `a` is the reference.

    Args:
        a: the first ranking, the reference.
        b: the second ranking.
        metrics: names (`rankframe metrics`, "Two rankings"), expressions over the pair frame
            (`rf.pair`), or metrics that `rf.metric` returns.
        columns: names in your data, for both or as {"a": {...}, "b": {...}}.
        max_memory: the approximate memory limit, as in `evaluate`.
        output: a folder for the result, or its address.
        overwrite: replace the result that is in `output`.
        progress: a function called with a `Progress` on the way.

    Correlations treat equal scores as ties, and RBO has a parameter for ties; other measures break
    ties by the option `ties`. The result's per_query also has n_a, n_b and n_shared: how many
    documents each ranking has, and how many both have.

    >>> rf.agree([1, 2, 3], [2, 1, 3], "kendall_tau").means
    {'kendall_tau': 0.3333333333333333}
    >>> a = {"q1": {"x": 3.0, "y": 2.0, "z": 1.0}}
    >>> b = {"q1": {"y": 3.0, "x": 2.0, "w": 1.0}}
    >>> rf.agree(a, b, ["overlap@2", "jaccard"]).per_query
    shape: (1, 6)
    ┌──────────┬─────┬─────┬──────────┬───────────┬─────────┐
    │ query_id ┆ n_a ┆ n_b ┆ n_shared ┆ overlap@2 ┆ jaccard │
    │ ---      ┆ --- ┆ --- ┆ ---      ┆ ---       ┆ ---     │
    │ str      ┆ i64 ┆ i64 ┆ i64      ┆ f64       ┆ f64     │
    ╞══════════╪═════╪═════╪══════════╪═══════════╪═════════╡
    │ q1       ┆ 3   ┆ 3   ┆ 2        ┆ 1.0       ┆ 0.5     │
    └──────────┴─────┴─────┴──────────┴───────────┴─────────┘
    """
    refuse_inputs(output, (a, b), folder=True)
    policies = PairPolicies.from_options(options)
    evaluation = PairEvaluation.from_metrics(metrics, policies, Intervals.from_options(options))
    limit = limit_of(max_memory)
    sides = (
        open_ranking(a, "a", columns, order=policies.order, limit=limit),
        open_ranking(b, "b", columns, order=policies.order, limit=limit),
    )
    refuse_absent_columns(columns, *sides)
    return evaluate_inputs(
        evaluation,
        *sides,
        max_memory=max_memory,
        output=output,
        overwrite=overwrite,
        on_progress=progress,
    )
