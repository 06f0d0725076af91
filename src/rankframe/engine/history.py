"""Metrics over several stored results, in the order of time."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias, get_args

import polars as pl

from rankframe.core.errors import OptionError
from rankframe.core.messages import did_you_mean, listing, shown
from rankframe.core.options import StorageSettings
from rankframe.engine.ledger import FINGERPRINT
from rankframe.engine.result import Result
from rankframe.frames.fingerprint import differ
from rankframe.io.output_paths import place
from rankframe.io.remote import Remote
from rankframe.io.storage import reaching

Stored: TypeAlias = str | os.PathLike[str] | Result
HistoryOrder: TypeAlias = Literal["date", "given"]
HISTORY_SCHEMA: Final[dict[str, pl.DataType]] = {
    "result": pl.String(),
    "date": pl.Datetime("us", "UTC"),
    "metric": pl.String(),
    "value": pl.Float64(),
    "ci_low": pl.Float64(),
    "ci_high": pl.Float64(),
    "queries": pl.Int64(),
    "same_judgments": pl.Boolean(),
}


@reaching
def history(
    results: Mapping[str, Stored] | Iterable[Stored] | Stored,
    metrics: Sequence[str] | str | None = None,
    *,
    order: HistoryOrder = "date",
    storage_options: StorageSettings | None = None,  # noqa: ARG001 (read by `reaching`)
) -> pl.DataFrame:
    """Return metrics of several stored results: a row for each result and metric.

    The columns are result, date (UTC; null of a result that is no folder), metric, value, ci_low,
    ci_high, queries, and same_judgments: whether the judgments are those of the result before, as
    far as that is known. Numbers of other judgments, or over other queries, are no trend.

    Args:
        results: folders that `Result.write` or `rankframe evaluate -o` wrote, or results, as a list
            or by name. In a list, they are named by their folders.
        metrics: the metrics to return (default: all that any of them has). A result without one of
            them has no row for it.
        order: by "date", those without one last, or as "given". The date is the modification time
            of the summary, which a copy or checkout resets: files of results hold no date, so that
            the same input gives the same bytes.
        storage_options: settings of remote storage, as in `evaluate`.

    >>> one = rf.evaluate({"q": {"a": 1}}, {"q": {"a": 1.0}}, "mrr")
    >>> other = rf.evaluate({"q": {"a": 1}}, {"q": {"b": 2.0, "a": 1.0}}, "mrr")
    >>> rf.history({"monday": one, "tuesday": other}).select("result", "metric", "value").rows()
    [('monday', 'mrr', 1.0), ('tuesday', 'mrr', 0.5)]
    """
    if order not in get_args(HistoryOrder):
        raise OptionError.choice("order", order, get_args(HistoryOrder))
    frames = [_rows(name, one) for name, one in _by_name(results).items()]
    if order == "date":
        frames.sort(key=_date)
    found = pl.concat(_compared(frames))
    if metrics is None:
        return found
    asked = [metrics] if isinstance(metrics, str) else list(metrics)
    known = found["metric"].unique(maintain_order=True).to_list()
    for metric in asked:
        if metric not in known:
            hint = did_you_mean(metric, known) or f"They have {listing(known)}."
            raise OptionError(f"no result has {metric!r}. {hint}")
    return found.filter(pl.col("metric").is_in(asked))


def _by_name(results: Any) -> dict[str, Stored]:
    """Each result under a name of its own."""
    if isinstance(results, Mapping):
        given = {str(name): one for name, one in results.items()}
    else:
        alone = isinstance(results, str | os.PathLike | Result)
        listed = [results] if alone else list(results)
        _check(listed)
        given = dict(zip(_names(listed), listed, strict=True))
    if not given:
        raise OptionError("there is no result: give folders of stored results.")
    _check(given.values())
    return given


def _check(listed: Iterable[object]) -> None:
    for one in listed:
        if not isinstance(one, str | os.PathLike | Result):
            raise OptionError(f"a stored result is a folder, or a result, not {shown(one)}.")


def _names(listed: Sequence[Any]) -> list[str]:
    """Return the names of results: their folders, with as much of the path as differs."""
    paths = [None if isinstance(one, Result) else os.fsdecode(one).rstrip("/") for one in listed]
    for depth in (1, 2, 3):
        names = [
            f"result {at}" if path is None else "/".join(Path(path).parts[-depth:])
            for at, path in enumerate(paths, start=1)
        ]
        if max(Counter(names).values(), default=1) == 1:
            return names
    return [f"{name} ({at})" for at, name in enumerate(names, start=1)]


def _rows(name: str, one: Stored) -> pl.DataFrame:
    result = one if isinstance(one, Result) else Result.read(one)
    date = None if isinstance(one, Result) else _written(place(one))
    notes = result.ledger.filter(pl.col("item") == FINGERPRINT)["note"]
    return result.summary.select(
        pl.lit(name).alias("result"),
        pl.lit(date, HISTORY_SCHEMA["date"]).alias("date"),
        "metric", "value", "ci_low", "ci_high", "queries",
        pl.lit(notes[0] if len(notes) else None, pl.String).alias("same_judgments"),
    )  # fmt: skip


def _compared(frames: Sequence[pl.DataFrame]) -> list[pl.DataFrame]:
    """The rows of each result, with whether its judgments are those of the one before."""
    marks: list[Any] = [frame["same_judgments"].first() for frame in frames]
    same = [
        None if before is None or mark is None else not differ(before, mark)
        for before, mark in zip([None, *marks], marks, strict=False)
    ]
    return [
        frame.with_columns(same_judgments=pl.lit(one, pl.Boolean)).select(HISTORY_SCHEMA.keys())
        for frame, one in zip(frames, same, strict=True)
    ]


def _date(frame: pl.DataFrame) -> tuple[bool, datetime]:
    """By which results are ordered: those without a date last."""
    found = frame["date"].first() if frame.height else None
    known = isinstance(found, datetime)
    return not known, found if known else datetime.min.replace(tzinfo=UTC)


def _written(folder: Path | Remote) -> datetime | None:
    """When the summary of a result was last written: a file, or the folder that Spark left."""
    for summary in (folder / "summary.parquet", folder / "summary"):
        if isinstance(summary, Remote):
            found = summary.system.get_file_info(summary.path).mtime
            if found is not None:
                return found.astimezone(UTC)
        elif summary.exists():
            return datetime.fromtimestamp(summary.stat().st_mtime, UTC)
    return None
