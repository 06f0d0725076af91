"""Convert inputs of charts (results, comparisons, frames, plain lists) to frames by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np
import polars as pl

from rankframe.analysis.comparison import Comparison
from rankframe.core.columns import QUERY
from rankframe.core.errors import MetricParameterError, OptionError, UnknownMetricError
from rankframe.core.messages import did_you_mean, number_of, shown
from rankframe.core.vocabulary import Vocabulary
from rankframe.core.wording import plain_text
from rankframe.engine.result import Result
from rankframe.metrics.metric import Metric
from rankframe.metrics.names import parse
from rankframe.stats.bootstrap import hash_ids
from rankframe.stats.exact import exact_sum

# The values of one system, or of several systems by name.
Values: TypeAlias = Result | Comparison | pl.DataFrame | Mapping[str, Result | pl.DataFrame]
Frame: TypeAlias = Literal["per_query", "slices"]
# Grades in rank order; None is a document that was not judged.
Grades: TypeAlias = Sequence[float | None]
ALONE = "run"  # the name of a system without a name
_NAME = 24  # most letters of a name in a sentence
_NAMED = 4  # most systems that a sentence lists


def by_name(values: Any, kind: Any, needed: str) -> dict[str, Any]:
    """Return values by name; a single value gets the name "run". Refuse values of another kind.

    kind, needed: see `check_kind`.
    """
    named = values if isinstance(values, Mapping) and values else {ALONE: values}
    for value in named.values():
        check_kind(value, kind, needed)
    return {str(name): value for name, value in named.items()}


def check_kind(value: Any, kind: Any, needed: str) -> None:
    """Refuse a value of the wrong kind; `needed` describes the right one."""
    if not isinstance(value, kind):
        raise OptionError(f"this chart is drawn of {needed}, not of {shown(value)}.")


def unknown(problem: str, name: object, names: Iterable[str]) -> OptionError:
    """Return the error for an unknown name, with the most similar of these names."""
    return OptionError(f"{problem} {did_you_mean(str(name), names)}".rstrip())


def frames_of(values: Values, frame: Frame) -> dict[str, pl.DataFrame]:
    """Return a frame for each system, by name: its values per query, or its slices."""
    if isinstance(values, Comparison):
        if frame == "per_query":
            return dict(values.per_query)
        sliced = values.systems.filter(pl.col("by").is_not_null())
        return {name: sliced.filter(pl.col("system") == name) for name in values.names}
    if isinstance(values, Result):
        values = {values.inputs.get("run", "").removesuffix(".parquet") or ALONE: values}
    elif isinstance(values, pl.DataFrame):
        values = {ALONE: values}
    if not isinstance(values, Mapping) or not values:
        raise OptionError(
            f"nothing can be drawn of {shown(values)}: give a result, a comparison, a frame, or "
            "several by name, {name: result}."
        )
    found = {}
    for name, table in values.items():
        if isinstance(table, Result):
            table = table.per_query if frame == "per_query" else table.slices  # noqa: PLW2901
        if not isinstance(table, pl.DataFrame):
            raise OptionError(f"{name!r} is neither a result nor a polars frame: {shown(table)}.")
        found[str(name)] = table
    return found


def vocabulary_of(*values: Any) -> Vocabulary:
    """Return the words for queries and documents in a chart of these values.

    Results, comparisons and similar objects have a vocabulary; frames do not.
    """
    parts = [
        part
        for value in values
        for part in (value.values() if isinstance(value, Mapping) else [value])
    ]
    return Vocabulary.common(part.vocabulary for part in parts if hasattr(part, "vocabulary"))


def values_of(values: Values, metric: str | None) -> tuple[dict[str, pl.DataFrame], str]:
    """Return a frame of `query_id` and `value` for each system, and the name of the metric.

    metric: the metric whose values are returned (default: the first metric of the first system).
    """
    frames = frames_of(values, "per_query")
    for name, frame in frames.items():
        columns = [column for column in frame.columns if column != QUERY]
        if QUERY not in frame.columns or not columns:
            raise OptionError(
                f"{name!r} has no values of queries: it needs {QUERY} and a column a metric, and "
                f"has {', '.join(frame.columns) or 'no columns'}."
            )
        metric = columns[0] if metric is None else metric
        if metric not in columns:
            raise unknown(f"{name!r} has no values of {metric!r}.", metric, columns)
        if not frame.schema[metric].is_numeric():
            raise OptionError(f"{metric!r} of {name!r} is no number: {frame.schema[metric]}.")
    assert metric is not None  # there is at least one frame
    chosen = {
        name: frame.select(QUERY, value=pl.col(metric).cast(pl.Float64).fill_nan(None))
        for name, frame in frames.items()
    }
    if all(frame["value"].null_count() == frame.height for frame in chosen.values()):
        raise OptionError(f"there is no query with a value of {metric!r} to draw.")
    return chosen, metric


def lists_of(relevance: Grades | Mapping[str, Grades] | pl.Series | Any) -> dict[str, list[Any]]:
    """Return lists of grades in rank order by name; a single list has an empty name."""
    lists = relevance if isinstance(relevance, Mapping) else {"": relevance}
    found = {}
    for name, grades in lists.items():
        if isinstance(grades, np.ndarray | pl.Series):
            grades = grades.to_list() if isinstance(grades, pl.Series) else grades.tolist()  # noqa: PLW2901
        if isinstance(grades, str) or not isinstance(grades, Sequence):
            raise OptionError(
                f"grades are numbers in rank order, e.g. [1, 0, 1], not {shown(grades)}."
            )
        found[str(name)] = [_as_grade(grade) for grade in grades]
    if not any(found.values()):
        raise OptionError("there are no grades to draw: the list is empty.")
    return found


def _as_grade(grade: Any) -> float | None:
    """Return a grade as a float; None for an unjudged document, whose grade is None or NaN."""
    if grade is None or grade != grade:  # noqa: PLR0124 (NaN)
        return None
    if not isinstance(grade, int | float) or abs(grade) == float("inf"):
        raise OptionError(f"a grade is a number, or None if not judged, not {shown(grade)}.")
    return float(grade)


def in_words(names: Sequence[str]) -> str:
    """List systems by name, only the first few of many.

    >>> in_words(["a", "b"]), in_words(["a", "b", "c", "d", "e"])
    ('a, b', 'a, b, c and 2 more')
    """
    short = [plain_text(name, _NAME) for name in names]
    if len(short) <= _NAMED:
        return ", ".join(short)
    return f"{', '.join(short[: _NAMED - 1])} and {len(short) - _NAMED + 1:,} more"


def choose(metrics: Sequence[str] | str | None, labels: Sequence[str], refusal: str) -> list[str]:
    """Return the metrics to draw; None draws all of `labels`. Refuse an unknown metric.

    refusal: the error text for an unknown metric, with {} for its name.
    """
    if metrics is None:
        return list(labels)
    chosen = [metrics] if isinstance(metrics, str) else list(metrics)
    for metric in chosen:
        if metric not in labels:
            raise unknown(refusal.format(repr(metric)), metric, labels)
    return chosen


def grade_text(grade: float | None) -> str:
    """Format a grade, without decimals if it is a whole number.

    >>> grade_text(2.0), grade_text(0.5), grade_text(None)
    ('2', '0.5', 'unjudged')
    """
    return "unjudged" if grade is None else f"{grade:g}"


def mean_of(values: pl.Series) -> float | None:
    """Return the mean of the non-null values, with the same bits for any row order."""
    defined = values.drop_nulls()
    return None if defined.is_empty() else float(exact_sum(defined.to_numpy())) / len(defined)


def known_metric(name: str) -> Metric | None:
    """Return the metric with this name; None for any other name, such as a user's own column."""
    try:
        return parse(name)[0]
    except (UnknownMetricError, MetricParameterError):
        return None


