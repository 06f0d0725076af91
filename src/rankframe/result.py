"""`Result`: what an evaluation gives: per-query values, their summary, and what was counted."""

from __future__ import annotations

import html
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path

import polars as pl

from rankframe.errors import OutputError, UnreadableInputError, did_you_mean
from rankframe.scratch import beside, remove

# The frames of a result, and the columns that each begins with.
_COLUMNS = {
    "summary": ["metric", "value", "queries"],
    "per_query": ["query_id"],
    "ledger": ["item", "value", "note"],
}
_FRAMES = tuple(_COLUMNS)
# What a reader of the numbers should know, of an evaluation or of a comparison, unless it is 0.
_SAID = (
    ("queries_evaluated", "{:,.0f} queries evaluated"),
    ("queries_missing", "{:,.0f} missing from the run"),
    ("queries_without_relevant", "{:,.0f} without relevant documents"),
    ("queries_unjudged", "{:,.0f} in the run but unjudged"),
    ("rank_score_disagree", "{:,.0f} with ranks that contradict scores"),
    ("judged_share_top_10", "{:.0%} of the top 10 judged"),
    ("queries_compared", "{:,.0f} queries compared"),
    ("queries_only_a", "{:,.0f} only in the first ranking"),
    ("queries_only_b", "{:,.0f} only in the second"),
    ("share_shared", "{:.0%} of documents shared"),
)
_SHARES = ("judged_share_top_10", "share_shared")
PER_QUERY_FILE = "per_query.parquet"


