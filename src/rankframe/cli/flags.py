"""Declare flags and arguments that several commands have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from rankframe.cli.completion import attributes, metrics_of, names_of_runs, own_columns
from rankframe.cli.options import STATISTICS, Flag, read_pairs
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
    "Name of a column in your data, e.g. query_id=user, run.doc_id=_id (repeat).",
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
    "by", list[str] | None, "Slice by an attribute; a,b for combinations (repeat).", "NAME",
    panel=STATISTICS, complete=attributes, read=_ways_to_slice,
)  # fmt: skip
WEIGHT = Flag(
    "weight", str | None,
    "Attribute with the weight of each query, such as traffic (average=weighted).", "NAME",
    panel=STATISTICS, complete=attributes,
)  # fmt: skip
QUERY_TEXT = Flag("query_text", str | None, "A table of query_id and text, to show.", "FILE")
TITLES = Flag("titles", str | None, "A table of doc_id and title, to show.", "FILE")
LOWER_IS_BETTER, HIGHER_IS_BETTER = (
    Flag(
        f"{more}_is_better", list[str] | None, f"A stored column where {less} is better (repeat).",
        "NAME",
    )
    for more, less in (("lower", "less"), ("higher", "more"))
)  # fmt: skip


METRICS = Flag(
    "metrics", list[str] | None, "A metric, e.g. ndcg@1,5,10 (repeat); see `rankframe metrics`.",
    "NAME", "--metric -m", complete=metrics_of("judged"),
)  # fmt: skip
BASELINE = Flag(
    "baseline", str | None, "The run that others are compared with (default: every pair).",
    "NAME", "--baseline -b", complete=names_of_runs,
)  # fmt: skip


def formats(*names: str) -> Flag:
    """Return the flag of these formats, of which the first is the default."""
    return Flag("style", Literal[names], "How to print.", typed="--format", default=names[0])


# Fields of `Output`, in this order.
PER_QUERY = Flag("per_query", Path | None, "Write the values of each query there.")
SUMMARY = Flag("summary", Path | None, "Write the summary there.")
FOLDER = Flag(
    "target", Path | None, "Write the whole result there, as Parquet.", "FOLDER", "--output -o"
)
OVERWRITE = Flag("overwrite", bool, "Replace what is there.")
LEDGER = Flag("ledger", bool, "Show all counts and policies.")
QUIET = Flag("quiet", bool, "Show no progress.", typed="--quiet -q")
RESULT = (FOLDER, OVERWRITE, LEDGER, QUIET)

# Parameters that several commands use themselves.
Qrels = Annotated[
    str,
    typer.Argument(metavar="QRELS", help="Judgments: a file, glob, folder, or - (stdin); or none."),
]
Runs = Annotated[
    list[str], typer.Argument(metavar="RUN", help="One run or several; NAME=RUN names one.")
]
QrelsAndRuns = Annotated[
    list[str],
    typer.Argument(
        metavar="QRELS RUN...",
        help="Judgments (or none), then two runs or more (NAME=RUN names one).",
    ),
]