def better(metric: str | Metric) -> str:
    """Return a note on whether higher or lower is better; "" if the metric is unknown.

    >>> better("ndcg@10"), better("lag"), better("mine")
    ('higher is better', 'lower is better', '')
    """
    found = known_metric(metric) if isinstance(metric, str) else metric
    if found is None or (found.definition is not None and found.definition.family == "Counts"):
        return ""
    return "higher is better" if found.higher_is_better else "lower is better"


def with_direction(metric: str) -> str:
    """Return a metric's name for an axis, with its direction.

    >>> with_direction("lag"), with_direction("mine")
    ('lag (lower is better)', 'mine')
    """
    way = better(metric)
    return f"{metric} ({way})" if way else metric


def counted(frames: Mapping[str, pl.DataFrame]) -> str:
    """Return a text on how many queries have a value: one number, or a range over systems.

    >>> counted({"a": pl.DataFrame({"value": [1.0, None]})})
    '1 query, 1 undefined'
    """
    counts = [frame["value"].count() for frame in frames.values()]
    undefined = max(frame["value"].null_count() for frame in frames.values())
    return between(counts) + (f", {undefined:,} undefined" if undefined else "")


def between(counts: Sequence[int], noun: str = "query") -> str:
    """Return a text with the count, or with the range from the least to the largest count.

    >>> between([3, 3]), between([1, 20])
    ('3 queries', '1 to 20 queries')
    """
    low, high = min(counts), max(counts)
    return number_of(high, noun) if low == high else f"{low:,} to {number_of(high, noun)}"


def sample_of(ids: pl.Series, limit: int) -> pl.Series:
    """Return a sample of ids, in byte order; the same ids give the same sample."""
    if len(ids) > limit:
        ids = ids.gather(np.argsort(hash_ids(ids), kind="stable")[:limit])
    return ids.sort()


def spread(height: int, limit: int) -> list[int]:
    """Return at most `limit` evenly spaced row indexes, including the first and the last row."""
    if height <= limit:
        return list(range(height))
    return [round(index * (height - 1) / (limit - 1)) for index in range(limit)]


def bar_width(room: float, bars: int) -> float:
    """Return the width of a bar; gaps between bars are left out if there are many bars."""
    return room / bars * (0.8 if bars <= 60 else 1.0)


def sampled(shown_rows: int, total: int, noun: str = "query") -> str:
    """Return a text on the size of a sample, and on the number of rows it is taken from.

    >>> sampled(3, 3), sampled(400, 5000)
    ('3 queries', 'a sample of 400 of 5,000 queries')
    """
    if shown_rows == total:
        return number_of(total, noun)
    return f"a sample of {shown_rows:,} of {number_of(total, noun)}"


def value_range(numbers: pl.Series) -> tuple[float, float]:
    """Return the lowest and the highest number; return (0, 1) if all numbers are from 0 to 1."""
    low: Any = numbers.min()
    high: Any = numbers.max()
    if low is None or (low >= 0 and high <= 1):
        return 0.0, 1.0
    return float(low), float(high)
