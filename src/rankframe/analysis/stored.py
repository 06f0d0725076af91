"""Stored per-query values → one frame a system, whatever they were stored as."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

import polars as pl

from rankframe.analysis.systems import System
from rankframe.core.columns import QUERY
from rankframe.core.errors import (
    BadValueError,
    MetricParameterError,
    OptionError,
    UnknownMetricError,
    UnreadableInputError,
)
from rankframe.core.messages import did_you_mean, number_of
from rankframe.engine.agree import PAIR_COUNTS
from rankframe.engine.ledger import FINGERPRINT, POLICY, SCHEMA
from rankframe.engine.plan import PerQuery
from rankframe.engine.result import Result, is_result
from rankframe.io.formats.registry import READ_ERRORS, unreadable
from rankframe.io.inputs import Source
from rankframe.io.opening import open_table, refuse_pattern
from rankframe.io.remote import Remote, scheme_of
from rankframe.io.stores import STORES
from rankframe.io.validate import check_rows
from rankframe.kernel.duplicates import deduplicate
from rankframe.kernel.fingerprint import differ
from rankframe.metrics.names import Metric, Metrics, parse

RUN = "run"
# A system's name, and the ledger of its evaluation.
_Evaluated: TypeAlias = tuple[str, pl.DataFrame]
_ROWS, _QUERIES, _DROPPED = "qrels_rows", "qrels_queries", "qrels_duplicates_dropped"
# What says how intervals were made, no matter for the values, and where grades came from: what
# they are, the fingerprint says.
_NO_MATTER = (f"{POLICY}ci", f"{POLICY}relevance")
_JUDGED = re.compile(r"judged@(\d+)")
# Metrics that have a value other than 0 also for a query that the run lacks.
_WITHOUT_A_RUN = ("num_relevant", "ideal_dcg", "rbp_residual", "yaap")


def read_systems(sources: Mapping[str, Source]) -> dict[str, System]:
    """Systems from results, their folders, or tables with query_id and a column a metric.

    A table with a column `run`, as `--per-query` writes it, holds a system for each run.
    """
    systems: dict[str, System] = {}
    for name, source in sources.items():
        for part, system in _read(name, source).items():
            if part in systems:
                raise OptionError(f"two systems are called {part!r}. Give each a name of its own.")
            systems[part] = system
    return systems


def _read(name: str, source: Source) -> dict[str, System]:
    if isinstance(source, System):
        return {name: source}
    if isinstance(source, Mapping):
        raise UnreadableInputError(
            f"system {name!r}", "stored values are a result or a table, not a dict"
        )
    if isinstance(source, str | os.PathLike):
        with suppress(OSError):  # a name that is too long: whoever opens it says so
            source = Result.read(source) if is_result(_place(source)) else source
    if isinstance(source, Result):
        system = _system(_as_stored(source.per_query, name), name, _ledger(source, name))
        return {name: replace(system, inputs=source.inputs)}
    scanned = open_table(source, "queries")
    schema = scanned.raw.collect_schema()
    key = scanned.mapping[QUERY]
    others = [
        c
        for c in schema
        if c not in (key, RUN) and (_is_number(schema[c]) or schema[c] == pl.String)
    ]
    for column in others:
        refuse_pattern(f"system {name!r}", column)
    runs = [pl.col(RUN).cast(pl.String)] if RUN in schema and not _is_number(schema[RUN]) else []
    try:
        frame = scanned.raw.select(
            pl.col(key).cast(pl.String).alias(QUERY), *runs, *others
        ).collect()
    except READ_ERRORS as error:
        raise unreadable(scanned.name, error) from error
    check_rows(frame.select(QUERY).lazy(), "the stored table", scanned.name)
    frame = _numbers(frame, [c for c in others if c not in PAIR_COUNTS])
    if frame.width == 1 + len(runs):
        raise UnreadableInputError(
            scanned.name, "no stored values: it has no column of numbers beside query_id"
        )
    if runs and frame[RUN].null_count():
        raise BadValueError(
            "the stored table", "a null run", frame[RUN].null_count(), "run", "Name every run"
        )
    if not runs:
        return {name: _system(frame, name)}
    parts = frame.partition_by(RUN, as_dict=True, include_key=False)
    if len(parts) == 1:
        return {name: _system(next(iter(parts.values())), name)}
    return {str(run): _system(part, str(run)) for (run,), part in parts.items()}


def _place(source: str | os.PathLike[str]) -> Path | Remote:
    if scheme_of(source) in STORES:
        return Remote.at(source)
    return Path(os.path.expanduser(os.fspath(source)))  # noqa: PTH111 (as elsewhere)


def _as_stored(values: pl.DataFrame, name: str) -> pl.DataFrame:
    """The values of a result as `write` leaves them: ids are text, and all else is numbers."""
    for column in values.columns:
        refuse_pattern(f"system {name!r}", column)
    others = [c for c in values.columns if c not in (QUERY, *PAIR_COUNTS)]
    found = _numbers(values.with_columns(pl.col(QUERY).cast(pl.String)), others)
    if bad := [c for c in others if c not in found.columns]:
        raise UnreadableInputError(
            f"system {name!r}",
            f"its values of {bad[0]!r} are not numbers, but {values[bad[0]].dtype}",
        )
    return found.select(values.columns)


def _ledger(result: Result, name: str) -> pl.DataFrame:
    try:
        return result.ledger.cast(dict(SCHEMA.items()))
    except pl.exceptions.PolarsError as error:
        raise UnreadableInputError(
            f"system {name!r}", f"its ledger is not one of rankframe, but {result.ledger.schema}"
        ) from error


def _is_number(dtype: pl.DataType) -> bool:
    return dtype.is_numeric() or dtype == pl.Null


def _numbers(frame: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
    """With these columns as numbers, also where a file holds them as text; without others."""
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


def _system(values: pl.DataFrame, name: str, ledger: pl.DataFrame | None = None) -> System:
    """The values in byte order of their queries, each once, and all of them finite."""
    deduplicate(values.select(QUERY), f"system {name!r}", "error")
    for label in values.columns:
        if not values[label].dtype.is_float():
            continue
        bad = values.filter(~pl.col(label).is_finite())
        if bad.height:
            raise BadValueError(
                f"system {name!r}",
                f"a {label} that is not finite",
                bad.height,
                f"query_id {bad[QUERY][0]!r}",
                "Leave the value empty where a metric is undefined",
            )
    judged = {int(at[1]): label for label in values.columns if (at := _JUDGED.fullmatch(label))}
    ordered = values if values[QUERY].is_sorted() else values.sort(QUERY)
    evidence = [label for label in values.columns if _needs_a_run(label)]
    return System(PerQuery.of(ordered), ledger, judged, evidence)


def stored_metrics(systems: Mapping[str, System], metrics: Metrics | None) -> list[Metric]:
    """The metrics to compare: those asked for, or all that every system has."""
    wanted = _columns(metrics)
    if wanted is None:
        wanted = [
            _metric(label)
            for label in next(iter(systems.values())).labels
            if all(label in system.labels for system in systems.values())
        ]
        if not wanted:
            has = "; ".join(f"{name} has {', '.join(s.labels)}" for name, s in systems.items())
            raise MetricParameterError(f"the systems have no metric in common: {has}.")
    for metric in (one if one.gap is None else one.gap.of for one in wanted):
        for name, system in systems.items():
            if metric.label not in system.labels:
                near = did_you_mean(metric.label, system.labels)
                raise MetricParameterError(
                    f"system {name!r} has no values of {metric.label!r}. {near}"
                    f"{' ' if near else ''}It has {', '.join(system.labels)}."
                )
        if metric.level is not None:
            raise MetricParameterError(
                f"{metric.label!r}: average={metric.average} is no mean, and here means are "
                "compared. Name the metrics that are to be."
            )
        if metric.average == "micro":
            raise MetricParameterError(
                f"{metric.label!r} is an average over sums, which stored values do not have. "
                "Compare the runs themselves, or use average=macro."
            )
    return wanted


def _columns(metrics: Metrics | None) -> list[Metric] | None:
    """The columns of stored values that are asked for, by name or as metrics of that name."""
    if metrics is None:
        return None
    given = [metrics] if isinstance(metrics, str | pl.Expr | Metric) else list(metrics)
    if not given or any(not isinstance(one, str | Metric) for one in given):
        raise MetricParameterError(f"metrics of stored values are their columns, not {metrics!r}.")
    found = [one if isinstance(one, Metric) else _metric(str(one)) for one in given]
    labels = [metric.label for metric in found]
    if twice := [label for label in labels if labels.count(label) > 1]:
        raise MetricParameterError(f"metric {twice[0]!r} is asked for more than once.")
    return found


def _metric(label: str) -> Metric:
    """What a column's name says of it; an expression of someone's own says nothing."""
    try:
        (metric,) = parse(label)
    except (UnknownMetricError, MetricParameterError, ValueError):
        return Metric(label)
    return replace(metric, label=label)


def _needs_a_run(label: str) -> bool:
    """Whether a metric is 0 or undefined for a query that the run lacks."""
    definition = _metric(label).definition
    return definition is not None and definition.name not in _WITHOUT_A_RUN


def refuse_other_evaluations(systems: Mapping[str, System]) -> None:
    """Refuse values that were counted under different policies, or against other judgments."""
    counted = [(name, one.ledger) for name, one in systems.items() if one.ledger is not None]
    for name, ledger in counted[1:]:
        _refuse_other_policies(counted[0], (name, ledger))
    known = [(name, ledger) for name, ledger in counted if _ROWS in ledger["item"]]
    for name, ledger in known[1:]:
        _refuse_other_judgments(known[0], (name, ledger))


def _refuse_other_policies(one: _Evaluated, other: _Evaluated) -> None:
    ours, theirs = _policies(one[1]), _policies(other[1])
    for policy in sorted({*ours, *theirs}):
        if ours.get(policy) != theirs.get(policy):
            raise OptionError(
                f"{one[0]!r} was evaluated with {policy.removeprefix(POLICY)} = "
                f"{ours.get(policy)}, {other[0]!r} with {theirs.get(policy)}: not the same thing. "
                "Evaluate one of them again."
            )


def _refuse_other_judgments(one: _Evaluated, other: _Evaluated) -> None:
    """By how many there are, and where both say it, by their fingerprints."""
    said = []
    for _, ledger in (one, other):
        values = dict(zip(ledger["item"], ledger["value"], strict=True))
        notes = dict(zip(ledger["item"], ledger["note"], strict=True))
        kept = (values[_ROWS] or 0) - (values.get(_DROPPED) or 0)
        said.append((kept, values.get(_QUERIES), notes.get(FINGERPRINT)))
    (rows, queries, print_), (their_rows, their_queries, their_print) = said
    if (rows, queries) != (their_rows, their_queries):
        problem = (
            f"against {number_of(rows, 'judgment')} of {number_of(queries or 0, 'query')}, "
            f"{other[0]!r} against "
            f"{their_rows:,.0f} of {their_queries or 0:,.0f}"
        )
    elif print_ and their_print and differ(print_, their_print):
        problem = f"against other judgments than {other[0]!r}, though there are as many"
    else:
        return
    raise OptionError(
        f"{one[0]!r} was evaluated {problem}: not the same thing. Evaluate one of them again, "
        "with the judgments of the other."
    )


def _policies(ledger: pl.DataFrame) -> dict[str, str]:
    notes = dict(zip(ledger["item"], ledger["note"], strict=True))
    return {
        item: note
        for item, note in notes.items()
        if item.startswith(POLICY) and item not in _NO_MATTER
    }
