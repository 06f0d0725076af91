"""Declare flags and arguments that several commands have."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from rankframe.cli.completion import attributes, metrics_of, names_of_runs, own_columns
from rankframe.cli.options import STATISTICS, Argument, Flag, read_pairs
from rankframe.cli.outputs import warn_if_not_held
from rankframe.core.errors import OptionError


def column_names(texts: list[str]) -> dict[str, Any]:
    """Parse NAME=YOURS pairs into a mapping; SIDE.NAME=YOURS is for one input only.

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
    """Parse the values of --by: each is an attribute, or several with commas between them.

    >>> _ways_to_slice(["locale", "locale, device"])
    [('locale',), ('locale', 'device')]
    """
    return [tuple(part.strip() for part in way.split(",")) for way in texts]


COLUMNS = Flag(
    "columns", list[str] | None, "NAME=YOURS", "--column -c",
    complete=own_columns, read=column_names,
    help="Name of a column in your data, e.g. query_id=user, run.doc_id=_id (repeatable).",
)  # fmt: skip
MAX_MEMORY = Flag(
    "max_memory", str | None, "SIZE", read=warn_if_not_held,
    help="Approximate memory limit, e.g. 2GiB.",
)  # fmt: skip
QUERIES = Flag(
    "queries", str | None, "FILE", panel=STATISTICS,
    help="A table of queries: query_id, and attributes for --by and --weight.",
)  # fmt: skip
BY = Flag(
    "by", list[str] | None, "NAME", panel=STATISTICS, complete=attributes, read=_ways_to_slice,
    help="Slice by this attribute, or by several: a,b (repeatable).",
)  # fmt: skip
WEIGHT = Flag(
    "weight", str | None, "NAME", panel=STATISTICS, complete=attributes,
    help="Attribute with the weight of each query, such as traffic, for average=weighted.",
)  # fmt: skip
QUERY_TEXT = Flag(
    "query_text", str | None, "FILE", help="Texts of queries to show: a table of query_id and text."
)
TITLES = Flag(
    "titles", str | None, "FILE", help="Titles of documents to show: a table of doc_id and title."
)
LOWER_IS_BETTER, HIGHER_IS_BETTER = (
    Flag(
        f"{side}_is_better", list[str] | None, "NAME",
        help=f"{side.capitalize()} values are better in this stored column (repeatable).",
    )
    for side in ("lower", "higher")
)  # fmt: skip


METRICS = Flag(
    "metrics", list[str] | None, "NAME", "--metric -m", complete=metrics_of("judged"),
    help="A metric, e.g. ndcg@1,5,10 (repeatable); see `rankframe metrics`.",
)  # fmt: skip
BASELINE = Flag(
    "baseline", str | None, "NAME", "--baseline -b", complete=names_of_runs,
    help="Compare the other runs with this run (default: compare every pair).",
)  # fmt: skip


def formats(*names: str) -> Flag:
    """Return the flag for these output formats; the first format is the default."""
    return Flag("style", Literal[names], typed="--format", default=names[0], help="Output format.")


# Fields of `Output`, in this order.
PER_QUERY = Flag("per_query", Path | None, help="Write the values of each query to this file.")
SUMMARY = Flag("summary", Path | None, help="Write the summary to this file.")
FOLDER = Flag(
    "target", Path | None, "FOLDER", "--output -o", help="Write the whole result to this folder."
)
OVERWRITE = Flag("overwrite", bool, help="Replace an existing output.")
LEDGER = Flag("ledger", bool, help="Show all counts and policies.")
MARGIN = Flag(
    "margin", str | None, "X",
    help="In a history: how much worse than the first result is allowed, e.g. --margin=-1%.",
)  # fmt: skip
QUIET = Flag("quiet", bool, typed="--quiet -q", help="Show no progress.")
RESULT = (FOLDER, OVERWRITE, LEDGER, QUIET)

QRELS = Argument(
    "qrels", str, "QRELS",
    help="Judgments: a file, glob or folder, - for stdin, or the word none.",
)  # fmt: skip
RUNS = Argument("runs", list[str], "RUN", help="One or more runs; NAME=RUN names a run.")
QRELS_AND_RUNS = Argument(
    "sources", list[str], "QRELS RUN...",
    help="Judgments (or the word none), then two or more runs; NAME=RUN names a run.",
)  # fmt: skip
