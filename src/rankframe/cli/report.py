"""`rankframe report`: an HTML report."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from rankframe.cli import flags
from rankframe.cli.gate import RULE, RULES, rules_from
from rankframe.cli.inputs import open_inputs
from rankframe.cli.options import STATISTICS, Flag, Given, read_pairs, takes
from rankframe.cli.outputs import Output
from rankframe.core.messages import masked
from rankframe.core.options import Comparing, Intervals, SharedPolicies, Storage
from rankframe.core.wording import plain_text


def _orders(texts: list[str]) -> dict[str, list[str]]:
    """Parse the values of --slice-order, NAME=A,B,C, into a mapping of names to lists.

    >>> _orders(["length=short,long"])
    {'length': ['short', 'long']}
    """
    pairs = read_pairs(texts, "--slice-order reads NAME=A,B,C")
    return {name: slices.split(",") for name, slices in pairs}


@takes(
    flags.QRELS, flags.RUNS,
    Flag("output", Path, "FILE", "--output -o", default=Path("report.html")), flags.METRICS,
    Flag("title", str, default="Ranking report"), RULE, RULES, flags.BASELINE,
    SharedPolicies, Comparing, Intervals, Storage,
    flags.COLUMNS, flags.QUERIES, flags.BY, flags.WEIGHT, flags.QUERY_TEXT, flags.TITLES,
    Flag("slice_order", list[str] | None, "NAME=A,B", panel=STATISTICS, read=_orders),
    output=(flags.QUIET,),
)  # fmt: skip
def report(qrels: str, runs: list[str], *, out: Output, how: Given) -> None:
    """Write an HTML report: summary, significance tests, regressions, charts.

    Flags:
        output: The page, an .html file.
        metrics: A metric (repeatable); sentences and charts are about the first.
        title: Title of the report.
        rule: A rule of a gate; the page begins with its verdict (repeatable).
        baseline: Compare the other runs with this run (default: the first).
        slice_order: Show the slices of an attribute in this order (repeatable).

    Examples:
      rankframe report qrels.parquet bm25.parquet dense.parquet -m ndcg@10 -m map

      rankframe report qrels.parquet old=bm25.parquet new=hybrid.parquet \\
        --queries queries.parquet --by locale -o report.html

      rankframe report qrels.parquet bm25.parquet dense.parquet --rules gate.toml \\
        --queries queries.parquet --weight traffic --titles products.parquet
    """
    import rankframe as rf

    judgments, systems = open_inputs(qrels, runs)
    rules = rules_from(how) if {"rule", "rules"} & how.keys() else None
    command = _command(sys.argv)
    with out.progress("report") as progress:
        target = rf.report(
            judgments, systems, rules=rules, command=command, progress=progress, **how
        )
    print(plain_text(str(target)))


def _command(arguments: Sequence[str]) -> str:
    """Return the command as typed, without secrets.

    >>> _command(["/bin/rankframe", "report", "--storage-option", "key=abc", "a b"])
    "rankframe report --storage-option 'key=***' 'a b'"
    """
    words = ["rankframe"]
    for before, argument in pairwise(arguments):
        flag, equals, pair = argument.partition("=")
        if before == "--storage-option":
            words.append(f"{flag}=***")
        elif flag == "--storage-option" and equals:
            words.append(f"{flag}={pair.partition('=')[0]}=***")
        else:
            words.append(masked(argument))
    return shlex.join(words)
