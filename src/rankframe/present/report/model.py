"""The model of a report: a comparison, charts, what moved, verdicts, and provenance."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from rankframe.analysis.comparison import Comparison
from rankframe.analysis.diff import Diff
from rankframe.analysis.verdict import Verdict
from rankframe.core.columns import QUERY
from rankframe.core.errors import OptionError
from rankframe.core.messages import masked, shown
from rankframe.engine.ledger import FINGERPRINT
from rankframe.metrics.names import Metric

EPOCH = "SOURCE_DATE_EPOCH"  # reproducible-builds.org: the time that builds are to say
_DIGITS = 12  # of a fingerprint on the page


@dataclass(frozen=True)
class Input:
    """Describe an input."""

    role: str
    name: str
    rows: int | None = None
    # bytes of the file, and the SHA-256 of them, where it is one
    size: int | None = None
    digest: str | None = None


@dataclass(frozen=True)
class Made:
    """Hold when and how a page was made, and from which inputs."""

    date: str
    version: str
    inputs: tuple[Input, ...] = ()
    command: str | None = None
    # by system: of the values that were compared
    values: Mapping[str, str] | None = None


@dataclass(frozen=True)
class Moved:
    """Hold the queries in which a system is worst and best against the baseline."""

    worse: Diff
    better: Diff


@dataclass(frozen=True)
class Material:
    """Hold everything that a report shows."""

    found: Comparison
    # by what they show
    drawings: Mapping[str, Any]
    # by the name of the system that is set against the baseline
    moved: Mapping[str, Moved]
    # the words of queries by their ids, where they are known
    texts: Mapping[str, str]
    provenance: Made
    # with bounds for unjudged documents, over the queries that curves are drawn of
    bounded: Comparison
    # on each system beside the baseline, where rules were given
    verdicts: Mapping[str, Verdict] = field(default_factory=dict)
    # by what queries are weighed, if they are
    weight: str | None = None
    # of what curves are drawn, where that is not all
    sampled: str = ""

    @property
    def first(self) -> Metric:
        """The metric that sentences, charts and movers are about."""
        return self.found.metrics[0]


def of_all_queries(frame: pl.DataFrame, **values: Any) -> pl.DataFrame:
    """Return the rows about all queries that have these values."""
    return frame.filter(pl.col("by").is_null(), **values)


def of_slices(frame: pl.DataFrame, **values: Any) -> pl.DataFrame:
    """Return the rows about slices that have these values."""
    return frame.filter(pl.col("by").is_not_null(), **values)


def queries_of(found: Comparison) -> pl.Series:
    """Return the queries that were compared."""
    return next(iter(found.per_query.values()))[QUERY]


def order_systems(found: Comparison) -> list[str]:
    """Return the systems by their values of the first metric, the best one first."""
    first = found.metrics[0]
    rows = of_all_queries(found.systems, metric=first.label)
    return rows.sort(
        "value", descending=first.higher_is_better, nulls_last=True, maintain_order=True
    )["system"].to_list()


def date_text(date: str | datetime | None) -> str:
    """Return the date of a page: the given one, else that of SOURCE_DATE_EPOCH, else now.

    >>> from datetime import UTC, datetime
    >>> date_text(datetime(2026, 1, 2, 3, 4, tzinfo=UTC))
    '2026-01-02 03:04 UTC'
    """
    if isinstance(date, str):
        return date
    if not isinstance(date, datetime | None):
        raise OptionError(f"date takes a datetime or a text, not {shown(date)}.")
    moment = date
    if moment is None and (seconds := os.environ.get(EPOCH)):
        try:
            moment = datetime.fromtimestamp(int(seconds), UTC)
        except (ValueError, OverflowError, OSError) as error:
            raise OptionError(f"{EPOCH} is seconds since 1970, not {shown(seconds)}.") from error
    moment = datetime.now(UTC) if moment is None else moment
    if moment.tzinfo is not None:
        return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
    return f"{moment:%Y-%m-%d %H:%M}"


def input_of(role: str, source: Any, name: str, rows: int | None = None) -> Input:
    """Describe an input; a file also by its size and digest."""
    if not isinstance(source, str | os.PathLike):
        return Input(role, name, rows)
    try:
        path = Path(os.path.expanduser(os.fspath(source)))  # noqa: PTH111 (as where it is opened)
        if path.is_file():
            with path.open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
            return Input(role, path.name, rows, path.stat().st_size, digest)
        if path.exists():
            return Input(role, path.name, rows)
    except (OSError, ValueError):  # it was read another way: no path at all
        pass
    return Input(role, masked(str(source)), rows)


def rows_of(found: Comparison, system: str, item: str) -> int | None:
    """Return a count of the ledger."""
    counted = found.ledger.filter(pl.col("system") == system, pl.col("item") == item)["value"]
    return None if counted.is_empty() or counted[0] is None else int(counted[0])


def fingerprint_of_qrels(found: Comparison) -> str | None:
    """Return the fingerprint of the judgments, which does not depend on the order of rows."""
    notes = found.ledger.filter(pl.col("item") == FINGERPRINT)["note"]
    return notes[0] if len(notes) else None


def fingerprint_of_values(values: pl.DataFrame) -> str:
    """Return a fingerprint of queries and their values."""
    digest = hashlib.sha256()
    for name in values.columns:
        digest.update(name.encode(errors="surrogatepass") + b"\0")
        if name == QUERY:
            digest.update(str(values[name].str.join("\n")[0]).encode(errors="surrogatepass"))
            continue
        numbers = values[name].cast(pl.Float64).fill_null(np.nan).to_numpy()
        digest.update((numbers + 0.0).tobytes())  # -0.0 is 0.0
    return digest.hexdigest()[:_DIGITS]
