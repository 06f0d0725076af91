"""Evaluate runs in plain Python, with loops over documents, from the definitions alone.

Slow and obvious, and without a line of rankframe: what differs from it is wrong on one side.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from tests.support import brute_binary as binary
from tests.support import brute_graded as graded
from tests.support.brute_binary import Seen, Value, ratio

Judgments = Mapping[str, Mapping[str, float]]
Row = tuple[str, str, float]  # query, document, and a score or a rank

SUMMED = ("num_retrieved", "num_relevant", "num_relevant_retrieved")
SUMMED = (*SUMMED, "num_nonrelevant_judged_retrieved")
METRICS: dict[str, Callable[..., Any]] = {
    name: definition
    for module in (binary, graded)
    for name, definition in vars(module).items()
    if callable(definition) and definition.__module__ == module.__name__
} | {
    "f1": binary.f,
    "map": binary.average_precision,
    "mrr": binary.reciprocal_rank,
    "set_precision": lambda q: (q.found(None), q.retrieved),
    "set_recall": binary.recall,
    "num_retrieved": lambda q: float(q.retrieved),
    "num_relevant": lambda q: float(q.total),
    "num_relevant_retrieved": binary.hits,
    "num_nonrelevant_judged_retrieved": lambda q: float(
        sum(q.not_relevant(grade) for _, grade in q.rows)
    ),
}


class RefusedError(Exception):
    """Raised if rankframe must refuse the input under these policies."""


@dataclass(frozen=True)
class How:
    """Hold the policies of an evaluation, under the names of `rf.evaluate`."""

    by: str = "score"  # what the third field of a row is: a score or a rank
    rel: float | None = None
    missing: str = "zero"
    no_relevant: str = "zero"
    order: str = "columns"
    ranks: str = "renumbered"
    ties: str = "doc_desc"
    duplicates: str = "error"
    k_max: int | None = None
    judged_only: bool = False


def parse(label: str) -> tuple[str, dict[str, Any]]:
    """Split a metric's label, `name(param=value,…)@k`, into its name and parameters."""
    found = re.fullmatch(r"(\w+)(?:\((.*)\))?(?:@(\d+))?", label)
    assert found is not None, label
    name, inside, k = found.groups()
    parameters: dict[str, Any] = {"k": int(k)} if k else {}
    for one in inside.split(",") if inside else []:
        key, value = one.split("=")
        try:
            parameters[key] = float(value)
        except ValueError:
            parameters[key] = value
    return name, parameters


def ranking(rows: list[Row], how: How) -> list[Row]:
    """Rank the rows of one query by the policies, and keep each document once."""
    if how.order == "columns":
        if how.ties != "as_given":
            descending = how.ties == "doc_desc"
            rows = sorted(rows, key=lambda row: row[1].encode(), reverse=descending)
        sign = 1 if how.by == "rank" else -1
        rows = sorted(rows, key=lambda row: sign * row[2])
    once = {row[1]: row for row in reversed(rows)}
    return [row for row in rows if once[row[1]] is row]


def seen(grades: Mapping[str, float], rows: list[Row], how: How, top: float) -> Seen:
    """Return one query as metrics see it, after the policies are applied."""
    rows = ranking(rows, how)
    if how.ranks == "kept":
        at = {int(row[2]): row for row in rows}
        rows = [at.get(i, ("", f"a gap at {i}", i)) for i in range(1, max(at, default=0) + 1)]
    rows = rows[: how.k_max]
    if how.judged_only:
        rows = [row for row in rows if grades.get(row[1], -1) >= 0]
    scored = how.by == "score" and how.order == "columns"
    scores = [row[2] if scored else -i for i, row in enumerate(rows)]
    return Seen([row[1] for row in rows], scores, dict(grades), how.rel, top)


def queries(qrels: Judgments, rows: list[Row], how: How) -> dict[str, Seen]:
    """Return the queries that enter averages, by name, under the policies."""
    top = max(grade for grades in qrels.values() for grade in grades.values())
    if how.duplicates == "error" and len({row[:2] for row in rows}) < len(rows):
        raise RefusedError
    result = {}
    for query, grades in qrels.items():
        own = [row for row in rows if row[0] == query]
        if not own and how.missing == "error":
            raise RefusedError
        one = seen(grades, own, how, top)
        if own or how.missing == "zero":
            result[query] = one
    if how.no_relevant == "skip":
        result = {query: one for query, one in result.items() if one.total}
    return result


def pooled_auc(every: list[Seen]) -> float | None:
    """Compute the AUC over the documents of all queries, pooled by score."""
    kinds = [(score, one.relevant(grade)) for one in every
             for score, (_, grade) in zip(one.scores, one.rows, strict=True)]  # fmt: skip
    good, bad = [s for s, yes in kinds if yes], [s for s, yes in kinds if not yes]
    wins = sum((a > b) + (a == b) / 2 for a in good for b in bad)
    return wins / (len(good) * len(bad)) if good and bad else None


def averaged(values: list[Value], average: str, weights: list[float]) -> tuple[float | None, int]:
    """Average the values of a metric; return the average and the number of queries."""
    given = [(x, w) for x, w in zip(values, weights, strict=True) if x is not None]
    xs = [ratio(x) for x, _ in given]
    if not xs:
        return None, 0
    if average == "sum":
        return math.fsum(xs), len(xs)
    if average == "micro":
        pairs = [x for x, _ in given if isinstance(x, tuple)]
        below = math.fsum(b for _, b in pairs)
        return (math.fsum(a for a, _ in pairs) / below if below else None), len(xs)
    if average == "geometric":
        return math.exp(math.fsum(math.log(max(x, 1e-5)) for x in xs) / len(xs)), len(xs)
    if average == "weighted":
        total = math.fsum(w for _, w in given)
        weighed = math.fsum(x * w for x, (_, w) in zip(xs, given, strict=True))
        return (weighed / total if total else None), len(xs)
    return math.fsum(xs) / len(xs), len(xs)


@dataclass
class Values:
    """Hold the expected values of an evaluation, per query and averaged."""

    per_query: dict[str, dict[str, float | None]]
    summary: dict[str, tuple[float | None, int]]


def evaluate(
    qrels: Judgments,
    rows: list[Row],
    labels: list[str],
    how: How,
    weights: Mapping[str, float] | None = None,
) -> Values:
    """Evaluate every metric of `labels` for each query, and average its values."""
    every = queries(qrels, rows, how)
    result = Values({query: {} for query in every}, {})
    for label in labels:
        name, parameters = parse(label)
        usual = "sum" if name in SUMMED else "micro" if name == "r_score" else "macro"
        average = parameters.pop("average", usual)
        level = parameters.pop("rel", None)
        views = {query: one if level is None else one.at(level) for query, one in every.items()}
        if parameters.pop("pool", None):
            # Every judged query is in the pool, whatever is left out of averages.
            whole = queries(qrels, rows, replace(how, missing="zero", no_relevant="zero"))
            result.summary[label] = pooled_auc(list(whole.values())), len(views)
            continue
        values = {query: METRICS[name](one, **parameters) for query, one in views.items()}
        for query, value in values.items():
            result.per_query[query][label] = None if value is None else ratio(value)
        weighed = [(weights or {}).get(query, 1.0) for query in values]
        result.summary[label] = averaged(list(values.values()), average, weighed)
    return result
