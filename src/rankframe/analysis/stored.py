"""Read systems to compare from stored values per query: results, their folders, and tables.

Systems that were evaluated in different ways, or against other judgments, are refused.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import polars.selectors as cs

from rankframe.analysis.systems import System
from rankframe.core.columns import QUERY
from rankframe.core.errors import (
    BadValueError,
    MetricParameterError,
    OptionError,
    UnknownMetricError,
    UnreadableInputError,
)
from rankframe.core.messages import Option, did_you_mean, listing, number_of, sentences, shown
from rankframe.core.options import check_list, is_listed, take_all
from rankframe.core.vocabulary import VOCABULARY
from rankframe.engine.ledger import FINGERPRINT, LEDGER_SCHEMA, POLICY
from rankframe.engine.pair_evaluation import PAIR_COUNTS
from rankframe.engine.result import Result, is_result
from rankframe.frames.judgments import differ
from rankframe.io.batches import check_rows
from rankframe.io.formats.registry import reading
from rankframe.io.inputs import Source
from rankframe.io.opening import open_table, refuse_pattern
from rankframe.io.remote import STORES, Remote, scheme_of
from rankframe.kernel.duplicates import deduplicate
from rankframe.metrics.names import Metric, Metrics, parse
from rankframe.metrics.names import metric as define_metric

RUN = "run"
_ROWS, _QUERIES, _DROPPED = "qrels_rows", "qrels_queries", "qrels_duplicates_dropped"
# Policies that may differ between systems: the kind of intervals, the column of grades (the
# fingerprint identifies the grades themselves), and the vocabulary.
_NOT_COMPARED = (f"{POLICY}ci", f"{POLICY}relevance", VOCABULARY)
_Ledger = Mapping[str, tuple[float | None, str | None]]
_JUDGED = re.compile(r"judged@(\d+)")
# Metrics that can have values other than 0 for a query that the run lacks.
_WITHOUT_A_RUN = ("num_relevant", "ideal_dcg", "rbp_residual", "yaap")


def read_systems(sources: Mapping[str, Source]) -> dict[str, System]:
    """Read systems from results, their folders, or tables with query_id and a column per metric.

    A table with a column `run`, as `--per-query` writes it, holds a system for each run.
    """
    systems: dict[str, System] = {}
    for name, source in sources.items():
        for own_name, system in _read_source(name, source).items():
            if own_name in systems:
                raise OptionError(
                    f"two systems are called {own_name!r}. Give each a name of its own."
                )
            systems[own_name] = system
    return systems


def _read_source(name: str, source: Source) -> dict[str, System]:
    if isinstance(source, System):
        return {name: source}
    if isinstance(source, Mapping):
        raise UnreadableInputError(
            f"system {name!r}", "stored values are a result or a table, not a dict"
        )
    if isinstance(source, str | os.PathLike):
        with suppress(OSError):  # a name that is too long is refused when it is opened
            path = Path(os.path.expanduser(os.fspath(source)))  # noqa: PTH111 (as elsewhere)
            place = Remote.at(source) if scheme_of(source) in STORES else path
            bucketless = isinstance(place, Remote) and not place.path
            source = Result.read(source) if not bucketless and is_result(place) else source
    if isinstance(source, Result):
        return {name: _from_result(source, name)}
    return _from_table(source, name)


def _from_result(result: Result, name: str) -> System:
    """Return a result as a system, with ids as text and values as numbers, as stored."""
    values = result.per_query
    for column in values.columns:
        refuse_pattern(f"system {name!r}", column)
    metrics = [c for c in values.columns if c not in (QUERY, *PAIR_COUNTS)]
    numbers = _keep_numbers(values.with_columns(pl.col(QUERY).cast(pl.String)), metrics)
    if bad := [c for c in metrics if c not in numbers.columns]:
        raise UnreadableInputError(
            f"system {name!r}",
            f"its values of {bad[0]!r} are not numbers, but {values[bad[0]].dtype}",
        )
    try:
        ledger = result.ledger.cast(dict(LEDGER_SCHEMA.items()))
    except pl.exceptions.PolarsError as error:
        raise UnreadableInputError(
            f"system {name!r}", f"its ledger is not one of rankframe, but {result.ledger.schema}"
        ) from error
    system = _make_system(numbers.select(values.columns), name)
    return replace(system, ledger=ledger, inputs=result.inputs)


def _from_table(source: Source, name: str) -> dict[str, System]:
    table = open_table(source, "queries")
    schema, key = table.raw.collect_schema(), table.mapping[QUERY]
    columns = [c for c in schema if _is_number(schema[c]) or schema[c] == pl.String]
    columns = [column for column in columns if column not in (key, RUN)]
    for column in columns:
        refuse_pattern(f"system {name!r}", column)
    runs = [pl.col(RUN).cast(pl.String)] if RUN in schema and not _is_number(schema[RUN]) else []
    ids = pl.col(key).cast(pl.String).alias(QUERY)
    with reading(table.name):
        frame = table.raw.select(ids, *runs, *columns).collect()
    check_rows(frame.select(QUERY).lazy(), "the stored table", table.name)
    frame = _keep_numbers(frame, [c for c in columns if c not in PAIR_COUNTS])
    if frame.width == 1 + len(runs):
        raise UnreadableInputError(
            table.name, "it has no stored values: no column of numbers besides query_id"
        )
    if runs and frame[RUN].null_count():
        raise BadValueError(
            "the stored table", "a null run", frame[RUN].null_count(), "run", "Name every run"
        )
    parts = frame.partition_by(RUN, as_dict=True, include_key=False) if runs else {(name,): frame}
    names = [name] if len(parts) == 1 else [str(run) for (run,) in parts]
    return {n: _make_system(part, n) for n, part in zip(names, parts.values(), strict=True)}


def _is_number(dtype: pl.DataType) -> bool:
    return dtype.is_numeric() or dtype == pl.Null


def _keep_numbers(frame: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
    """Cast these columns to numbers, also from the text of a file, and drop all other columns."""
    kept = []
    for name in names:
        column = frame[name]
        if not (_is_number(column.dtype) or column.dtype in (pl.String, pl.Boolean)):
            continue
        if column.dtype == pl.String:
            column = column.str.strip_chars().replace("", None)
        numbers = column.cast(pl.Float64, strict=False)
        if numbers.null_count() == column.null_count():
            kept.append(numbers)
    return frame.select(pl.exclude(names), *kept)


def _make_system(values: pl.DataFrame, name: str) -> System:
    """Return a system, sorted by query id in byte order; refuse repeated queries and infinity."""
    deduplicate(values.select(QUERY), f"system {name!r}", "error")
    for label in values.select(cs.float()).columns:
        bad = values.filter(~pl.col(label).is_finite())
        if bad.height:
            raise BadValueError(
                f"system {name!r}",
                f"a {label} that is not finite",
                bad.height,
                f"query_id {bad[QUERY][0]!r}",
                "Leave the value empty where a metric is undefined",
            )
    matches = map(_JUDGED.fullmatch, values.columns)
    judged = {int(match[1]): match[0] for match in matches if match}
    ordered = values if values[QUERY].is_sorted() else values.sort(QUERY)
    evidence = [label for label in values.columns if _needs_a_run(label)]
    return System(ordered, None, judged, evidence)


def stored_metrics(systems: Mapping[str, System], metrics: Metrics | None) -> list[Metric]:
    """Return the metrics to compare: the requested ones, or the metrics of every system."""
    if metrics is None:
        first, *rest = systems.values()
        labels = [label for label in first.labels if all(label in s.labels for s in rest)]
        if not labels:
            has = "; ".join(f"{name} has {', '.join(s.labels)}" for name, s in systems.items())
            raise MetricParameterError(f"the systems have no metric in common: {has}.")
        chosen = list(map(_metric, labels))
    else:
        chosen = _requested(metrics)
    for metric in (metric if metric.gap is None else metric.gap.metric for metric in chosen):
        for name, system in systems.items():
            if metric.label not in system.labels:
                problem = f"system {name!r} has no values of {metric.label!r}"
                near = did_you_mean(metric.label, system.labels)
                has = f"It has {', '.join(system.labels)}"
                raise MetricParameterError(*sentences((problem,), (near,), (has,)))
        if metric.level is not None:
            raise MetricParameterError(
                f"{metric.label!r}: average={metric.average} is not a mean, and this function "
                "compares means. Pass the metrics to compare as metrics=."
            )
        if metric.average == "micro":
            raise MetricParameterError(
                f"{metric.label!r} is an average over sums, which stored values do not have. "
                "Compare the runs themselves, or use average=macro."
            )
    return chosen


def _requested(metrics: Metrics) -> list[Metric]:
    """Return the requested columns as metrics; they are requested by name or as metrics."""
    alone = isinstance(metrics, str | pl.Expr | Metric)
    names = [metrics] if alone else check_list("metrics", metrics, "a list of names")
    functions = [define_metric(name) for name in names if isinstance(name, pl.Expr)]
    own = [metric.label for metric in functions if metric.definition is None]
    if not names or own or any(not isinstance(name, str | pl.Expr | Metric) for name in names):
        raise MetricParameterError(
            f"metrics= takes names of columns of the stored values, not {shown(metrics)}."
        )
    names = [define_metric(name) if isinstance(name, pl.Expr) else name for name in names]
    chosen = [name if isinstance(name, Metric) else _metric(str(name)) for name in names]
    labels = [metric.label for metric in chosen]
    if twice := [label for label in labels if labels.count(label) > 1]:
        raise MetricParameterError(f"metric {twice[0]!r} is named more than once.")
    return chosen


def _metric(label: str) -> Metric:
    """Return the metric that a column name denotes; for unknown names, one without a definition."""
    try:
        (metric,) = parse(label)
    except (UnknownMetricError, MetricParameterError, ValueError):
        return Metric(label)
    return replace(metric, label=label)


def _needs_a_run(label: str) -> bool:
    """Tell whether a metric is 0 or undefined for a query that the run lacks."""
    definition = _metric(label).definition
    return definition is not None and definition.name not in _WITHOUT_A_RUN


def refuse_other_evaluations(systems: Mapping[str, System]) -> None:
    """Refuse values that were evaluated with different policies, or against other judgments."""
    ledgers = {
        name: {item: (value, note) for item, value, note in system.ledger.rows()}  # allowed: few
        for name, system in systems.items()
        if system.ledger is not None
    }
    judged = {name: ledger for name, ledger in ledgers.items() if _ROWS in ledger}
    for describe, group in ((_other_policy, ledgers), (_other_judgments, judged)):
        (name, first), *rest = group.items() or [("", {})]
        for other_name, other in rest:
            if problem := describe(first, other, repr(other_name)):
                raise OptionError(f"{name!r} was evaluated {problem}.")


def _other_policy(ledger: _Ledger, other: _Ledger, name: str) -> str:
    """Describe the first policy that differs; "" if none does."""
    for item in sorted({*ledger, *other}):
        (_, note), (_, other_note) = (
            entries.get(item, (None, None)) for entries in (ledger, other)
        )
        if item.startswith(POLICY) and item not in _NOT_COMPARED and note != other_note:
            return (
                f"with {item.removeprefix(POLICY)} = {note}, {name} with {other_note}, so they "
                "cannot be compared. Evaluate one of them again, with the policy of the other"
            )
    return ""


def _other_judgments(ledger: _Ledger, other: _Ledger, name: str) -> str:
    """Describe how judgments differ: in number, or in fingerprint if both ledgers have one."""
    sizes, prints = [], []
    for entries in (ledger, other):
        rows, queries, dropped = (
            entries.get(item, (0, ""))[0] or 0 for item in (_ROWS, _QUERIES, _DROPPED)
        )
        sizes.append((rows - dropped, queries))
        prints.append(entries.get(FINGERPRINT, (None, None))[1])
    (rows, queries), (other_rows, other_queries) = sizes
    if sizes[0] != sizes[1]:
        problem = (
            f"{number_of(rows, 'judgment')} of {number_of(queries, 'query')}, {name} against "
            f"{other_rows:,.0f} of {other_queries:,.0f}"
        )
    elif all(prints) and differ(*prints):
        problem = f"other judgments than {name}, although both have equally many"
    else:
        return ""
    return (
        f"against {problem}, so they cannot be compared. Evaluate one of them again, with the "
        "judgments of the other"
    )


# The direction in which stored columns are better ------------------------------------------------

# A name of a column, or several names.
Names = str | Collection[str]


def with_directions(
    metrics: Sequence[Metric], *, lower: Names = (), higher: Names = ()
) -> list[Metric]:
    """Return metrics in which unknown columns have the direction that the options give them."""
    labels = {metric.label: metric for metric in metrics}
    less, more = names_of("lower_is_better", lower), names_of("higher_is_better", higher)
    for option, names, way in (("lower_is_better", less, "higher"),
                               ("higher_is_better", more, "lower")):  # fmt: skip
        for name in names:
            if name not in labels:
                problem = (Option(option, bare=True), f" names {name!r}, which is not evaluated")
                there_is = f"There is {listing(list(labels))}"
                near = did_you_mean(name, labels)
                raise OptionError(*sentences(problem, (near,), (there_is,)))
            metric = labels[name]
            if name in less and name in more:
                raise OptionError(
                    f"{name!r} is named by both lower_is_better and higher_is_better. Name it once."
                )
            if not is_own_column(metric) and metric.higher_is_better == (way == "higher"):
                raise OptionError(
                    f"{option} names {name!r}, a metric whose {way} values are better."
                )
    return [
        replace(metric, lower_is_better=metric.label in less) if is_own_column(metric) else metric
        for metric in metrics
    ]


def refuse_unknown(metrics: Sequence[Metric], *, lower: Names = (), higher: Names = ()) -> None:
    """Refuse columns without a known direction."""
    named = (*names_of("lower_is_better", lower), *names_of("higher_is_better", higher))
    for metric in metrics:
        if is_own_column(metric) and metric.label not in named:
            raise MetricParameterError(
                f"are higher values of your column {metric.label!r} better? rankframe does not "
                "know. Pass ",
                Option("lower_is_better", metric.label),
                " or ",
                Option("higher_is_better", metric.label),
                ", or set one of them in the file of rules.",
            )


def is_own_column(metric: Metric) -> bool:
    """Tell whether a metric is a stored column under a name of the user's own."""
    return metric.definition is None and metric.expression is None and metric.gap is None


def names_of(option: str, value: Any) -> tuple[str, ...]:
    """Return the names in the value of an option that takes one name or several."""
    if isinstance(value, str):
        return (value,)
    names = take_all(option, value) if is_listed(value) else [value]
    if not all(isinstance(name, str) for name in names):
        raise OptionError(
            Option(option, bare=True), f" takes names of columns, not {shown(value)}."
        )
    return tuple(names)