class Result:
    """The outcome of an evaluation.

    summary: metric, value, queries (how many it was averaged over).
    per_query: query_id and one column a metric, in byte order of query_id.
    ledger: item, value, note: what was counted and under which policies.
    """

    def __init__(
        self, summary: pl.DataFrame, per_query: pl.DataFrame | Path, ledger: pl.DataFrame
    ) -> None:
        self.summary = summary
        self.ledger = ledger
        self._values = per_query

    @cached_property
    def per_query(self) -> pl.DataFrame:
        """Each query's values; of a stored result, read when they are first looked at."""
        try:
            values = self.scan_per_query().collect()
        except (pl.exceptions.PolarsError, OSError) as error:
            raise UnreadableInputError(str(self._values), str(error).split("\n")[0]) from error
        if not set(self.summary["metric"]) <= set(values.columns):
            raise UnreadableInputError(
                str(self._values), "it was replaced by another result since this one was read"
            )
        return values

    def scan_per_query(self) -> pl.LazyFrame:
        """The same, lazily: of a stored result, only what your query needs is read."""
        if isinstance(self._values, Path):
            return pl.scan_parquet(self._values, glob=False)
        return self._values.lazy()

    @property
    def means(self) -> dict[str, float | None]:
        """Each metric's value by its label."""
        return dict(zip(self.summary["metric"], self.summary["value"], strict=True))

    def __getitem__(self, label: str) -> float | None:
        """A metric's value; None where no query has one."""
        means = self.means
        if label not in means:
            raise KeyError(f"no metric {label!r} in this result. {did_you_mean(label, means)}")
        return means[label]

    def count(self, item: str) -> float | None:
        """An entry of the ledger.

        >>> rf.evaluate({"q": {"a": 1}}, {"q": {"a": 1.0}}, "map").count("queries_evaluated")
        1.0
        """
        found = self.ledger.filter(pl.col("item") == item)
        if found.is_empty():
            raise KeyError(
                f"no item {item!r} in the ledger. {did_you_mean(item, self.ledger['item'])}"
            )
        return found["value"][0]

    def write(self, folder: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
        """Write the three frames as Parquet into a folder: all of them, or nothing.

        An existing result is replaced only with `overwrite`; anything else is never touched.
        """
        with result_folder(folder, overwrite=overwrite) as fresh:
            self.write_files(fresh)
        return _place(folder)

    def write_files(self, folder: Path, *, values: bool = True) -> None:
        """Write the frames as Parquet files, the per-query values only where they are not there."""
        for name in _FRAMES:
            if values or name != "per_query":
                getattr(self, name).write_parquet(folder / f"{name}.parquet")

    @classmethod
    def read(cls, folder: str | os.PathLike[str]) -> Result:
        """Read back what `write` wrote."""
        paths = {name: _place(folder) / f"{name}.parquet" for name in _FRAMES}
        for path in paths.values():
            if not path.is_file():
                raise UnreadableInputError(
                    str(folder), f"no rankframe result: it lacks {path.name}"
                )
        try:
            scans = {name: pl.scan_parquet(path, glob=False) for name, path in paths.items()}
            schemas = {name: scan.collect_schema() for name, scan in scans.items()}
            summary, ledger = (scans[name].collect() for name in ("summary", "ledger"))
        except (pl.exceptions.PolarsError, OSError) as error:
            raise UnreadableInputError(str(folder), str(error).split("\n")[0]) from error
        for name, columns in _COLUMNS.items():
            if list(schemas[name])[: len(columns)] != columns:
                raise UnreadableInputError(
                    str(folder), f"no rankframe result: {name} lacks {', '.join(columns)}"
                )
        return cls(summary, paths["per_query"], ledger)

    def __repr__(self) -> str:
        width = max(map(len, self.summary["metric"]))
        lines = [
            f"  {label:<{width}}  {_shown(value):>10}  {queries:>9,} queries"
            for label, value, queries in self.summary.iter_rows()  # allowed: one row a metric
        ]
        return "\n".join(["rankframe result", *lines, f"  {self.caveat}"])

    def _repr_html_(self) -> str:
        cells = "".join(
            f"<tr><td style='text-align:left'>{html.escape(label)}</td>"
            f"<td>{_shown(value)}</td><td>{queries:,}</td></tr>"
            for label, value, queries in self.summary.iter_rows()  # allowed: one row a metric
        )
        return (
            "<table><thead><tr><th style='text-align:left'>metric</th><th>value</th>"
            f"<th>queries</th></tr></thead><tbody>{cells}</tbody></table>"
            f"<p><small>{html.escape(self.caveat)}</small></p>"
        )

    @property
    def caveat(self) -> str:
        """The ledger in one line: what a reader of the numbers should know."""
        said = []
        for item, text in _SAID:
            if item not in self.ledger["item"]:
                continue
            value = self.count(item)
            if item in _SHARES:
                said += [text.format(value)] if value is not None else []
            elif value or not said:
                said.append(text.format(value or 0))
        return ", ".join(said)


@contextmanager
def result_folder(folder: str | os.PathLike[str], *, overwrite: bool = False) -> Iterator[Path]:
    """A temporary folder that takes the place of `folder` when it is complete; else nothing does.

    Refuses what it must not replace before any work is done.
    """
    target = _place(folder)
    try:
        present = {p.name for p in target.iterdir()} if target.is_dir() else set()
        strange = target.exists() and not target.is_dir()
    except OSError as error:
        raise OutputError(f"cannot write {target}: {error.strerror or error}.") from error
    if strange or present - _file_names():
        raise OutputError(f"{target} exists and is not a rankframe result. Nothing written.")
    if present and not overwrite:
        raise OutputError(f"{target} holds a result already. Pass overwrite=True to replace it.")
    fresh = beside(target)
    made = [parent for parent in target.parents if not parent.exists()]
    try:
        fresh.mkdir(parents=True)
        yield fresh
        _replace_folder(target, fresh)
    except OSError as error:
        raise OutputError(f"cannot write {target}: {error.strerror or error}.") from error
    finally:
        remove(fresh)
        for parent in made:  # the deepest first; one that holds a result stays
            with suppress(OSError):
                parent.rmdir()


def _place(folder: str | os.PathLike[str]) -> Path:
    """Where a folder is, whatever the working directory will be."""
    try:
        text = os.fsdecode(folder)
        if "://" in text:
            raise OutputError(f"a result is kept in a folder of this machine, not at {text}.")
        path = Path(os.path.expanduser(text)).absolute()  # noqa: PTH111 (as elsewhere)
        if "\0" in text:
            raise ValueError("a name cannot hold a null byte")
        return path.resolve() if path.is_symlink() else path
    except (OSError, RuntimeError, TypeError, ValueError) as error:
        raise OutputError(f"{folder!r} cannot be a folder: {error}.") from error


def write_file(target: Path, write: Callable[[Path], object]) -> None:
    """Write one file under a temporary name beside its place, then put it there."""
    fresh = beside(target)
    try:
        write(fresh)
        fresh.replace(target)
    except OSError as error:
        raise OutputError(f"cannot write {target}: {error.strerror or error}.") from error
    finally:
        remove(fresh)


def _file_names() -> set[str]:
    return {f"{name}.parquet" for name in _FRAMES}


def _replace_folder(target: Path, fresh: Path) -> None:
    if not target.exists():
        fresh.rename(target)
        return
    old = beside(target)
    target.rename(old)
    try:
        fresh.rename(target)
    except OSError:
        old.rename(target)
        raise
    remove(old)


def _shown(value: float | None) -> str:
    return "undefined" if value is None else f"{value:.4f}"
