"""Declare flags and arguments that several commands have."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from rankframe.cli.completion import attributes, metrics_of, names_of_runs, own_columns
from rankframe.cli.options import STATISTICS, Argument, Flag, read_pairs
from rankframe.cli.outputs import warn_if_not_held
from rankframe.core.errors import OptionError


def column_names(texts: list[str]) -> dict[str, Any]:
    """Read NAME=YOURS pairs into a mapping; SIDE.NAME=YOURS into one for that side.

    >>> column_names(["query_id=user", "run.doc_id=_id"])
    {'query_id': 'user', 'run': {'doc_id': '_id'}}
    """
    names: dict[str, Any] = {}
    refusal = "--column reads NAME=YOURS, e.g. query_id=user_id, or for one side run.doc_id=_id"
    for name, yours in read_pairs(texts, refusal):
        side, dot, column = name.partition(".")
        side_names = names.setdefault(side, {}) if dot and column else names
        key = column if dot and column else name
        if not isinstance(side_names, dict) or key in side_names:
            raise OptionError(f"--column names {name!r} twice. Leave one of them out.")
        side_names[key] = yours
    return names


def _ways_to_slice(texts: list[str]) -> list[tuple[str, ...]]:
    """Read attributes; commas join the attributes of a combination.

    >>> _ways_to_slice(["locale", "locale, device"])
    [('locale',), ('locale', 'device')]
    """
    return [tuple(part.strip() for part in way.split(",")) for way in texts]


COLUMNS = Flag(
    "columns", list[str] | None,
    "Name of a column in your data, e.g. query_id=user, run.doc_id=_id (repeatable).",
    "NAME=YOURS", "--column -c", complete=own_columns, read=column_names,
)  # fmt: skip
MAX_MEMORY = Flag(
    "max_memory", str | None, "Approximate memory limit, e.g. 2GiB.", "SIZE", read=warn_if_not_held
)
QUERIES = Flag(
    "queries", str | None,
    "A table of queries: query_id, and attributes for --by and --weight.", "FILE", panel=STATISTICS,
)  # fmt: skip
BY = Flag(
    "by", list[str] | None, "Slice by this attribute, or by several: a,b (repeatable).", "NAME",
    panel=STATISTICS, complete=attributes, read=_ways_to_slice,
)  # fmt: skip
WEIGHT = Flag(
    "weight", str | None,
    "Attribute with the weight of each query, such as traffic, for average=weighted.", "NAME",
    panel=STATISTICS, complete=attributes,
)  # fmt: skip
QUERY_TEXT = Flag(
    "query_text", str | None, "Texts of queries to show: a table of query_id and text.", "FILE"
)
TITLES = Flag(
    "titles", str | None, "Titles of documents to show: a table of doc_id and title.", "FILE"
)
LOWER_IS_BETTER, HIGHER_IS_BETTER = (
    Flag(
        f"{side}_is_better", list[str] | None,
        f"{side.capitalize()} values are better in this stored column (repeatable).", "NAME",
    )
    for side in ("lower", "higher")
)  # fmt: skip


METRICS = Flag(
    "metrics", list[str] | None,
    "A metric, e.g. ndcg@1,5,10 (repeatable); see `rankframe metrics`.",
    "NAME", "--metric -m", complete=metrics_of("judged"),
)  # fmt: skip
BASELINE = Flag(
    "baseline", str | None, "Compare the other runs with this run (default: compare every pair).",
    "NAME", "--baseline -b", complete=names_of_runs,
)  # fmt: skip


def formats(*names: str) -> Flag:
    """Return the flag for these output formats; the first format is the default."""
    return Flag("style", Literal[names], "Output format.", typed="--format", default=names[0])


# Fields of `Output`, in this order.
PER_QUERY = Flag("per_query", Path | None, "Write the values of each query to this file.")
SUMMARY = Flag("summary", Path | None, "Write the summary to this file.")
FOLDER = Flag(
    "target", Path | None, "Write the whole result to this folder.", "FOLDER", "--output -o"
)
OVERWRITE = Flag("overwrite", bool, "Replace an existing output.")
LEDGER = Flag("ledger", bool, "Show all counts and policies.")
MARGIN = Flag(
    "margin", str | None,
    "In a history: how much worse than the first result is allowed, e.g. --margin=-1%.", "X",
)  # fmt: skip
QUIET = Flag("quiet", bool, "Show no progress.", typed="--quiet -q")
RESULT = (FOLDER, OVERWRITE, LEDGER, QUIET)

QRELS = Argument(
    "qrels", str, "Judgments: a file, glob or folder, - for stdin, or the word none.", "QRELS"
)
RUNS = Argument("runs", list[str], "One or more runs; NAME=RUN names a run.", "RUN")
QRELS_AND_RUNS = Argument(
    "sources", list[str],
    "Judgments (or the word none), then two or more runs; NAME=RUN names a run.", "QRELS RUN...",
)  # fmt: skip
