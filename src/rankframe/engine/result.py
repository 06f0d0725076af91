"""Define `Result`: summary, values per query, slices and ledger, in memory or stored."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, ClassVar

import polars as pl

from rankframe.core.errors import MissingExtraError, OptionError

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa


import io
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, cast

from rankframe.core.caveats import Caveat, caveats_of
from rankframe.core.columns import QUERY
from rankframe.core.errors import UnreadableInputError
from rankframe.core.forks import refuse_if_stranded
from rankframe.core.messages import did_you_mean, number_of
from rankframe.core.options import StorageSettings, takes_options
from rankframe.core.table import Note, Part, Table, as_html, as_text, warning_notes
from rankframe.core.vocabulary import Vocabulary
from rankframe.core.wording import number_text
from rankframe.engine.document_metrics import ITEMS_SCHEMA, OverDocuments
from rankframe.engine.ledger import GAPS, LEDGER_SCHEMA, OVER_DOCUMENTS, POLICY
from rankframe.io.output_paths import place
from rankframe.io.outputs import fresh_folder, read_about, recover, write_parquet
from rankframe.io.remote import Remote, explained
from rankframe.io.sources.files import scan_files

SUMMARY_SCHEMA = {
    "metric": pl.String,
    "value": pl.Float64,
    "ci_low": pl.Float64,
    "ci_high": pl.Float64,
    "std": pl.Float64,
    "queries": pl.Int64,
}


class Summary(NamedTuple):
    """Hold the value of a metric over some queries: a row of `SUMMARY_SCHEMA`."""

    metric: str
    value: float | None
    ci_low: float | None
    ci_high: float | None
    # the standard deviation over the queries
    std: float | None
    queries: int


# A slice with fewer queries is flagged as small: its numbers are not reliable.
SMALL = 30
_MOST_SHOWN = 30  # slices in a notebook
SLICES_SCHEMA = {"by": pl.String, "slice": pl.String, **SUMMARY_SCHEMA, "small": pl.Boolean}
_NO_SLICES, _NO_ITEMS = pl.DataFrame(schema=SLICES_SCHEMA), pl.DataFrame(schema=ITEMS_SCHEMA)
# The frames of a result, and the columns that each begins with.
_COLUMNS = {
    "summary": SUMMARY_SCHEMA,
    "per_query": {QUERY: pl.String},
    "ledger": LEDGER_SCHEMA,
    "slices": SLICES_SCHEMA,
    "items": ITEMS_SCHEMA,
}
# Frames that exist only if the evaluation requested slices of queries or of items.
_OPTIONAL = ("slices", "items")
RESULT_FILES = tuple(f"{name}.parquet" for name in _COLUMNS)
# The counts in `Result.overview`, each shown unless it is 0: the ledger's item, the noun to count
# (or "" to omit it), and the text.
_SAID = (
    ("queries_evaluated", "query", "{} evaluated"),
    ("queries_missing", "", "{} missing from the run"),
    ("queries_without_relevant", "", "{} without relevant documents"),
    ("queries_unjudged", "", "{} in the run but unjudged"),
    ("rank_score_disagree", "", "{} with ranks that contradict scores"),
    ("queries_renumbered", "", "{} with ranks numbered anew"),
    ("qrels_duplicates_dropped", "duplicate judgment", "{} dropped"),
    ("run_duplicates_dropped", "duplicate document", "{} dropped"),
    ("judged_share_top_10", "", "{:.0%} of the top 10 judged"),
    ("queries_compared", "query", "{} compared"),
    ("queries_only_a", "", "{} only in the first ranking"),
    ("queries_only_b", "", "{} only in the second"),
    ("share_shared", "", "{:.0%} of documents shared"),
)
_SHARES = ("judged_share_top_10", "share_shared")
PER_QUERY_FILE = "per_query.parquet"
_ATTEMPTS, _PAUSE = 500, 0.01  # retries (seconds apart) if another process replaces the result
_State: TypeAlias = tuple[tuple[str | int, ...], ...]


class Exported:
    """Export the frames of an object by name; the first of `FRAMES` is the default."""

    FRAMES: ClassVar[tuple[str, ...]]

    def to_arrow(self, frame: str | None = None) -> pa.Table:
        """Return a frame as a pyarrow table: the first of `FRAMES`, or the one of this name.

        >>> rf.evaluate({"q": {"a": 1}}, {"q": {"a": 1.0}}, "map").to_arrow("per_query").to_pydict()
        {'query_id': ['q'], 'map': [1.0]}
        """
        # Not every library reads Arrow's newest type of text.
        return self._exported(frame).to_arrow(compat_level=pl.CompatLevel.oldest())

    def to_pandas(self, frame: str | None = None) -> pd.DataFrame:
        """Return a frame as a pandas frame; pandas must be installed."""
        found = self._exported(frame)
        try:
            import_module("pandas")
        except ImportError as error:
            raise MissingExtraError("to_pandas", package="pandas") from error
        return found.to_pandas()

    def _exported(self, frame: str | None) -> pl.DataFrame:
        name = self.FRAMES[0] if frame is None else frame
        if not isinstance(name, str) or name not in self.FRAMES:
            raise OptionError.choice("frame", name, self.FRAMES)
        return self._frame(name)

    def _frame(self, name: str) -> pl.DataFrame:
        return getattr(self, name)


def about_frame(
    frame: str, metrics: Sequence[str], ledger: pl.DataFrame, inputs: Mapping[str, str]
) -> dict[str, Any]:
    """Return the metadata of a file with a frame: its inputs and options."""
    notes = dict(zip(ledger["item"], ledger["note"], strict=True))
    counts = dict(zip(ledger["item"], ledger["value"], strict=True))
    return {
        "frame": frame,
        "metrics": list(metrics),
        "policies": {
            item.removeprefix(POLICY): note
            for item, note in notes.items()
            if item.startswith(POLICY)
        },
        "inputs": {
            side: {"name": name, "rows": int(counts.get(f"{side}_rows") or 0)}
            for side, name in inputs.items()
        },
    }


def names_in_file(path: Path | Remote) -> dict[str, str]:
    """Return the names of the inputs of a stored frame; none if the file does not tell."""
    if isinstance(path, Remote):
        about = read_about(io.BytesIO(path.read()))
    else:
        about = read_about(path) if path.is_file() else {}
    inputs = about.get("inputs")
    if not isinstance(inputs, dict):
        return {}
    named = {side: kept for side, kept in inputs.items() if isinstance(kept, dict)}
    return {side: str(kept["name"]) for side, kept in named.items() if "name" in kept}


class Result(Exported):
    """Hold the outcome of an evaluation.

    summary: metric, value, ci_low, ci_high, std (over queries), queries (how many were averaged).
    per_query: query_id and one column per metric, in byte order of query_id.
    ledger: item, value, note: the counts and the policies of the evaluation.
    slices: by, slice, the columns of the summary, and small (true if there are too few queries).
    items: by, slice, and the exposure of the documents of each slice of items (see `items_by`).
    inputs: the names of the inputs: {"qrels": "qrels.parquet", "run": "bm25.parquet"}.

    `to_arrow()` and `to_pandas()` return the summary, or another of these frames by its name.
    """

    FRAMES = ("summary", "per_query", "slices", "items", "ledger")

    def __init__(
        self,
        summary: pl.DataFrame,
        per_query: pl.DataFrame | Path | Remote,
        ledger: pl.DataFrame,
        slices: pl.DataFrame | None = None,
        inputs: Mapping[str, str] | None = None,
        over_documents: OverDocuments | None = None,
        items: pl.DataFrame | None = None,
    ) -> None:
        # what metrics over documents are computed from, for comparisons; never stored
        self.over_documents = over_documents
        self.summary = summary
        self.ledger = ledger
        self.slices = _NO_SLICES.clone() if slices is None else slices
        self.items = _NO_ITEMS.clone() if items is None else items
        self.inputs = dict(inputs or {})
        self._values = per_query
        # identifies the files that were read, to detect later replacement
        self._state = None if isinstance(per_query, pl.DataFrame) else _state(per_query)

    @cached_property
    def per_query(self) -> pl.DataFrame:
        """Return each query's values; of a stored result, they are read on first use."""
        try:
            with _explained(self._values):
                return self.scan_per_query().collect()
        finally:
            self._refuse_another()

    def scan_per_query(self) -> pl.LazyFrame:
        """Return each query's values lazily: of a stored result, only what you use is read."""
        if isinstance(self._values, Path | Remote):
            self._refuse_another()
            return _scanned(self._values)
        return self._values.lazy()

    def _refuse_another(self) -> None:
        """Refuse to read values from files that were replaced since the summary was read."""
        if isinstance(self._values, Path | Remote) and _state(self._values) != self._state:
            raise UnreadableInputError(
                str(self._values), "it was replaced by another result since this one was read"
            )

    @property
    def means(self) -> dict[str, float | None]:
        """Return each metric's value by its label."""
        return dict(zip(self.summary["metric"], self.summary["value"], strict=True))

    __iter__ = None  # without it, Python would iterate by asking for metrics 0, 1, …

    def __getitem__(self, label: str) -> float | None:
        """Return a metric's value, or None if no query has a value."""
        means = self.means
        if label not in means:
            raise KeyError(f"no metric {label!r} in this result. {did_you_mean(label, means)}")
        return means[label]

    def count(self, item: str) -> float | None:
        """Return the value of an entry of the ledger, such as "queries_missing".

        >>> rf.evaluate({"q": {"a": 1}}, {"q": {"a": 1.0}}, "map").count("queries_evaluated")
        1.0
        """
        found = self.ledger.filter(pl.lit(isinstance(item, str)) & (pl.col("item") == str(item)))
        if found.is_empty():
            raise KeyError(
                f"no item {item!r} in the ledger. {did_you_mean(item, self.ledger['item'])}"
            )
        return found["value"][0]

    @takes_options()
    def write(
        self,
        folder: str | os.PathLike[str],
        *,
        overwrite: bool = False,
        storage_options: StorageSettings | None = None,  # noqa: ARG002 (by `takes_options`)
    ) -> Path:
        """Write the frames as Parquet into a folder: all of them, or nothing.

        An existing result is replaced only with `overwrite`; anything else is never touched. At an
        address (`s3://…`), the ledger is written last: what is not complete is refused when read.
        """
        with fresh_folder(folder, RESULT_FILES, overwrite=overwrite) as fresh:
            self.write_files(fresh)
        return cast("Path", place(folder))  # an address is as good as a path where it is read

    def write_files(self, folder: Path, *, values: bool = True) -> None:
        """Write the frames as Parquet files into a folder; `values`: also values per query."""
        for name in _COLUMNS:
            frame = None if name == "per_query" and not values else getattr(self, name)
            if frame is not None and not (name in _OPTIONAL and frame.is_empty()):
                write_parquet(frame, folder / f"{name}.parquet", self.about(name))

    def about(self, frame: str) -> dict[str, Any]:
        """Return the metadata of a file with a frame of this result.

        It is stored under the key `rankframe`: metrics, policies, and what was evaluated.
        """
        return about_frame(frame, list(self.means), self.ledger, self.inputs)

    @classmethod
    @takes_options()
    def read(
        cls,
        folder: str | os.PathLike[str],
        *,
        storage_options: StorageSettings | None = None,  # noqa: ARG003 (by `takes_options`)
    ) -> Result:
        """Read a result that `write` or Spark wrote: all of one result, or an error.

        A result that another process replaces meanwhile is the old one or the new one.
        """
        refuse_if_stranded()
        target = place(folder)
        for _ in range(_ATTEMPTS):
            before = _state(target)
            try:
                return cls._read(target, before)
            except UnreadableInputError:
                soon = recover(target)  # asked first: it may be there again a moment later
                if not soon and _state(target) == before:
                    raise
            time.sleep(_PAUSE)
        raise UnreadableInputError(str(folder), "it is being replaced again and again")

    @classmethod
    def _read(cls, folder: Path | Remote, state: _State) -> Result:
        def refused(problem: str, *advice: str) -> UnreadableInputError:
            return UnreadableInputError(str(folder), problem, *advice)

        with _explained(folder):
            paths = {name: _stored(folder, name) for name in _COLUMNS}
            lacking = [name for name, path in paths.items() if not path.exists()]
        for name in lacking:
            if name not in _OPTIONAL:
                raise refused(f"it is not a rankframe result: it lacks {paths[name].name}")
            del paths[name]
        with _explained(folder):
            scans = {name: _scanned(path) for name, path in paths.items()}
            schemas = {name: scan.collect_schema() for name, scan in scans.items()}
            frames = {name: scans[name].collect() for name in scans if name != "per_query"}
            queries = scans["per_query"].select(pl.len()).collect().item()
        for name, schema in schemas.items():
            columns = _COLUMNS[name]
            if list(schema.items())[: len(columns)] != list(columns.items()):
                raise refused(f"it is not a rankframe result: {name} lacks {', '.join(columns)}")
        ledger = frames["ledger"]
        if ledger.is_empty():  # Spark leaves the ledger empty until all other files are written
            raise refused("its writing was not completed")
        counted = ledger.filter(pl.col("item") == "queries_evaluated")["value"].to_list()
        unvalued = set(frames["summary"]["metric"]) - set(schemas["per_query"])
        over = ledger.filter(pl.col("item").is_in([OVER_DOCUMENTS, GAPS]))["value"]
        if len(unvalued) != over.sum() or counted not in ([], [queries]):
            raise refused("its files belong to different results", "Write the result again")
        inputs = names_in_file(paths["ledger"])
        read = cls(per_query=paths["per_query"], **frames, inputs=inputs)  # pyright: ignore[reportArgumentType]
        if _state(folder) != state:
            raise refused("it was replaced while it was read")
        return read

    def __repr__(self) -> str:
        warned = warning_notes(self.caveats)
        return as_text("rankframe result", [self._table([""] * 4), *warned, Note(self.overview)])

    def _repr_html_(self) -> str:
        queries = self.vocabulary.render("queries")
        table = self._table(["metric", "value", "interval", queries])
        warned = warning_notes(self.caveats)
        sliced = slices_table(self.slices, queries)
        return as_html([table, *sliced, *warned, Note(self.overview)])

    def _table(self, titles: Sequence[str]) -> Table:
        """Return the summary as a table for display."""
        noun = self.vocabulary.render
        rows = [
            (
                label,
                number_text(value),
                "" if low is None else f"{low:.4f} to {high:.4f}",
                noun(number_of(queries, "query")) if not any(titles) else f"{queries:,}",
            )
            for label, value, low, high, _, queries in self.summary.iter_rows()  # allowed: metrics
        ]
        return Table.from_texts(titles[:1], titles[1:], rows)

    @property
    def vocabulary(self) -> Vocabulary:
        """Return the words for queries and documents, from the names of the judgments' columns."""
        return Vocabulary.from_ledger(self.ledger)

    @property
    def caveats(self) -> list[Caveat]:
        """Return the caveats: facts that can mislead a reader (see docs/caveats.md).

        >>> rf.evaluate({"q": {"a": 1, "b": 2}}, {"q": {"a": 1.0}}, "map").caveats[0].code
        'all_relevant'
        """
        return caveats_of(self.ledger)

    @property
    def overview(self) -> str:
        """Return the most important counts of the ledger in one line."""
        parts = []
        for item, noun, text in _SAID:
            if item not in self.ledger["item"]:
                continue
            value = self.count(item)
            if item in _SHARES:
                parts += [text.format(value)] if value is not None else []
            elif value or not parts:
                counted = number_of(value or 0, noun) if noun else f"{value or 0:,.0f}"
                parts.append(text.format(counted))
        return self.vocabulary.render(", ".join(parts))


