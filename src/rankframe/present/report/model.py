"""Define the model of a report: a comparison, charts, movers, verdicts, and provenance."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import field
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
from rankframe.core.records import record
from rankframe.core.table import Cell, Table
from rankframe.metrics.names import Metric
from rankframe.present.tables import number_cell

EPOCH = "SOURCE_DATE_EPOCH"  # of reproducible-builds.org: the time that a build must use as its own
_DIGITS = 12  # of a fingerprint on the page


@record
class Moved:
    """Hold the queries in which a system is worst and best against the baseline."""

    worse: Diff
    better: Diff


@record
class Material:
    """Hold everything that a report shows: results, charts, changes, verdicts, provenance."""

    found: Comparison
    # charts by their captions
    drawings: Mapping[str, Any]
    # changes, by the name of the system that is compared with the baseline
    moved: Mapping[str, Moved]
    # texts of queries by their ids, if they are known
    texts: Mapping[str, str]
    # date, versions and command of the page; a table with a row for each input
    facts: Mapping[str, str]
    inputs: Table
    # a comparison with bounds for unjudged documents, over a sample of queries
    bounded: Comparison
    # verdicts on systems other than the baseline, if rules were given
    verdicts: Mapping[str, Verdict] = field(default_factory=dict)
    # the attribute by which changes are weighted
    weight: str | None = None
    # a note on the sample that curves are drawn of; "" without a sample
    sampled: str = ""

    @property
    def first(self) -> Metric:
        """Return the main metric, which sentences, charts and movers are about."""
        return self.found.metrics[0]

    def word(self, text: str) -> str:
        """Replace the words for queries and documents in a text by those of the inputs."""
        return self.found.vocabulary.render(text)


def of_all_queries(frame: pl.DataFrame, **values: Any) -> pl.DataFrame:
    """Return the rows about all queries, not slices, whose columns equal `values`."""
    return frame.filter(pl.col("by").is_null(), **values)


def of_slices(frame: pl.DataFrame, **values: Any) -> pl.DataFrame:
    """Return the rows about slices of queries whose columns equal `values`."""
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
    """Return the date of a page: `date`, else SOURCE_DATE_EPOCH, else the current time.

    >>> from datetime import UTC, datetime
    >>> date_text(datetime(2026, 1, 2, 3, 4, tzinfo=UTC))
    '2026-01-02 03:04 UTC'
    """
    if isinstance(date, str):
        return date
    if not isinstance(date, datetime | None) or date != date:  # noqa: PLR0124 (pandas' NaT)
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


def input_row(role: str, source: Any, name: str, rows: int | None = None) -> list[str | Cell]:
    """Describe an input: its role, name and rows, and of a file its size and SHA-256."""
    size = digest = Cell("")
    if isinstance(source, str | os.PathLike):
        name = masked(str(source))
        with suppress(OSError, ValueError):  # no path: the source is an object or a stream
            path = Path(os.path.expanduser(os.fspath(source)))  # noqa: PTH111 (as where it is opened)
            name = path.name if path.exists() else name
            if path.is_file():
                with path.open("rb") as file:
                    digest = Cell(hashlib.file_digest(file, "sha256").hexdigest()[:_DIGITS])
                size = number_cell(path.stat().st_size, _bytes(path.stat().st_size))
    return [role, name, "" if rows is None else number_cell(rows, f"{rows:,}"), size, digest]


def _bytes(size: int) -> str:
    for unit, factor in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if size >= factor:
            return f"{size / factor:.1f} {unit}"
    return f"{size} B"


def rows_of(found: Comparison, system: str, item: str) -> int | None:
    """Return the count `item` in the ledger of a system; None if the ledger lacks it."""
    counted = found.ledger.filter(pl.col("system") == system, pl.col("item") == item)["value"]
    return None if counted.is_empty() or counted[0] is None else int(counted[0])


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
