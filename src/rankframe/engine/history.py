"""Read stored results, and list their metrics in the order of time."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias, get_args

import polars as pl

from rankframe.core.caveats import Caveat, find_caveat, warn_of
from rankframe.core.errors import OptionError
from rankframe.core.messages import did_you_mean, listing, shown
from rankframe.core.options import StorageSettings, check_choice, check_list, takes_options
from rankframe.engine.ledger import FINGERPRINT
from rankframe.engine.result import Result
from rankframe.frames.judgments import differ
from rankframe.io.output_paths import place
from rankframe.io.remote import Remote

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


@takes_options()
def history(
    results: Mapping[str, Stored] | Iterable[Stored] | Stored,
    metrics: Sequence[str] | str | None = None,
    *,
    order: HistoryOrder = "date",
    storage_options: StorageSettings | None = None,  # noqa: ARG001 (by `takes_options`)
) -> pl.DataFrame:
    """Return metrics of several stored results: a row for each result and metric.

    The columns are result, date (UTC; null for a result in memory), metric, value, ci_low, ci_high,
    queries, and same_judgments: whether the judgments equal the judgments of the previous result
    (null if unknown). Values over different judgments or different queries do not show a trend.

    Args:
        results: folders that `Result.write` or `rankframe evaluate -o` wrote, or results, as a list
            or by name. In a list, they are named by their folders.
        metrics: the metrics to return (default: every metric of any result). A result without a
            metric has no row for it.
        order: by "date", with results without a date last, or as "given". The date is the
            modification time of the summary file, which a copy or a checkout resets. Result files
            themselves hold no date, so that the same input gives the same bytes.
        storage_options: settings of remote storage, as in `evaluate`.

    >>> one = rf.evaluate({"q": {"a": 1}}, {"q": {"a": 1.0}}, "mrr")
    >>> other = rf.evaluate({"q": {"a": 1}}, {"q": {"b": 2.0, "a": 1.0}}, "mrr")
    >>> rf.history({"monday": one, "tuesday": other}).select("result", "metric", "value").rows()
    [('monday', 'mrr', 1.0), ('tuesday', 'mrr', 0.5)]
    """
    check_choice("order", order, get_args(HistoryOrder))
    frames = [_rows(name, result) for name, result in _by_name(results).items()]
    if order == "date":
        frames.sort(key=_date)
    found = pl.concat(_compared(frames))
    warn_of(history_caveats(found))
    if metrics is None:
        return found
    alone = isinstance(metrics, str)
    requested = [metrics] if alone else check_list("metrics", metrics, "a list of names")
    available = found["metric"].unique(maintain_order=True).to_list()
    for metric in requested:
        if not isinstance(metric, str) or metric not in available:
            hint = did_you_mean(metric, available) or f"They have {listing(available)}."
            raise OptionError(f"no result has {shown(metric)}. {hint}")
    return found.filter(pl.col("metric").is_in(requested))


def history_caveats(points: pl.DataFrame) -> list[Caveat]:
    """Return the caveats of a history: facts that can mislead a reader."""
    changed = points.filter(same_judgments=False)["result"].n_unique()
    return list(find_caveat("judgments_changed", changed))


def _by_name(results: Any) -> dict[str, Stored]:
    """Return results by distinct names: their keys or, in a list, their folders."""
    if isinstance(results, Mapping):
        by_name = {str(name): result for name, result in results.items()}
    else:
        alone = isinstance(results, str | os.PathLike | Result)
        expected = "a list of folders of stored results, or of results"
        listed = [results] if alone else check_list("results", results, expected)
        _check(listed)
        by_name = dict(zip(_names(listed), listed, strict=True))
    if not by_name:
        raise OptionError("no results were given: pass folders of stored results.")
    _check(by_name.values())
    return by_name


def _check(listed: Iterable[object]) -> None:
    for result in listed:
        if not isinstance(result, str | os.PathLike | Result):
            raise OptionError(f"results are folders or Result objects, not {shown(result)}.")


def _names(listed: Sequence[Any]) -> list[str]:
    """Return distinct names for results: their folders, with as much of the path as differs."""
    paths = [
        None if isinstance(result, Result) else os.fsdecode(result).rstrip("/") for result in listed
    ]
    for depth in (1, 2, 3):
        names = [
            f"result {number}" if path is None else "/".join(Path(path).parts[-depth:])
            for number, path in enumerate(paths, start=1)
        ]
        if max(Counter(names).values(), default=1) == 1:
            return names
    return [f"{name} ({number})" for number, name in enumerate(names, start=1)]


def _rows(name: str, stored: Stored) -> pl.DataFrame:
    result = stored if isinstance(stored, Result) else Result.read(stored)
    date = None if isinstance(stored, Result) else _written(place(stored))
    notes = result.ledger.filter(pl.col("item") == FINGERPRINT)["note"]
    return result.summary.select(
        pl.lit(name).alias("result"),
        pl.lit(date, HISTORY_SCHEMA["date"]).alias("date"),
        "metric", "value", "ci_low", "ci_high", "queries",
        pl.lit(notes[0] if len(notes) else None, pl.String).alias("same_judgments"),
    )  # fmt: skip


def _compared(frames: Sequence[pl.DataFrame]) -> list[pl.DataFrame]:
    """Add to the rows of each result whether the previous result has the same judgments."""
    marks: list[Any] = [frame["same_judgments"].first() for frame in frames]
    same = [
        None if before is None or mark is None else not differ(before, mark)
        for before, mark in zip([None, *marks], marks, strict=False)
    ]
    return [
        frame.with_columns(same_judgments=pl.lit(alike, pl.Boolean)).select(HISTORY_SCHEMA.keys())
        for frame, alike in zip(frames, same, strict=True)
    ]


def _date(frame: pl.DataFrame) -> tuple[bool, datetime]:
    """Return the sort key of a result: its date, with results without a date last."""
    found = frame["date"].first() if frame.height else None
    dated = isinstance(found, datetime)
    return not dated, found if dated else datetime.min.replace(tzinfo=UTC)


def _written(folder: Path | Remote) -> datetime | None:
    """Return when the summary of a result was last written, as a file or by Spark as a folder."""
    for summary in (folder / "summary.parquet", folder / "summary"):
        if isinstance(summary, Remote):
            found = summary.system.get_file_info(summary.path).mtime
            if found is not None:
                return found.astimezone(UTC)
        elif summary.exists():
            return datetime.fromtimestamp(summary.stat().st_mtime, UTC)
    return None