def is_result(folder: Path | Remote) -> bool:
    """Tell whether a folder holds a stored result: whether it has values per query."""
    return _stored(folder, "per_query").exists()


def _stored(folder: Path | Remote, name: str) -> Path | Remote:
    """Return the file that holds a frame, or the folder that Spark's executors wrote."""
    many = folder / name
    return many if many.is_dir() else folder / f"{name}.parquet"


@contextmanager
def _explained(place: object) -> Iterator[None]:
    """Convert errors raised while a result is read into an error that names the result's place."""
    try:
        yield
    except (pl.exceptions.PolarsError, OSError) as error:
        text = str(error).split("\n")[0]
        problem = explained(str(place), error) if isinstance(place, Remote) else (text,)
        raise UnreadableInputError(str(place), *problem) from error


def _state(path: Path | Remote) -> _State:
    """Return inode, size and time of each file in a folder, to notice a replaced result."""
    try:
        if isinstance(path, Remote):
            return path.state()
        found = [path, *sorted(path.rglob("*"))] if path.is_dir() else [path]
        stats = [file.stat() for file in found]
    except OSError:
        return ()
    return tuple(
        (str(file), stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns)
        for file, stat in zip(found, stats, strict=True)
    )


def _scanned(path: Path | Remote) -> pl.LazyFrame:
    many = path.is_dir()
    if isinstance(path, Remote):
        frame = scan_files(path.glob("*.parquet") if many else [path])
    else:
        frame = pl.scan_parquet(sorted(path.glob("*.parquet")) if many else path, glob=False)
    # The files of a folder are in no order.
    return frame.sort(QUERY) if many and QUERY in frame.collect_schema() else frame


def slices_table(slices: pl.DataFrame, counted: str) -> list[Part]:
    """Return a table of the first slices of queries, and a note with the number of others.

    `counted` is the title of the column that counts queries.
    """
    rows: dict[tuple[str, str], list[str]] = {}
    queries: dict[tuple[str, str], str] = {}
    for row in slices.to_dicts():
        key = row["by"], row["slice"]
        rows.setdefault(key, []).append(number_text(row["value"]))
        queries[key] = f"{row['queries']:,}{' (few)' if row['small'] else ''}"
    if not rows:
        return []
    labels = slices["metric"].unique(maintain_order=True)
    lines = [[f"{by}: {name}", *values, queries[by, name]] for (by, name), values in rows.items()]
    table = Table.from_texts(["slice"], [*labels, counted], lines[:_MOST_SHOWN])
    hidden = len(rows) - _MOST_SHOWN
    return [table, *([Note(f"and {hidden:,} more: .slices")] if hidden > 0 else [])]
